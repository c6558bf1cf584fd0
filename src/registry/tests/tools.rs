//! Definitions: what is checked when they are registered, and how bodies are contained.

use std::{sync::Arc, time::Duration};

use super::{Body, built, definition, members, tool, tool_of};
use crate::{
    domain::{Concurrency, Json},
    registry::{Class, Error, SchemaError, Tool},
};

fn refusal(change: impl FnOnce(&mut crate::domain::ToolDefinition)) -> Error {
    let mut definition = definition("t");
    change(&mut definition);
    Tool::new(definition, Arc::new(Body::Classifies(None))).unwrap_err()
}

#[test]
fn a_definition_that_breaks_a_rule_is_refused_in_words() {
    let reserved = Tool::new(definition("run_code"), Arc::new(Body::Panics)).unwrap_err();
    assert!(matches!(reserved, Error::Reserved { .. }));
    assert!(matches!(
        refusal(|d| d.description = " \n".to_owned()),
        Error::NoDescription { .. }
    ));
    assert!(matches!(
        refusal(|d| d.output_schema = Json::Null),
        Error::NoOutputSchema { .. }
    ));
    for timeout in [Duration::ZERO, Duration::from_hours(25), Duration::MAX] {
        assert!(matches!(
            refusal(|d| d.timeout = Some(timeout)),
            Error::Timeout { .. }
        ));
    }
    let parameters = refusal(|d| d.parameters = members(r#"{"type":"array"}"#));
    assert!(matches!(
        parameters,
        Error::Schema {
            part: "parameters",
            source: SchemaError::RootNotObject,
            ..
        }
    ));
    let output = refusal(|d| d.output_schema = Json::Object(members(r#"{"$ref":"file:///x"}"#)));
    assert_eq!(
        output.to_string(),
        "the output schema of the tool t: /$ref: the reference \"file:///x\" leaves the schema, \
         and nothing is ever fetched; move what it names into $defs"
    );
}

#[test]
fn a_tool_checks_what_goes_in_and_what_comes_out() {
    let mut definition = definition("t");
    definition.parameters = members(r#"{"type":"object","required":["a"]}"#);
    definition.output_schema = Json::Object(members(r#"{"type":"string"}"#));
    definition.timeout = Some(Duration::from_hours(24));
    let hash = definition.hash();
    let tool = built(definition);
    assert_eq!(tool.hash(), hash);
    assert!(tool.check_arguments(&members(r#"{"a":1}"#)).is_ok());
    assert!(tool.check_arguments(&members("{}")).is_err());
    assert!(tool.check_output(&Json::from("x")).is_ok());
    assert!(tool.check_output(&Json::from(1)).is_err());
}

#[test]
fn only_a_classifier_that_says_true_makes_a_call_parallel() {
    let none = members("{}");
    let cases = [
        (
            Concurrency::Exclusive,
            Body::Classifies(Some(true)),
            Class::Exclusive,
        ),
        (Concurrency::Parallel, Body::Panics, Class::Parallel),
        (
            Concurrency::Classified,
            Body::Classifies(Some(true)),
            Class::Parallel,
        ),
        (
            Concurrency::Classified,
            Body::Classifies(Some(false)),
            Class::Exclusive,
        ),
        (
            Concurrency::Classified,
            Body::Classifies(None),
            Class::Exclusive,
        ),
        (Concurrency::Classified, Body::Panics, Class::Exclusive),
    ];
    for (declared, body, class) in cases {
        assert_eq!(
            tool_of(declared, body).class(&none),
            class,
            "{declared:?} {body:?}"
        );
    }
}

#[test]
fn a_view_is_made_of_the_arguments_and_may_fail() {
    let arguments = members(r#"{"a":1}"#);
    assert_eq!(
        tool("t").view(&arguments),
        Some(Json::Object(arguments.clone()))
    );
    assert_eq!(
        tool_of(Concurrency::Exclusive, Body::Panics).view(&arguments),
        None
    );
}
