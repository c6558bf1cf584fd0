//! Owns when two values are the same to JSON Schema: numbers by value, members in any order.
//!
//! Imports `domain`. Must not round: `9007199254740993` and `9007199254740992` differ. Recursion
//! is bounded by the depth of values.

use serde_json::Value;

use crate::domain::{
    Json, Object,
    json::{Number, escape_into},
};

/// Whether a value is the one that `const` or `enum` names.
pub(super) fn same(value: &Json, expected: &Value) -> bool {
    match (value, expected) {
        (Json::Null, Value::Null) => true,
        (Json::Bool(ours), Value::Bool(theirs)) => ours == theirs,
        (Json::Number(ours), Value::Number(theirs)) => same_number(ours, theirs),
        (Json::String(ours), Value::String(theirs)) => ours == theirs,
        (Json::Array(ours), Value::Array(theirs)) => {
            ours.len() == theirs.len()
                && ours
                    .iter()
                    .zip(theirs)
                    .all(|(ours, theirs)| same(ours, theirs))
        }
        (Json::Object(ours), theirs) => same_members(ours, theirs),
        (Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_), _) => {
            false
        }
    }
}

/// [`same`] for an object that is not wrapped in a [`Json`].
pub(super) fn same_members(ours: &Object, expected: &Value) -> bool {
    let Value::Object(theirs) = expected else {
        return false;
    };
    ours.len() == theirs.len()
        && ours.iter().all(|(name, value)| {
            theirs
                .get(name)
                .is_some_and(|expected| same(value, expected))
        })
}

fn same_number(ours: &Number, theirs: &serde_json::Number) -> bool {
    let (ours, theirs) = (ours.as_str(), theirs.as_str());
    ours == theirs || number_key(ours) == number_key(theirs)
}

/// A text that two values share exactly when they are the same. Built in one pass, so that the
/// uniqueness of an array costs no comparison of pairs, however its elements were chosen.
pub(super) fn key(value: &Json) -> Vec<u8> {
    let mut key = Vec::new();
    write_key(value, &mut key);
    key
}

fn write_key(value: &Json, key: &mut Vec<u8>) {
    match value {
        Json::Null => key.push(b'n'),
        Json::Bool(true) => key.push(b't'),
        Json::Bool(false) => key.push(b'f'),
        Json::Number(number) => key.extend_from_slice(number_key(number.as_str()).as_bytes()),
        Json::String(text) => escape_into(key, text),
        Json::Array(elements) => {
            key.push(b'[');
            for element in elements {
                write_key(element, key);
                key.push(b',');
            }
            key.push(b']');
        }
        Json::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_unstable_by_key(|(name, _)| *name);
            key.push(b'{');
            for (name, member) in sorted {
                escape_into(key, name);
                write_key(member, key);
                key.push(b',');
            }
            key.push(b'}');
        }
    }
}

/// Sign, significant digits, and the power of ten of the last one: `-120.0` is `-12e1`.
fn number_key(text: &str) -> String {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (sign, mantissa) = mantissa
        .strip_prefix('-')
        .map_or(("", mantissa), |rest| ("-", rest));
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{integer}{fraction}");
    let significant = digits.trim_end_matches('0');
    let zeros = digits.len() - significant.len();
    let significant = significant.trim_start_matches('0');
    if significant.is_empty() {
        return "0".to_owned();
    }
    // exponents and lengths are bounded by the reader, far inside these
    let length = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let exponent: i64 = exponent.parse().unwrap_or_default();
    let power = exponent - length(fraction.len()) + length(zeros);
    format!("{sign}{significant}e{power}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_equal_by_value_and_never_by_rounding() {
        let equal = [
            ["1", "1.0"],
            ["100", "1E2"],
            ["0.1", "1e-1"],
            ["-0", "0.000"],
            ["-120.0", "-1.2e+2"],
            ["9007199254740993", "9007199254740993.0"],
            ["10e299", "1e300"],
        ];
        for [one, other] in equal {
            assert_eq!(number_key(one), number_key(other), "{one} and {other}");
        }
        let different = [
            ["9007199254740993", "9007199254740992"],
            ["0.1", "0.1000000000000000055511151231257827"],
            ["1", "-1"],
            ["1", "10"],
            ["1e300", "1.0000000000000000000000001e300"],
        ];
        for [one, other] in different {
            assert_ne!(number_key(one), number_key(other), "{one} and {other}");
        }
    }
}
