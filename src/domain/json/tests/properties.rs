//! Owns the properties: the reader and the writers against a naive second implementation and
//! against `serde_json`, over many texts.
//!
//! Imports `json` only. Must stay quick: a few hundred cases each.

use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::{Digest, Json, Limits, Number, Object, ReadErrorKind, members};
use super::naive::{self, Naive};
use super::strategies::{damaged, nearly_json, number_text, shuffled, spelled, text, value};
use super::{json, read};

fn canonical(value: &Json) -> String {
    let mut out = Vec::new();
    value.write_canonical(&mut out);
    String::from_utf8(out).unwrap()
}

/// Whether `serde_json` finds it valid; it knows no limits when it keeps the text raw.
fn serde_accepts(bytes: &[u8]) -> bool {
    serde_json::from_slice::<&RawValue>(bytes).is_ok()
}

/// One text, three opinions.
fn agree(bytes: &[u8]) -> Result<(), TestCaseError> {
    let parsed = naive::parse(bytes);
    prop_assert_eq!(
        parsed.is_some(),
        serde_accepts(bytes),
        "the two judges of syntax"
    );
    let is_lossless = parsed.as_ref().is_some_and(|value| value.is_lossless(128));
    match read(bytes) {
        Ok(value) => {
            prop_assert!(is_lossless);
            let parsed = parsed.as_ref().map(Naive::canonical);
            prop_assert_eq!(Some(canonical(&value)), parsed);
        }
        Err(error) => {
            prop_assert!(!is_lossless, "{}", error);
            prop_assert!(!error.is_syntax() || parsed.is_none(), "{}", error);
            prop_assert!(error.position.offset <= bytes.len());
        }
    }
    agree_on_members(bytes, parsed)
}

