//! What a schema may cost: patterns, sizes, depths, and values that would take for ever.

use std::fmt::Write as _;

use super::{super::SchemaError, super::Unlisted, compiled, fits, json, output, refusal};
use crate::domain::Json;

#[test]
fn c19_a_pattern_is_matched_in_linear_time() {
    let hostile = format!("{:?}", format!("{}!", "a".repeat(40)));
    let long = format!("{:?}", format!("{}!", "a".repeat(100_000)));
    fits(
        r#"{"pattern":"^(a+)+$"}"#,
        &[
            (hostile.as_str(), false),
            (long.as_str(), false),
            (r#""aaa""#, true),
        ],
    );
    fits(
        r#"{"patternProperties":{"^(a+)+$":false}}"#,
        &[(r#"{"aaa":1}"#, false), (r#"{"b":1}"#, true)],
    );
}

#[test]
fn c19_a_pattern_that_cannot_be_bounded_is_refused_with_its_reason() {
    let cases = [
        (
            r#"{"properties":{"a":{"pattern":"(?=a)\\w+"}}}"#,
            "/properties/a/pattern",
            "look-around",
        ),
        (r#"{"pattern":"(?<!a)b"}"#, "/pattern", "look-around"),
        (r#"{"pattern":"(a)\\1"}"#, "/pattern", "backreferences"),
        (r#"{"pattern":"(((a{100}){100}){100})"}"#, "/pattern", "MiB"),
        (
            r#"{"patternProperties":{"(((a{100}){100}){100})":{}}}"#,
            "/patternProperties/",
            "MiB",
        ),
        (r#"{"pattern":"("}"#, "/pattern", "unclosed group"),
        (
            r#"{"$schema":"http://json-schema.org/draft-07/schema#","pattern":"(?=a)"}"#,
            "/pattern",
            "look-around",
        ),
    ];
    for (schema, place, why) in cases {
        let error = refusal(schema);
        let SchemaError::Pattern {
            pointer, reason, ..
        } = error
        else {
            panic!("{schema}: {error}")
        };
        assert!(pointer.starts_with(place), "{schema}: {pointer}");
        assert!(reason.contains(why), "{schema}: {reason}");
    }
}

#[test]
fn patterns_that_people_write_are_taken() {
    for pattern in [
        r"^[^/]{1,255}(/[^/]{1,255}){0,9}$",
        r"^[\\p{L}\\p{N} _-]{1,64}$",
        r"^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}(:\\d{2}(\\.\\d+)?)?(Z|[+-]\\d{2}:\\d{2})$",
        r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
        r"^\\S*$",
    ] {
        assert!(
            output(&format!(r#"{{"pattern":"{pattern}"}}"#)).is_ok(),
            "{pattern}"
        );
    }
}

/// Definitions `a0` to `an`, each referring to the next by `link`.
fn chain(length: usize, link: impl Fn(&str) -> String) -> String {
    let mut schema = r##"{"$ref":"#/$defs/a0","$defs":{"##.to_owned();
    for index in 0..length {
        let next = format!(r##"{{"$ref":"#/$defs/a{}"}}"##, index + 1);
        let _infallible = write!(schema, r#""a{index}":{},"#, link(&next));
    }
    schema + &format!(r#""a{length}":{{"type":"integer"}}}}}}"#)
}

#[test]
fn a_schema_whose_judgement_of_one_value_takes_for_ever_is_refused() {
    let doubling = chain(100, |next| format!(r#"{{"allOf":[{next},{next}]}}"#));
    let wide = chain(8, |next| {
        format!(r#"{{"anyOf":[{next},{next},{next},{next}]}}"#)
    });
    let straight = chain(2_000, str::to_owned);
    let nested = chain(500, |next| {
        format!(r#"{{"unevaluatedProperties":false,"allOf":[{next}]}}"#)
    });
    let many = format!(r#"{{"allOf":[{}true]}}"#, "true,".repeat(10_000));
    for schema in [doubling, wide, straight, nested, many] {
        let error = refusal(&schema);
        assert!(matches!(error, SchemaError::TooLarge { .. }), "{error}");
    }
    let patterns: Vec<_> = (0..300)
        .map(|n| format!(r#""p{n}":{{"pattern":"^{n}$"}}"#))
        .collect();
    let patterns = format!(r#"{{"properties":{{{}}}}}"#, patterns.join(","));
    assert!(matches!(
        refusal(&patterns),
        SchemaError::TooLarge {
            what: "patterns",
            ..
        }
    ));
}

#[test]
fn a_large_honest_schema_is_taken() {
    let types = chain(1_000, |next| {
        format!(r#"{{"type":"object","properties":{{"x":{next}}}}}"#)
    });
    assert!(output(&types).is_ok());
    let lineage = chain(14, |next| {
        format!(r#"{{"allOf":[{next},{{"minimum":0}}]}}"#)
    });
    fits(&lineage, &[("1", true), ("-1", false)]);
    let names: Vec<_> = (0..500).map(|n| format!(r#"{{"const":"n{n}"}}"#)).collect();
    let alternatives = format!(r#"{{"oneOf":[{}]}}"#, names.join(","));
    fits(&alternatives, &[(r#""n499""#, true), (r#""n500""#, false)]);
}

/// A value of `depth` objects inside one another.
fn nested(depth: usize, member: &str, leaf: &str) -> Json {
    let text = format!(r#"{{"op":"b","{member}":"#).repeat(depth) + leaf + &"}".repeat(depth);
    json(&text)
}

const EXPRESSION: &str = r##"{"$defs":{"e":{"oneOf":[
    {"type":"object","required":["op","child"],"properties":{"op":{"const":"a"},"child":{"$ref":"#/$defs/e"}}},
    {"type":"object","required":["op","child"],"properties":{"op":{"const":"b"},"child":{"$ref":"#/$defs/e"}}},
    {"type":"integer"}]}},"$ref":"#/$defs/e"}"##;

#[test]
fn alternatives_that_refer_back_cost_no_exponential_time() {
    let schema = compiled(EXPRESSION);
    assert!(schema.check(&nested(100, "child", "1")).is_ok());
    let shallow = schema.check(&nested(2, "child", r#""x""#)).unwrap_err();
    assert_eq!(shallow.unlisted(), Unlisted::Counted(0));
    // explaining this one takes 2^100 steps
    let deep = schema.check(&nested(100, "child", r#""x""#)).unwrap_err();
    assert!(deep.to_string().contains("does not fit"), "{deep}");
}

/// The longest way that is taken: references and `link` by turns, then on through a member.
fn longest_way(link: impl Fn(&str) -> String) -> String {
    let mut defs = String::new();
    for index in 0..15 {
        let next = link(&format!(r##"{{"$ref":"#/$defs/a{}"}}"##, index + 1));
        let _infallible = write!(defs, r#""a{index}":{next},"#);
    }
    format!(
        r##"{{"$defs":{{{defs}"a15":{{"properties":{{"x":{{"$ref":"#/$defs/a0"}},
        "y":{{"type":"integer"}}}}}}}},"$ref":"#/$defs/a0"}}"##
    )
}

#[test]
fn the_deepest_value_fits_the_stack_under_the_longest_way() {
    let ways = [
        longest_way(|next| format!(r#"{{"allOf":[{next}]}}"#)),
        longest_way(|next| format!(r#"{{"anyOf":[{{"type":"null"}},{next}]}}"#)),
        longest_way(|next| format!(r#"{{"oneOf":[{{"type":"null"}},{next}]}}"#)),
        longest_way(|next| format!(r#"{{"if":{{"type":"null"}},"else":{next}}}"#)),
        longest_way(|next| format!(r#"{{"dependentSchemas":{{"op":{next}}}}}"#)),
        longest_way(|next| format!(r#"{{"unevaluatedProperties":true,"allOf":[{next}]}}"#)),
    ];
    for schema in ways {
        let schema = compiled(&schema);
        assert!(schema.check(&nested(8, "x", r#"{"op":1,"y":1}"#)).is_ok());
        let deep = schema.check(&nested(126, "x", r#"{"op":1,"y":1}"#));
        assert!(deep.is_ok() || deep.unwrap_err().to_string().starts_with("too complex"));
        assert!(
            schema
                .check(&nested(126, "x", r#"{"op":1,"y":"no"}"#))
                .is_err()
        );
    }
    let tree = r##"{"type":"object","properties":{"y":{"type":"integer"},
        "x":{"anyOf":[{"type":"null"},{"$ref":"#"}]}}}"##;
    let tree = compiled(tree);
    assert!(tree.check(&nested(126, "x", r#"{"op":1,"y":1}"#)).is_ok());
    assert!(
        tree.check(&nested(126, "x", r#"{"op":1,"y":"no"}"#))
            .is_err()
    );
}

#[test]
fn many_equal_looking_numbers_are_told_apart_in_time() {
    let close: Vec<_> = (0..20_000)
        .map(|n| format!("1.00000000000000000000000{n:06}1"))
        .collect();
    let mut text = format!("[{}]", close.join(","));
    fits(r#"{"uniqueItems":true}"#, &[(text.as_str(), true)]);
    text.truncate(text.len() - 1);
    text.push_str(",1.000000000000000000000000000001e0]");
    fits(r#"{"uniqueItems":true}"#, &[(text.as_str(), false)]);
}

#[test]
fn a_large_value_is_checked_whole_and_its_first_fault_told() {
    let schema = compiled(r#"{"items":{"type":"integer"}}"#);
    let good = format!("[{}1]", "1,".repeat(200_000));
    assert!(schema.check(&json(&good)).is_ok());
    let one = format!("[{}\"x\"]", "1,".repeat(200_000));
    let told = schema.check(&json(&one)).unwrap_err().to_string();
    assert_eq!(told, "at /200000: expected integer, found string");
    let all = format!("[{}\"x\"]", "\"x\",".repeat(20_000));
    let told = schema.check(&json(&all)).unwrap_err();
    assert_eq!(told.unlisted(), Unlisted::Unknown);
    assert_eq!(
        told.to_string(),
        "at /0: expected integer, found string; there may be more"
    );
}
