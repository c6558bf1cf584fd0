//! Owns the tables of numbers: what is kept, what is refused, what can be asked.
//!
//! Imports `json` only. Must not test how values around numbers are read.

use super::super::{Json, Limits, Number};
use super::{json, kept, refused, told};

fn number(text: &str) -> Number {
    Number::parse(text).unwrap()
}

#[test]
fn c03_numbers_keep_their_text() {
    kept(concat!(
        r#"{"id":9007199254740993,"neg":-9223372036854775808,"u64":18446744073709551615,"#,
        r#""big":123456789012345678901234567890,"dec":0.1000000000000000055511151231257827}"#
    ));
    for text in [
        "0", "-0", "1.0", "1E2", "1e+2", "1e-02", "0.0", "-0.0e-0", "10.50", "0e308",
    ] {
        kept(text);
        assert_eq!(number(text).as_str(), text);
    }
}

#[test]
fn c04_what_is_no_number_is_not_json() {
    for (text, expected) in [
        ("+1", "syntax(a value) 0 1:1"),
        (".5", "syntax(a value) 0 1:1"),
        ("01", "syntax(nothing after the value) 1 1:2"),
        ("-01", "syntax(nothing after the value) 2 1:3"),
        ("00", "syntax(nothing after the value) 1 1:2"),
        ("1.", "end(a digit) 2 1:3"),
        ("[1.]", "syntax(a digit) 3 1:4 /0"),
        ("1.e3", "syntax(a digit) 2 1:3"),
        ("-", "end(a digit) 1 1:2"),
        ("--1", "syntax(a digit) 1 1:2"),
        ("1e", "end(a digit) 2 1:3"),
        ("1e+", "end(a digit) 3 1:4"),
        ("1e+-1", "syntax(a digit) 3 1:4"),
        ("1e1.5", "syntax(nothing after the value) 3 1:4"),
        ("0x10", "syntax(nothing after the value) 1 1:2"),
        ("1_000", "syntax(nothing after the value) 1 1:2"),
        ("1٠", "syntax(nothing after the value) 1 1:2"),
        ("-NaN", "syntax(a digit) 1 1:2"),
    ] {
        refused(text, expected);
        assert!(Number::parse(text).is_err(), "{text}");
    }
}

#[test]
fn c04_numbers_out_of_range_are_refused_never_rounded() {
    for text in [
        "1e400",
        "-1e400",
        "1E+309",
        "1e309",
        "0e309",
        "1e-309",
        "0e-309",
        "1e-400",
        "1e99999999999",
        "10e308",
        "1.8e308",
        "-18e307",
        "0.001e-307000",
    ] {
        refused(text, "out-of-range 0 1:1");
        let one_element = format!("{{\"n\":[0,{text}]}}");
        refused(one_element, "out-of-range 8 1:9 /n/1");
    }
    for text in [
        "1e308",
        "1.7e308",
        "-1e308",
        "1e-308",
        "0.1e-308",
        "1e0000308",
        "100e-308",
    ] {
        kept(text);
    }
}

#[test]
fn c04_a_value_that_would_underflow_to_zero_is_refused_however_it_is_written() {
    let tiny = |zeros: usize| format!("0.{}1", "0".repeat(zeros));
    kept(&tiny(300));
    kept(&tiny(322)); // 1e-323: still a float
    refused(tiny(330), "out-of-range 0 1:1");
    refused("0.00000000000000001e-308", "out-of-range 0 1:1");
    kept(&format!("0.{}", "0".repeat(900)));
    kept(&format!("-0.{}e-308", "0".repeat(900)));
}

#[test]
fn digits_are_bounded_at_a_thousand_and_integers_by_nothing_else() {
    let digits = |count: usize| "7".repeat(count);
    kept(&digits(1_000));
    kept(&format!("-{}", digits(1_000)));
    kept(&format!("0.{}", digits(999)));
    refused(digits(1_001), "too-long 0 1:1");
    refused(format!("[-{}]", digits(1_001)), "too-long 1 1:2 /0");
    refused(format!("0.{}", digits(1_000)), "too-long 0 1:1");
    refused(format!("0.{}e1", digits(999)), "too-long 0 1:1");
    // a fraction makes it a decimal, and that must be a float
    refused(format!("{}.5", digits(400)), "out-of-range 0 1:1");
    let million = digits(1_000_000);
    refused(million, "too-long 0 1:1");
}

