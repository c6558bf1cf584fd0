//! Which arguments are declared to be paths.

use super::{members, parameters};

fn paths(schema: &str, arguments: &str) -> Vec<String> {
    let schema = parameters(schema).unwrap_or_else(|error| panic!("{schema}: {error}"));
    let arguments = members(arguments);
    let found = schema.workspace_paths(&arguments);
    found
        .into_iter()
        .map(|path| format!("{}={}", path.pointer, path.text))
        .collect()
}

#[test]
fn declared_paths_are_found_wherever_the_schema_puts_them() {
    let schema = r##"{"type":"object","$defs":{"path":{"type":"string","format":"workspace-path"},
        "tree":{"type":"object","properties":{"at":{"$ref":"#/$defs/path"},
            "below":{"type":"array","items":{"$ref":"#/$defs/tree"}}}}},
        "properties":{"path":{"$ref":"#/$defs/path"},"content":{"type":"string"},
            "many":{"type":"array","items":{"$ref":"#/$defs/path"}},
            "pair":{"prefixItems":[{"type":"string"},{"$ref":"#/$defs/path"}]},
            "maybe":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/path"}]},
            "tree":{"$ref":"#/$defs/tree"}}}"##;
    assert_eq!(paths(schema, r#"{"path":"a","content":"b"}"#), ["/path=a"]);
    assert_eq!(
        paths(schema, r#"{"many":["a","b",3]}"#),
        ["/many/0=a", "/many/1=b"]
    );
    assert_eq!(paths(schema, r#"{"pair":["a","b"]}"#), ["/pair/1=b"]);
    assert_eq!(paths(schema, r#"{"maybe":"a"}"#), ["/maybe=a"]);
    assert_eq!(paths(schema, r#"{"maybe":null}"#), [""; 0]);
    let tree = r#"{"tree":{"at":"a","below":[{"at":"b"},{"below":[{"at":"c"}]}]}}"#;
    assert_eq!(
        paths(schema, tree),
        [
            "/tree/at=a",
            "/tree/below/0/at=b",
            "/tree/below/1/below/0/at=c"
        ]
    );
}

#[test]
fn members_that_are_named_are_not_taken_for_the_others() {
    let schema = r#"{"type":"object","properties":{"content":{"type":"string"}},
        "additionalProperties":{"format":"workspace-path"}}"#;
    assert_eq!(
        paths(schema, r#"{"content":"text","a/b":"p"}"#),
        ["/a~1b=p"]
    );
}

#[test]
fn members_by_pattern_all_count() {
    let schema = r#"{"type":"object","patternProperties":{"^x-":{"format":"workspace-path"}}}"#;
    assert_eq!(paths(schema, r#"{"x-a":"p","y":"q"}"#), ["/x-a=p", "/y=q"]);
}

#[test]
fn a_root_that_is_put_together_is_searched_whole() {
    let schema = r##"{"$defs":{"own":{"type":"object","properties":{"p":{"format":"workspace-path"}}}},
        "allOf":[{"$ref":"#/$defs/own"},{"properties":{"q":{"format":"workspace-path"}}}]}"##;
    assert_eq!(
        paths(schema, r#"{"p":"a","q":"b","r":"c"}"#),
        ["/p=a", "/q=b"]
    );
}

#[test]
fn a_schema_without_paths_finds_none() {
    assert!(paths(r#"{"type":"object"}"#, r#"{"path":"a"}"#).is_empty());
    let elsewhere = r#"{"type":"object","default":{"format":"workspace-path"}}"#;
    assert!(paths(elsewhere, r#"{"default":"a"}"#).is_empty());
}
