//! Owns the tables of builders, encoding, serialising, pointers and the validator's type.
//!
//! Imports `json` only. Must not test decoding (see `decoding`).

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::{Json, Limits, Number, Object, object, object_to_value};
use super::json;

#[derive(Serialize)]
struct Twice {
    a: u8,
    #[serde(flatten)]
    rest: BTreeMap<&'static str, u8>,
}

#[derive(Serialize)]
enum Shape {
    Unit,
    Newtype(u8),
    Tuple(u8, f32),
    Struct { a: Option<char>, b: () },
}

#[test]
fn builders_make_what_their_text_says() {
    let built = object([
        ("none", Json::from(None::<bool>)),
        ("some", Json::from(Some("x"))),
        ("list", Json::from(vec![1_u8, 2])),
        ("array", Json::from([Json::Null, Json::from(true)])),
        ("float", Json::try_from(0.5).unwrap()),
        ("text", Json::from(String::from("t"))),
        ("number", Json::from(Number::parse("1E2").unwrap())),
        ("object", Json::from(Object::new())),
        ("collected", (0..3_i64).collect()),
    ]);
    let expected = concat!(
        r#"{"none":null,"some":"x","list":[1,2],"array":[null,true],"float":0.5,"text":"t","#,
        r#""number":1E2,"object":{},"collected":[0,1,2]}"#
    );
    assert_eq!(built.to_text(), expected);
    assert_eq!(format!("{built}"), format!("{built:?}"));
    assert_eq!(object([("a", 1), ("a", 2)]), object([("a", 2)]));
    assert_eq!(Json::default(), Json::Null);
}

