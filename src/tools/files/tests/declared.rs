//! What the definitions declare, and a small check of values against output schemas (the whole
//! check is the registry's).

use super::*;
use crate::domain::Concurrency;

/// Holds a value against the parts of a schema that the definitions use.
pub(super) fn check(schema: &Json, value: &Json) {
    let kinds = schema.get("type").unwrap();
    let kinds: Vec<&str> = match kinds.as_array() {
        Some(kinds) => kinds.iter().map(|kind| kind.as_str().unwrap()).collect(),
        None => vec![kinds.as_str().unwrap()],
    };
    let kind = match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(number) if number.is_integral() => "integer",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    };
    assert!(kinds.contains(&kind), "{value} is not {kinds:?}");
    for element in value.as_array().unwrap_or_default() {
        check(schema.get("items").unwrap(), element);
    }
    let Some(members) = value.as_object() else {
        return;
    };
    let properties = schema.get("properties").unwrap();
    for (name, member) in members {
        check(
            properties
                .get(name)
                .unwrap_or_else(|| panic!("{name} is not declared")),
            member,
        );
    }
    for name in schema.get("required").unwrap().as_array().unwrap() {
        assert!(
            members.contains_key(name.as_str().unwrap()),
            "{name} is missing in {value}"
        );
    }
}

#[test]
fn definitions_declare_class_flags_and_closed_schemas() {
    let world = World::new();
    let declared = world.tools.iter().map(|(definition, _)| {
        assert_eq!(definition.source.as_str(), "builtin");
        assert_eq!(definition.timeout, None, "file tools declare no timeout");
        assert!(definition.description.len() > 60);
        for schema in [
            &Json::Object(definition.parameters.clone()),
            &definition.output_schema,
        ] {
            assert_eq!(schema.get("additionalProperties"), Some(&Json::Bool(false)));
        }
        let parallel = definition.concurrency == Concurrency::Parallel;
        (
            definition.name.as_str(),
            parallel,
            definition.read_only,
            definition.idempotent,
        )
    });
    assert_eq!(
        declared.collect::<Vec<_>>(),
        [
            ("read_file", true, true, true),
            ("write_file", false, false, true),
            ("edit_file", false, false, false),
            ("list_dir", true, true, true),
        ]
    );
}

#[test]
fn c55_every_path_parameter_is_marked_and_refuses_nul_by_its_pattern() {
    for (definition, _) in World::new().tools {
        let path = definition.parameters["properties"].get("path").unwrap();
        assert_eq!(path.get("format").unwrap().as_str(), Some("workspace-path"));
        let pattern = path.get("pattern").unwrap().as_str().unwrap();
        let pattern = regex::Regex::new(pattern).unwrap();
        for refused in ["a\0.txt", "a\0", "\0"] {
            assert!(!pattern.is_match(refused), "{refused:?}");
        }
        for taken in ["a", "a b", "a\nb", "ä/😀", ".."] {
            assert!(pattern.is_match(taken), "{taken:?}");
        }
    }
}

#[test]
fn pending_calls_show_a_card_made_of_the_arguments_alone() {
    let world = World::new();
    let view = |tool: &str, arguments: &str| {
        world
            .tool(tool)
            .1
            .view(&object(arguments))
            .unwrap()
            .to_text()
    };
    assert_eq!(
        view("read_file", r#"{"path":"a.txt"}"#),
        r#"{"card":"read","title":"Read a.txt","path":"a.txt"}"#
    );
    assert_eq!(
        view("list_dir", "{}"),
        r#"{"card":"list","title":"List .","path":"."}"#
    );
    assert_eq!(
        view(
            "edit_file",
            r#"{"path":"a","old_text":"x","new_text":"y\n"}"#
        ),
        r#"{"card":"diff","title":"Edit a","path":"a","diff":"@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\n"}"#
    );
    assert!(view("write_file", r#"{"path":"a","content":"x\n"}"#).contains(r"+x\n"));
    assert!(
        view("write_file", "{}").contains("Write ."),
        "no arguments, no panic"
    );
}