/// The split into members judges syntax alone, but for its own level.
fn agree_on_members(bytes: &[u8], parsed: Option<Naive>) -> Result<(), TestCaseError> {
    match (members(bytes), parsed) {
        (Ok(found), Some(Naive::Object(expected))) => {
            prop_assert_eq!(found.len(), expected.len());
            for ((name, raw), (units, _)) in found.into_iter().zip(expected) {
                prop_assert_eq!(name.encode_utf16().collect::<Vec<_>>(), units);
                prop_assert!(serde_accepts(raw));
                prop_assert!(!raw.is_empty() && raw.trim_ascii().len() == raw.len());
            }
        }
        (Ok(_), other) => prop_assert!(false, "members of {:?}", other),
        (Err(error), None) => {
            // half a character in a name may be refused before the place of the syntax error
            let is_own = error.kind == ReadErrorKind::LoneSurrogate;
            prop_assert!(error.is_syntax() || is_own, "{}", error);
        }
        (Err(error), Some(Naive::Object(expected))) => {
            let mut names: Vec<_> = expected.iter().map(|(name, _)| name).collect();
            names.sort();
            names.dedup();
            let is_clean = names.len() == expected.len()
                && names.iter().all(|name| String::from_utf16(name).is_ok());
            prop_assert!(!error.is_syntax() && !is_clean, "{}", error);
        }
        (Err(error), Some(_)) => prop_assert_eq!(error.kind, ReadErrorKind::RootNotObject),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_judged_as_the_naive_parser_and_serde_json_judge_them(
        bytes in proptest::collection::vec(any::<u8>(), 0..24),
    ) {
        agree(&bytes)?;
    }

    #[test]
    fn pieces_of_json_are_judged_as_the_naive_parser_and_serde_json_judge_them(
        bytes in nearly_json(),
    ) {
        agree(&bytes)?;
        agree(&[b"{\"a\":", bytes.as_slice(), b"}"].concat())?;
        agree(&[b"[", bytes.as_slice(), b"]"].concat())?;
    }

    #[test]
    fn damaged_texts_are_judged_as_the_naive_parser_and_serde_json_judge_them(bytes in damaged()) {
        agree(&bytes)?;
    }

    #[test]
    fn numbers_are_judged_as_the_naive_parser_judges_them(text in number_text()) {
        agree(text.as_bytes())?;
        prop_assert_eq!(Number::parse(&text).is_ok(), read(&text).is_ok());
    }

    #[test]
    fn what_is_written_reads_back_as_the_same_value(value in value()) {
        let compact = value.to_text();
        prop_assert_eq!(&json(&compact), &value);
        prop_assert_eq!(json(&compact).to_text(), compact.as_str());
        prop_assert_eq!(read(value.to_pretty()).unwrap().to_text(), compact.as_str());
        prop_assert!(serde_accepts(compact.as_bytes()));
        prop_assert!(!compact.contains(['\n', '\r']));
        let mut out = Vec::new();
        value.write(&mut out);
        prop_assert_eq!(out, compact.as_bytes());
        prop_assert_eq!(value.check(&Limits::default()), Ok(()));
    }

    #[test]
    fn every_spelling_of_a_value_is_that_value((value, text) in spelled()) {
        let read = read(&text).unwrap();
        prop_assert_eq!(read.to_text(), value.to_text());
    }

    #[test]
    fn the_canonical_form_is_one_for_all_spellings_and_orders((value, text) in spelled()) {
        let form = canonical(&value);
        prop_assert_eq!(&form, &naive::parse(text.as_bytes()).unwrap().canonical());
        prop_assert_eq!(&form, &canonical(&json(&form)));
        prop_assert_eq!(&form, &canonical(&shuffled(&value)));
        prop_assert_eq!(&shuffled(&value), &value);
    }

    #[test]
    fn a_digest_depends_on_the_canonical_form_alone(value in value(), name in text()) {
        let arguments = Object::from_iter([("b".to_owned(), value.clone()), ("a".to_owned(), Json::Null)]);
        let turned = Object::from_iter([("a".to_owned(), Json::Null), ("b".to_owned(), shuffled(&value))]);
        let digest = Digest::of_call(&name, &arguments);
        prop_assert_eq!(digest, Digest::of_call(&name, &turned));
        let whole = super::super::object([("name", Json::from(name)), ("arguments", arguments.into())]);
        prop_assert_eq!(digest, Digest::of_bytes(canonical(&whole).as_bytes()));
        prop_assert_eq!(digest.to_string().parse(), Ok(digest));
    }

    #[test]
    fn arguments_are_the_same_as_object_as_string_and_encoded_twice(value in value()) {
        let arguments = Object::from_iter([("a".to_owned(), value)]);
        let mut raw = Json::Object(arguments.clone()).to_text();
        for _ in 0..3 {
            let read = Json::read_arguments(Some(raw.as_bytes()), &Limits::default());
            prop_assert_eq!(read.as_ref(), Ok(&arguments));
            raw = Json::from(raw).to_text();
        }
        prop_assert!(Json::read_arguments(Some(raw.as_bytes()), &Limits::default()).is_err());
    }

    #[test]
    fn serde_json_and_the_encoder_keep_our_values(value in value()) {
        prop_assert_eq!(serde_json::to_string(&value).unwrap(), value.to_text());
        prop_assert_eq!(Json::from_serialize(&value).unwrap().to_text(), value.to_text());
    }

    #[test]
    fn the_validators_value_is_the_same_value(value in value()) {
        let converted = value.to_value();
        prop_assert_eq!(&json(&converted.to_string()), &value);
        prop_assert_eq!(Json::from_serialize(&converted), Ok(value));
    }

    #[test]
    fn decoding_agrees_with_serde_json(sample in sample()) {
        let text = serde_json::to_string(&sample).unwrap();
        let value = json(&text);
        prop_assert_eq!(&value.decode::<Sample>().unwrap(), &sample);
        prop_assert_eq!(&serde_json::from_str::<Sample>(&text).unwrap(), &sample);
        prop_assert_eq!(Json::from_serialize(&sample), Ok(value));
    }

    #[test]
    fn decoding_refuses_what_serde_json_refuses(value in whole_numbers_and_others()) {
        let text = value.to_text();
        let theirs = serde_json::from_str::<Vec<Option<i64>>>(&text).ok();
        prop_assert_eq!(value.decode::<Vec<Option<i64>>>().ok(), theirs);
        prop_assert_eq!(value.decode::<String>().ok(), serde_json::from_str::<String>(&text).ok());
        prop_assert_eq!(value.decode::<u8>().ok(), serde_json::from_str::<u8>(&text).ok());
        prop_assert_eq!(value.decode::<u64>().ok(), serde_json::from_str::<u64>(&text).ok());
        prop_assert_eq!(value.decode::<bool>().ok(), serde_json::from_str::<bool>(&text).ok());
    }

    #[test]
    fn every_finite_float_reads_back_as_itself(bits in any::<u64>()) {
        let float = f64::from_bits(bits);
        match Number::try_from(float) {
            Ok(number) => {
                prop_assert_eq!(read(number.as_str()), Ok(Json::Number(number.clone())));
                prop_assert_eq!(number.as_f64().map(f64::to_bits), Some(bits));
            }
            Err(_) => prop_assert!(!float.is_finite()),
        }
    }

    #[test]
    fn integers_are_found_in_every_spelling(value in any::<i32>(), shift in 0..8_u32, exponent in -8..8_i32) {
        // value × 10^(exponent - shift), written with a point before the last `shift` digits
        let magnitude = value.unsigned_abs().to_string();
        let padded = format!("{magnitude:0>width$}", width = shift as usize + 1);
        let (integer, fraction) = padded.split_at(padded.len() - shift as usize);
        let point = if shift > 0 { "." } else { "" };
        let sign = if value < 0 { "-" } else { "" };
        let number = Number::parse(&format!("{sign}{integer}{point}{fraction}e{exponent}")).unwrap();
        let scale = exponent - shift.cast_signed();
        let power = 10_i128.pow(scale.unsigned_abs());
        let exact = match scale {
            0.. => Some(i128::from(value) * power),
            _ => (i128::from(value) % power == 0).then(|| i128::from(value) / power),
        };
        prop_assert_eq!(number.is_integral(), exact.is_some());
        prop_assert_eq!(number.as_i64(), exact.and_then(|exact| i64::try_from(exact).ok()));
        prop_assert_eq!(number.as_u64(), exact.and_then(|exact| u64::try_from(exact).ok()));
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Sample {
    id: i32,
    name: String,
    flags: Vec<bool>,
    inner: Option<Box<Sample>>,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Kind {
    Plain,
    Sized(u64),
    Named { name: String, size: (i8, f64) },
}

/// Numbers in their plainest spelling only: `1.0` is an integer here and none there.
fn whole_numbers_and_others() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<u8>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        any::<i128>().prop_map(Json::from),
        text().prop_map(Json::from),
    ];
    let integers = proptest::option::of(any::<i64>()).prop_map(Json::from);
    prop_oneof![
        leaf.clone(),
        proptest::collection::vec(leaf, 0..3).prop_map(Json::from),
        proptest::collection::vec(integers, 0..6).prop_map(Json::from),
    ]
}

fn sample() -> impl Strategy<Value = Sample> {
    let kind = prop_oneof![
        Just(Kind::Plain),
        any::<u64>().prop_map(Kind::Sized),
        (text(), any::<i8>(), -1e9..1e9_f64).prop_map(|(name, small, float)| Kind::Named {
            name,
            size: (small, float)
        }),
    ];
    let flat = (
        any::<i32>(),
        text(),
        proptest::collection::vec(any::<bool>(), 0..4),
        kind,
    )
        .prop_map(|(id, name, flags, kind)| Sample {
            id,
            name,
            flags,
            inner: None,
            kind,
        });
    flat.prop_recursive(3, 3, 1, |inner| {
        (inner.clone(), inner).prop_map(|(outer, inner)| Sample {
            inner: Some(Box::new(inner)),
            ..outer
        })
    })
}
