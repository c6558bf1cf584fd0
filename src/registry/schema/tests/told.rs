//! What a violation says: where, what was expected, and never the value.

use super::{super::Unlisted, compiled, json, members, violation};

#[test]
fn a_violation_says_where_and_what_was_expected() {
    let object = r#"{"type":"object","required":["path"],"additionalProperties":false,
        "properties":{"path":{"type":"string","minLength":1},"limit":{"type":"integer","minimum":1},
        "mode":{"enum":["a","b"]},"to":{"type":["string","null"]},
        "list":{"type":"array","items":{"type":"object","required":["x"]}}}}"#;
    let cases = [
        ("{}", "the required member \"path\" is missing"),
        (r#"{"path":1}"#, "at /path: expected string, found number"),
        (
            r#"{"path":""}"#,
            "at /path: the value is shorter than 1 character",
        ),
        (
            r#"{"path":"p","limit":1.5}"#,
            "at /limit: expected integer, found number",
        ),
        (
            r#"{"path":"p","limit":0}"#,
            "at /limit: the value is less than the minimum of 1",
        ),
        (
            r#"{"path":"p","mode":"c"}"#,
            "at /mode: the value is not one of \"a\" or \"b\"",
        ),
        (
            r#"{"path":"p","pth":1,"q":2}"#,
            "no member is named \"pth\" or \"q\"",
        ),
        (
            r#"{"path":"p","list":[{"x":1},{}]}"#,
            "at /list/1: the required member \"x\" is missing",
        ),
        ("[]", "expected object, found array"),
    ];
    for (value, told) in cases {
        assert_eq!(violation(object, value).to_string(), told, "{value}");
    }
    let to = violation(object, r#"{"path":"p","to":7}"#).to_string();
    assert!(
        to == "at /to: expected null or string, found number",
        "{to}"
    );
}

#[test]
fn arguments_are_told_like_values() {
    let schema = compiled(r#"{"type":"object","properties":{"a":{"type":"integer"}}}"#);
    assert!(schema.check_object(&members(r#"{"a":1}"#)).is_ok());
    let told = schema
        .check_object(&members(r#"{"a":"1"}"#))
        .unwrap_err()
        .to_string();
    assert_eq!(told, "at /a: expected integer, found string");
}

#[test]
fn pointers_are_escaped() {
    let told = violation(
        r#"{"additionalProperties":{"type":"integer"}}"#,
        r#"{"a/b~c":"x"}"#,
    );
    assert_eq!(told.problems()[0].pointer, "/a~1b~0c");
}

#[test]
fn alternatives_are_told_by_kind_or_by_the_closest() {
    let kinds = r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#;
    assert_eq!(
        violation(kinds, "1").to_string(),
        "expected string or null, found number"
    );
    let shapes = r#"{"properties":{"a":{"oneOf":[{"type":"string"},
        {"type":"object","required":["x","y"]},{"type":"object","required":["z"]}]}}}"#;
    assert_eq!(
        violation(shapes, r#"{"a":{}}"#).to_string(),
        "at /a: fits none of 3 alternatives; the closest: the required member \"z\" is missing"
    );
    let inner = r#"{"anyOf":[{"type":"integer"},{"properties":{"a":{"properties":{"b":{"type":"integer"}}}}}]}"#;
    assert_eq!(
        violation(inner, r#"{"a":{"b":"x"}}"#).to_string(),
        "fits none of 2 alternatives; the closest: at /a/b: expected integer, found string"
    );
}

#[test]
fn problems_are_bounded_and_counted() {
    let schema = r#"{"items":{"type":"integer"}}"#;
    let told = violation(schema, r#"["a","b","c","d","e","f","g",1]"#);
    assert_eq!(told.problems().len(), 5);
    assert_eq!(told.unlisted(), Unlisted::Counted(2));
    assert!(told.to_string().ends_with("; and 2 more"), "{told}");
    let names: Vec<_> = (0..1_000).map(|n| format!("\"n{n}\":1")).collect();
    let names = format!("{{{}}}", names.join(","));
    let closed = r#"{"properties":{"a":true},"additionalProperties":false}"#;
    let told = violation(closed, &names).to_string();
    assert!(told.ends_with("or \"n4\", nor as 995 others are"), "{told}");
    let long = format!(r#"{{"{}":1,"{}":2}}"#, "n".repeat(9_000), "m".repeat(9_000));
    let told = violation(closed, &long).to_string();
    assert!(told.chars().count() < 300, "{told}");
    let pattern = format!(r#"{{"pattern":"^{}$"}}"#, "x".repeat(9_000));
    let told = violation(&pattern, r#""y""#).to_string();
    assert_eq!(told.chars().count(), 301, "{told}");
    assert!(told.ends_with('…'), "{told}");
}

#[test]
fn what_allows_nothing_says_so() {
    let none = r#"{"type":"object","additionalProperties":false}"#;
    assert_eq!(
        violation(none, r#"{"a":1}"#).to_string(),
        "no members are allowed here"
    );
    assert_eq!(
        violation(r#"{"properties":{"a":false}}"#, r#"{"a":{}}"#).to_string(),
        "at /a: nothing is allowed here"
    );
}

#[test]
fn a_value_is_never_repeated() {
    let secret = "hunter2-hunter2";
    let schemas = [
        r#"{"type":"integer"}"#,
        r#"{"maxLength":3}"#,
        r#"{"minLength":99}"#,
        r#"{"pattern":"^x$"}"#,
        r#"{"const":"x"}"#,
        r#"{"enum":["x","y"]}"#,
        r#"{"not":{"type":"string"}}"#,
        r#"{"anyOf":[{"const":"x"},{"pattern":"^y"}]}"#,
        r#"{"oneOf":[{"type":"string"},{"minLength":1}]}"#,
        r#"{"if":{"type":"string"},"then":{"maxLength":1}}"#,
        "false",
    ];
    let holders = [("", ""), ("[", "]"), (r#"{"k":"#, "}")];
    for schema in schemas {
        for (before, after) in holders {
            let schema = match before {
                "" => schema.to_owned(),
                "[" => format!(r#"{{"unevaluatedItems":{schema}}}"#),
                _ => format!(r#"{{"unevaluatedProperties":{schema}}}"#),
            };
            let told = violation(&schema, &format!("{before}\"{secret}\"{after}")).to_string();
            assert!(!told.contains(secret), "{schema}: {told}");
            assert!(!told.is_empty());
        }
    }
    for whole in [
        r#"{"uniqueItems":true}"#,
        r#"{"contains":{"type":"null"}}"#,
        r#"{"maxItems":1}"#,
    ] {
        let told = violation(whole, &format!("[\"{secret}\",\"{secret}\"]")).to_string();
        assert!(!told.contains(secret), "{whole}: {told}");
    }
    let named = violation(r#"{"propertyNames":{"maxLength":2}}"#, r#"{"abc":1}"#).to_string();
    assert!(
        named.contains("the member name \"abc\" is longer than 2"),
        "{named}"
    );
}

#[test]
fn draft_7_keywords_are_told_too() {
    let draft = r#""$schema":"http://json-schema.org/draft-07/schema#""#;
    let tuple = format!(r#"{{{draft},"items":[true],"additionalItems":false}}"#);
    assert_eq!(
        violation(&tuple, "[1,2,3]").to_string(),
        "expected at most 1 elements"
    );
    let needs = format!(r#"{{{draft},"dependencies":{{"a":["b"]}}}}"#);
    assert_eq!(
        violation(&needs, r#"{"a":1}"#).to_string(),
        "the required member \"b\" is missing"
    );
    assert!(compiled(&needs).check(&json(r#"{"a":1,"b":2}"#)).is_ok());
}