#[test]
fn members_are_compared_in_any_order_and_elements_in_theirs() {
    assert_eq!(json(r#"{"a":1,"b":[1,2]}"#), json(r#"{"b":[1,2],"a":1}"#));
    assert_ne!(json("[1,2]"), json("[2,1]"));
    assert_ne!(json(r#"{"a":1}"#), json(r#"{"a":1,"b":null}"#));
}

#[test]
fn accessors_answer_only_for_their_kind() {
    let value = json(r#"{"n":1.0,"s":"x","b":true,"a":[null],"f":0.5}"#);
    assert_eq!(value.get("n").and_then(Json::as_i64), Some(1));
    assert_eq!(value.get("n").and_then(Json::as_u64), Some(1));
    assert_eq!(value.get("f").and_then(Json::as_f64), Some(0.5));
    assert_eq!(value.get("f").and_then(Json::as_i64), None);
    assert_eq!(value.get("s").and_then(Json::as_str), Some("x"));
    assert_eq!(value.get("b").and_then(Json::as_bool), Some(true));
    assert!(
        value
            .get("a")
            .and_then(Json::as_array)
            .is_some_and(|all| all[0].is_null())
    );
    assert_eq!(value.get("x"), None);
    assert_eq!(json("[]").get("0"), None);
    assert!(value.as_str().is_none() && value.as_array().is_none() && value.as_bool().is_none());
    assert!(!value.is_null());
}

#[test]
fn pointers_follow_rfc_6901() {
    let value = json(r#"{"foo":["bar","baz"],"":0,"a/b":1,"m~n":8,"~1":9,"7":{"7":7},"00":1}"#);
    for (pointer, expected) in [
        ("/foo", r#"["bar","baz"]"#),
        ("/foo/0", r#""bar""#),
        ("/", "0"),
        ("/a~1b", "1"),
        ("/m~0n", "8"),
        ("/~01", "9"),
        ("/7/7", "7"),
        ("/00", "1"),
    ] {
        assert_eq!(value.pointer(pointer), Some(&json(expected)), "{pointer}");
    }
    assert_eq!(value.pointer(""), Some(&value));
    for nowhere in [
        "foo", "/foo/2", "/foo/-", "/foo/00", "/foo/+1", "/foo/", "/x", "/foo/0/0", "//",
    ] {
        assert_eq!(value.pointer(nowhere), None, "{nowhere}");
    }
}

#[test]
fn rust_values_are_encoded_as_serde_json_writes_them() {
    #[derive(Serialize)]
    struct Everything {
        shapes: Vec<Shape>,
        map: BTreeMap<u16, &'static str>,
        tuple: (i8, u64, i128),
        bytes: &'static [u8],
        float: f64,
        #[serde(skip_serializing_if = "Option::is_none")]
        skipped: Option<u8>,
        nothing: Option<u8>,
    }
    let value = Everything {
        shapes: vec![
            Shape::Unit,
            Shape::Newtype(7),
            Shape::Tuple(1, 0.1),
            Shape::Struct {
                a: Some('é'),
                b: (),
            },
        ],
        map: BTreeMap::from([(7, "seven"), (10, "ten")]),
        tuple: (-1, u64::MAX, i128::MIN),
        bytes: b"ab",
        float: 1e-7,
        skipped: None,
        nothing: None,
    };
    assert_eq!(
        Json::from_serialize(&value).unwrap().to_text(),
        serde_json::to_string(&value).unwrap()
    );
}

#[test]
fn what_is_not_json_is_not_encoded_and_the_place_is_told() {
    #[derive(Serialize)]
    struct Row {
        cells: Vec<f64>,
    }
    let refused = |result: Result<Json, _>| {
        let error: super::super::EncodeError = result.unwrap_err();
        error.to_string()
    };
    let row = Row {
        cells: vec![0.0, f64::NAN],
    };
    assert_eq!(
        refused(Json::from_serialize(&row)),
        "/cells/1: NaN is not a JSON number"
    );
    let tagged = BTreeMap::from([("a/b", Shape::Tuple(1, f32::INFINITY))]);
    assert_eq!(
        refused(Json::from_serialize(&tagged)),
        "/a~1b/Tuple/1: an infinity is not a JSON number"
    );
    assert_eq!(
        refused(Json::from_serialize(&HashMap::from([((1, 2), 3)]))),
        "a member name must be a string or an integer"
    );
    let magic = BTreeMap::from([("$serde_json::private::Number", "1")]);
    assert!(refused(Json::from_serialize(&magic)).contains("reserved"));
    let twice = Twice {
        a: 1,
        rest: BTreeMap::from([("a", 2)]),
    };
    assert_eq!(
        refused(Json::from_serialize(&twice)),
        "/a: the member stands twice in one object"
    );
}

#[test]
fn encoding_is_bounded_in_depth_like_reading() {
    #[derive(Serialize)]
    struct Nest(Vec<Nest>);
    let nest = |depth: usize| (1..depth).fold(Nest(Vec::new()), |inner, _| Nest(vec![inner]));
    assert!(Json::from_serialize(&nest(128)).is_ok());
    let error = Json::from_serialize(&nest(129)).unwrap_err();
    assert_eq!(error.message, "the value is nested too deep");
    assert_eq!(error.pointer, "/0".repeat(128));
    // raw text counts from where it stands
    let raw =
        |depth: usize| vec![RawValue::from_string("[".repeat(depth) + &"]".repeat(depth)).unwrap()];
    assert!(Json::from_serialize(&raw(127)).is_ok());
    assert!(Json::from_serialize(&raw(128)).is_err());
}

#[test]
fn values_built_by_hand_are_checked_for_depth_and_reserved_names() {
    let limits = Limits {
        max_depth: 2,
        ..Limits::default()
    };
    assert_eq!(json(r#"{"a":[1]}"#).check(&limits), Ok(()));
    assert_eq!(
        json(r#"{"a":[[]]}"#).check(&limits).unwrap_err().pointer,
        "/a/0"
    );
    let magic = Json::from(vec![object([("$serde_json::private::RawValue", "1")])]);
    let error = magic.check(&limits).unwrap_err();
    assert_eq!(error.pointer, "/0/$serde_json::private::RawValue");
    let deep = (0..200).fold(Json::Null, |inner, _| Json::from(vec![inner]));
    assert!(
        deep.check(&Limits {
            max_depth: usize::MAX,
            ..limits
        })
        .is_err()
    );
}

#[test]
fn serde_json_writes_our_values_with_the_exact_text_of_numbers() {
    let text =
        r#"{"z":[1E2,1.0,-0,-5,18446744073709551615,123456789012345678901234567890],"a":null}"#;
    let value = json(text);
    assert_eq!(serde_json::to_string(&value).unwrap(), text);
    assert_eq!(
        serde_json::to_string(&vec![Some(&value)]).unwrap(),
        format!("[{text}]")
    );
    assert_eq!(Json::from_serialize(&value).unwrap().to_text(), text);
    let foreign: serde_json::Value =
        serde_json::from_str(r#"{"n":[0.10,123456789012345678901234567890]}"#).unwrap();
    assert_eq!(
        Json::from_serialize(&foreign).unwrap().to_text(),
        r#"{"n":[0.10,123456789012345678901234567890]}"#
    );
}

#[test]
fn the_validators_value_keeps_numbers_and_gives_no_name_a_meaning() {
    let value =
        json(r#"{"n":[1E2,1.0,-0,123456789012345678901234567890],"s":"x","b":[true,null]}"#);
    let converted = value.to_value();
    let numbers: Vec<_> = converted["n"]
        .as_array()
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        numbers,
        ["1E2", "1.0", "-0", "123456789012345678901234567890"]
    );
    assert_eq!(converted["s"], "x");
    assert_eq!(converted["b"], serde_json::json!([true, null]));
    assert_eq!(object_to_value(value.as_object().unwrap()), converted);
    let magic = object([("$serde_json::private::Number", "1")]).to_value();
    assert_eq!(magic.as_object().map(serde_json::Map::len), Some(1));
}