#[test]
fn the_limits_of_numbers_can_be_narrowed() {
    let limits = Limits {
        max_digits: 3,
        max_exponent: 2,
        ..Limits::default()
    };
    let read = |text: &str| Json::read(text.as_bytes(), &limits).map(|value| value.to_text());
    assert_eq!(read("-123").unwrap(), "-123");
    assert_eq!(read("1.2e2").unwrap(), "1.2e2");
    assert_eq!(told(&read("1234").unwrap_err()), "too-long 0 1:1");
    assert_eq!(told(&read("1e3").unwrap_err()), "out-of-range 0 1:1");
    assert_eq!(told(&read("1e-3").unwrap_err()), "out-of-range 0 1:1");
}

#[test]
fn a_number_alone_is_parsed_without_white_space() {
    assert_eq!(
        told(&Number::parse(" 1").unwrap_err()),
        "syntax(a digit) 0 1:1"
    );
    assert_eq!(
        told(&Number::parse("1 ").unwrap_err()),
        "syntax(nothing after the number) 1 1:2"
    );
    assert_eq!(told(&Number::parse("").unwrap_err()), "end(a digit) 0 1:1");
    assert_eq!(
        told(&Number::parse("1e400").unwrap_err()),
        "out-of-range 0 1:1"
    );
}

#[test]
fn integral_is_a_matter_of_value_not_of_spelling() {
    for text in [
        "0",
        "-0",
        "1.0",
        "1E2",
        "1.5e1",
        "100e-2",
        "0.0e-7",
        "-12.340e2",
        "1e308",
    ] {
        assert!(number(text).is_integral(), "{text}");
    }
    for text in ["0.5", "1.50", "1e-1", "12.34e1", "-100e-3", "1e-308"] {
        assert!(!number(text).is_integral(), "{text}");
    }
}

#[test]
fn integers_are_exact_or_absent() {
    for (text, signed, unsigned) in [
        ("0", Some(0), Some(0)),
        ("-0", Some(0), Some(0)),
        ("1.0", Some(1), Some(1)),
        ("1E2", Some(100), Some(100)),
        ("-1.50e1", Some(-15), None),
        (
            "9007199254740993",
            Some(9_007_199_254_740_993),
            Some(9_007_199_254_740_993),
        ),
        (
            "9223372036854775807",
            Some(i64::MAX),
            Some(i64::MAX.unsigned_abs()),
        ),
        ("9223372036854775808", None, Some(1 << 63)),
        ("-9223372036854775808", Some(i64::MIN), None),
        ("-9223372036854775809", None, None),
        ("18446744073709551615", None, Some(u64::MAX)),
        ("18446744073709551615.0", None, Some(u64::MAX)),
        ("18446744073709551616", None, None),
        ("1.5", None, None),
        ("1e300", None, None),
        ("0e300", Some(0), Some(0)),
    ] {
        assert_eq!(number(text).as_i64(), signed, "{text}");
        assert_eq!(number(text).as_u64(), unsigned, "{text}");
    }
}

#[test]
fn floats_are_the_nearest_or_absent() {
    assert_eq!(number("0.1").as_f64(), Some(0.1));
    assert_eq!(number("1E2").as_f64(), Some(100.0));
    assert!(number("-0").as_f64().is_some_and(f64::is_sign_negative));
    assert_eq!(number(&"9".repeat(400)).as_f64(), None);
}

#[test]
fn numbers_are_equal_when_their_texts_are() {
    assert_eq!(json("[1,2.50]"), json(" [ 1, 2.50 ] "));
    assert_ne!(json("1"), json("1.0"));
    assert_ne!(json("0"), json("-0"));
    let long = "1".repeat(23);
    assert_eq!(number(&long), number(&long));
    assert_ne!(number(&long), number(&long[1..]));
}

#[test]
fn numbers_of_rust_have_their_shortest_text() {
    assert_eq!(Number::from(u64::MAX).as_str(), "18446744073709551615");
    assert_eq!(Number::from(i64::MIN).as_str(), "-9223372036854775808");
    assert_eq!(
        Number::from(i128::MIN).as_str(),
        "-170141183460469231731687303715884105728"
    );
    for (value, text) in [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.5, "1.5"),
        (1e21, "1e21"),
        (1e-7, "1e-7"),
        (f64::MAX, "1.7976931348623157e308"),
        (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
    ] {
        assert_eq!(Number::try_from(value).unwrap().as_str(), text);
    }
    assert_eq!(Number::try_from(0.1_f32).unwrap().as_str(), "0.1");
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(Number::try_from(value).is_err());
    }
}
