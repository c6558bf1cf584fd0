//! Property: what is judged on our values is what the validator judges on its own.

use proptest::prelude::*;

use super::{super::pattern, json};
use crate::{
    domain::Json,
    registry::{Schema, SchemaRole},
};

/// Schemas that reach every way in which a value is looked at.
const SCHEMAS: [&str; 12] = [
    r#"{"type":["object","integer"]}"#,
    r#"{"type":"object","required":["a"],"properties":{"a":{"type":"integer"},"b":{"type":"string"}}}"#,
    r#"{"properties":{"a":{"minimum":2}},"additionalProperties":{"type":["number","null"]}}"#,
    r#"{"patternProperties":{"^a":{"maxLength":1}},"propertyNames":{"maxLength":2},"maxProperties":2}"#,
    r#"{"items":{"multipleOf":0.5},"minItems":1,"uniqueItems":true}"#,
    r#"{"prefixItems":[{"const":1},{"enum":["a",null,{"a":1}]}],"contains":{"type":"string"}}"#,
    r#"{"anyOf":[{"pattern":"^a+$"},{"exclusiveMaximum":3},{"items":false}]}"#,
    r#"{"oneOf":[{"type":"number"},{"minimum":1},{"type":"object"}]}"#,
    r#"{"not":{"required":["a"]},"if":{"type":"array"},"then":{"maxItems":2},"else":{"minLength":1}}"#,
    r#"{"dependentRequired":{"a":["b"]},"dependentSchemas":{"b":{"minProperties":2}}}"#,
    r#"{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false,"unevaluatedItems":{"type":"null"}}"#,
    r##"{"type":["object","array","null","integer"],"items":{"$ref":"#"},"additionalProperties":{"$ref":"#"}}"##,
];

const NUMBERS: [&str; 11] = [
    "0",
    "-0",
    "1",
    "1.0",
    "1e0",
    "2",
    "2.5",
    "3",
    "1E2",
    "9007199254740993",
    "-1.5",
];

fn value() -> impl Strategy<Value = Json> {
    let name = || prop::sample::select(vec!["a", "b", "ab", "abc"]);
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        prop::sample::select(NUMBERS.to_vec()).prop_map(json),
        prop::sample::select(vec!["", "a", "aa", "ab"]).prop_map(Json::from),
    ];
    leaf.prop_recursive(3, 16, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::Array),
            prop::collection::vec((name(), inner), 0..4)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

fn own(schema: &Json) -> jsonschema::Validator {
    let options = jsonschema::options().with_pattern_options(pattern::options());
    options
        .should_validate_formats(false)
        .build(&schema.to_value())
        .unwrap()
}

#[test]
fn both_representations_are_judged_alike() {
    let schemas: Vec<_> = SCHEMAS
        .iter()
        .map(|text| {
            (
                Schema::compile(&json(text), SchemaRole::Output).unwrap(),
                own(&json(text)),
            )
        })
        .collect();
    proptest!(ProptestConfig::with_cases(500), |(value in value())| {
        for ((ours, theirs), text) in schemas.iter().zip(SCHEMAS) {
            let fits = theirs.is_valid(&value.to_value());
            prop_assert_eq!(ours.check(&value).is_ok(), fits, "{} under {}", value, text);
            if let Json::Object(members) = &value {
                prop_assert_eq!(ours.check_object(members).is_ok(), fits, "{} under {}", value, text);
            }
            if let Err(violation) = ours.check(&value) {
                let places = violation.problems().iter().map(|problem| &problem.pointer);
                for pointer in places {
                    prop_assert!(value.pointer(pointer).is_some(), "{} in {}", pointer, value);
                }
            }
        }
    });
}
