//! What is refused when a schema is registered, and what is not.

use std::net::TcpListener;

use super::{super::SchemaError, compiled, fits, output, parameters, refusal};

#[test]
fn a_reference_that_leaves_the_schema_is_refused_where_it_stands() {
    let cases = [
        (r#"{"$ref":"http://127.0.0.1:9/leak"}"#, "/$ref"),
        (r#"{"$ref":"file:///etc/passwd"}"#, "/$ref"),
        (
            r#"{"properties":{"a":{"items":{"$ref":"https://h/x#/y"}}}}"#,
            "/properties/a/items/$ref",
        ),
        (
            r#"{"properties":{"a/b~c":{"$ref":"other.json"}}}"#,
            "/properties/a~1b~0c/$ref",
        ),
        (
            r#"{"$id":"https://h/a.json","allOf":[{"$ref":"b.json"}]}"#,
            "/allOf/0/$ref",
        ),
        (
            r#"{"$defs":{"unused":{"$ref":"//h/x"}}}"#,
            "/$defs/unused/$ref",
        ),
        (r#"{"$dynamicRef":"http://h/x#node"}"#, "/$dynamicRef"),
        (
            r#"{"$ref":"https://json-schema.org/draft/2020-12/schema"}"#,
            "/$ref",
        ),
        (r##"{"x":{"y":{"$ref":"http://h/x"}},"$ref":"#/x/y"}"##, ""),
        (
            r#"{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":{"$ref":"u:x"}}}"#,
            "/dependencies/a/$ref",
        ),
    ];
    for (schema, place) in cases {
        let error = refusal(schema);
        let SchemaError::Remote { pointer, .. } = error else {
            panic!("{schema}: {error}")
        };
        assert_eq!(pointer, place, "{schema}");
    }
}

#[test]
fn c18_nothing_is_asked_of_the_network_or_the_file_system() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), r#"{"type":"string"}"#).unwrap();
    let file = file.path().display().to_string();
    let schemas = [
        format!(r#"{{"$ref":"http://{address}/leak"}}"#),
        format!(r#"{{"$id":"http://{address}/a","properties":{{"x":{{"$ref":"b#/c"}}}}}}"#),
        format!(r#"{{"$schema":"http://{address}/dialect","type":"object"}}"#),
        format!(r#"{{"$defs":{{"a":{{"$schema":"http://{address}/dialect"}}}}}}"#),
        format!(r##"{{"x":{{"$ref":"http://{address}/leak"}},"$ref":"#/x"}}"##),
        format!(r#"{{"$ref":"file://{file}"}}"#),
        format!(r#"{{"$id":"file:///","$ref":"{file}"}}"#),
    ];
    for schema in schemas {
        assert!(output(&schema).is_err(), "{schema} was accepted");
    }
    let asked = listener.accept().map(|(_, from)| from);
    assert!(asked.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock));
}

#[test]
fn c18_a_cycle_that_consumes_nothing_is_refused() {
    let cycles = [
        r##"{"$ref":"#"}"##,
        r##"{"$defs":{"x":{"$ref":"#/$defs/x"}}}"##,
        r##"{"$defs":{"x":{"$ref":"#/$defs/x"}},"$ref":"#/$defs/x"}"##,
        r##"{"$defs":{"x":{"$ref":"#/$defs/y"},"y":{"$ref":"#/$defs/z"},"z":{"$ref":"#/$defs/x"}}}"##,
        r##"{"$defs":{"x":{"allOf":[{"type":"object"},{"$ref":"#/$defs/x"}]}}}"##,
        r##"{"$defs":{"x":{"anyOf":[{"$ref":"#/$defs/y"}]},"y":{"oneOf":[{"$ref":"#/$defs/x"}]}}}"##,
        r##"{"$defs":{"x":{"not":{"$ref":"#/$defs/x"}}}}"##,
        r##"{"$defs":{"x":{"if":true,"then":{"$ref":"#/$defs/x"}}}}"##,
        r##"{"$defs":{"x":{"if":{"$ref":"#/$defs/x"}}}}"##,
        r##"{"$defs":{"x":{"if":false,"else":{"$ref":"#/$defs/x"}}}}"##,
        r##"{"$defs":{"x":{"dependentSchemas":{"a":{"$ref":"#/$defs/x"}}}}}"##,
        r##"{"$defs":{"x":{"$anchor":"here","$ref":"#here"}}}"##,
        r##"{"$dynamicAnchor":"n","allOf":[{"$dynamicRef":"#n"}]}"##,
        r#"{"$id":"https://h/a","$defs":{"x":{"$id":"b","$ref":"a#/$defs/x"}}}"#,
        r##"{"properties":{"a":{"allOf":[{"$ref":"#/properties/b"}]},"b":{"$ref":"#/properties/a"}}}"##,
        r##"{"x":{"y":{"$ref":"#/x/y"}},"properties":{"a":{"$ref":"#/x/y"}}}"##,
        r##"{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"x":{"$ref":"#/definitions/x"}}}"##,
    ];
    for schema in cycles {
        let error = refusal(schema);
        assert!(
            matches!(error, SchemaError::Cycle { .. }),
            "{schema}: {error}"
        );
    }
    let SchemaError::Cycle { pointer } = refusal(cycles[3]) else {
        panic!("no cycle")
    };
    assert!(
        pointer.starts_with("/$defs/"),
        "{pointer} is not on the cycle"
    );
}

#[test]
fn c18_references_inside_the_schema_and_recursive_trees_work() {
    let items = r##"{"type":"object","properties":{"a":{"items":{"type":"integer"}},
        "b":{"$ref":"#/properties/a/items"}}}"##;
    fits(
        items,
        &[(r#"{"a":[1],"b":2}"#, true), (r#"{"b":"x"}"#, false)],
    );

    let tree = r##"{"type":"object","required":["name"],"properties":{"name":{"type":"string"},
        "children":{"type":"array","items":{"$ref":"#"}}}}"##;
    let good = r#"{"name":"a","children":[{"name":"b","children":[{"name":"c"}]}]}"#;
    let bad = r#"{"name":"a","children":[{"name":"b","children":[{"nam":"c"}]}]}"#;
    fits(tree, &[(good, true), (bad, false)]);

    let mutual = r##"{"$defs":{"a":{"properties":{"b":{"$ref":"#/$defs/b"}}},
        "b":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}}}},"$ref":"#/$defs/a"}"##;
    fits(
        mutual,
        &[
            (r#"{"b":{"a":{"b":{}}}}"#, true),
            (r#"{"b":{"a":{"b":1}}}"#, false),
        ],
    );

    let dynamic = r##"{"$dynamicAnchor":"node","properties":{"next":{"$dynamicRef":"#node"},
        "n":{"type":"integer"}}}"##;
    fits(
        dynamic,
        &[
            (r#"{"next":{"next":{"n":1}}}"#, true),
            (r#"{"next":{"n":"x"}}"#, false),
        ],
    );

    let embedded = r#"{"$id":"https://h/root","$defs":{"i":{"$id":"item","$anchor":"top",
        "type":"integer"}},"properties":{"a":{"$ref":"item"},"b":{"$ref":"https://h/item#top"}}}"#;
    fits(
        embedded,
        &[(r#"{"a":1,"b":2}"#, true), (r#"{"b":"x"}"#, false)],
    );

    let unusual = r##"{"x":{"y":{"type":"integer"}},"properties":{"a":{"$ref":"#/x/y"}}}"##;
    fits(unusual, &[(r#"{"a":1}"#, true), (r#"{"a":"x"}"#, false)]);
}

#[test]
fn what_only_looks_like_a_reference_is_none() {
    let schema = r#"{"properties":{"$ref":{"type":"integer"}},"const":{"$ref":2},
        "default":{"$ref":"http://h/x"},"examples":[{"$ref":"http://h/x"}]}"#;
    fits(schema, &[(r#"{"$ref":2}"#, true), (r#"{"$ref":3}"#, false)]);
}

#[test]
fn a_reference_to_nothing_is_refused_where_it_stands() {
    let cases = [
        (r##"{"$ref":"#/$defs/nope"}"##, "/$ref"),
        (
            r##"{"properties":{"a":{"$ref":"#nope"}}}"##,
            "/properties/a/$ref",
        ),
        (
            r##"{"items":{"$ref":"#/required"},"required":["a"]}"##,
            "/items/$ref",
        ),
        (r##"{"allOf":[{"$ref":"#/allOf/7"}]}"##, "/allOf/0/$ref"),
        (r#"{"not":{"$ref":":::"}}"#, "/not/$ref"),
    ];
    for (schema, place) in cases {
        let error = refusal(schema);
        let SchemaError::Unresolved { pointer, .. } = error else {
            panic!("{schema}: {error}")
        };
        assert_eq!(pointer, place, "{schema}");
    }
}

#[test]
fn two_dialects_are_spoken_and_others_refused_by_name() {
    fits(
        r#"{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"integer"}]}"#,
        &[("[1]", true), (r#"["x"]"#, false)],
    );
    fits(
        r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","prefixItems":[{"type":"integer"}]}"#,
        &[("[1]", true), (r#"["x"]"#, false)],
    );
    fits(
        r#"{"prefixItems":[{"type":"integer"}]}"#,
        &[(r#"["x"]"#, false)],
    );
    for dialect in [
        "http://json-schema.org/draft-04/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "urn:of-mine",
    ] {
        let error = refusal(&format!(r#"{{"$schema":"{dialect}","type":"object"}}"#));
        assert!(matches!(error, SchemaError::Dialect { .. }), "{error}");
        assert!(error.to_string().contains(dialect), "{error}");
    }
    assert!(matches!(
        refusal(r#"{"$schema":7}"#),
        SchemaError::Dialect { .. }
    ));
    let mixed =
        r#"{"$defs":{"a":{"$id":"a","$schema":"http://json-schema.org/draft-07/schema#"}}}"#;
    assert!(matches!(refusal(mixed), SchemaError::MixedDialects { .. }));
}

#[test]
fn what_is_no_schema_of_its_dialect_is_refused_where_it_is_wrong() {
    for schema in ["null", "1", r#""object""#, "[]"] {
        assert!(
            matches!(refusal(schema), SchemaError::NotASchema { .. }),
            "{schema}"
        );
    }
    let cases = [
        (
            r#"{"properties":{"a":{"type":"strin"}}}"#,
            "/properties/a/type",
        ),
        (r#"{"minLength":-1}"#, "/minLength"),
        (r#"{"required":"a"}"#, "/required"),
        (r#"{"properties":{"a":5}}"#, "/properties/a"),
        (r#"{"$ref":5}"#, "/$ref"),
        (r#"{"allOf":[]}"#, "/allOf"),
    ];
    for (schema, place) in cases {
        let error = refusal(schema);
        let SchemaError::Invalid { pointer, .. } = error else {
            panic!("{schema}: {error}")
        };
        assert_eq!(pointer, place, "{schema}");
    }
}

#[test]
fn parameters_describe_an_object() {
    let good = [
        r#"{"type":"object"}"#,
        r#"{"type":["object","null"]}"#,
        r#"{"properties":{"a":{}}}"#,
        r##"{"$defs":{"a":{"type":"object"}},"$ref":"#/$defs/a"}"##,
        r#"{"allOf":[{"description":"x"},{"type":"object"}]}"#,
    ];
    for schema in good {
        assert!(parameters(schema).is_ok(), "{schema}");
    }
    for schema in [
        "{}",
        "true",
        r#"{"type":"array"}"#,
        r#"{"type":"string","properties":{}}"#,
    ] {
        assert_eq!(
            parameters(schema).unwrap_err(),
            SchemaError::RootNotObject,
            "{schema}"
        );
        assert!(output(schema).is_ok(), "{schema}");
    }
}

#[test]
fn formats_are_annotations() {
    let schema = r#"{"properties":{"a":{"format":"email"},"b":{"format":"workspace-path"},
        "c":{"format":"no-such-format"}}}"#;
    fits(schema, &[(r#"{"a":"not one","b":"/x","c":"y"}"#, true)]);
    let draft7 = r#"{"$schema":"http://json-schema.org/draft-07/schema#","format":"email"}"#;
    fits(draft7, &[(r#""not one""#, true)]);
    assert!(
        compiled("{}")
            .workspace_paths(&super::members("{}"))
            .is_empty()
    );
}
