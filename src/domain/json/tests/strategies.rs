//! Owns the inputs of the properties: values, spellings of values, and texts that are nearly JSON.
//!
//! Imports `json` only. Must not decide what is valid.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::super::{Json, Number};

/// The text of a number, mostly one that can be kept.
pub(super) fn number_text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => any::<i64>().prop_map(|value| value.to_string()),
        4 => "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,30})?([eE][+-]?[0-9]{1,2})?",
        1 => "-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,3})?[eE][+-]?0{0,3}(29|30|31)[0-9]",
        1 => "-?0\\.0{310,330}[0-9]",
        1 => "[1-9][0-9]{990,1010}",
    ]
}

fn number() -> impl Strategy<Value = Json> {
    number_text().prop_filter_map("cannot be kept", |text| {
        Number::parse(&text).ok().map(Json::Number)
    })
}

/// Strings and names with what sorts, escapes and encodes in special ways.
pub(super) fn text() -> impl Strategy<Value = String> {
    let special =
        "\"\\/\u{0}\u{8}\t\n\u{c}\r\u{1f}\u{7f}é\u{2028}\u{d7ff}\u{e000}\u{ffff}😀\u{10ffff}";
    let character = prop_oneof![
        select(special.chars().collect::<Vec<_>>()),
        any::<char>(),
        "[a-c]".prop_map(|text| text.chars().next().unwrap_or('a'))
    ];
    vec(character, 0..12).prop_map(|characters| characters.into_iter().collect())
}

/// A value that can be kept.
pub(super) fn value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        number(),
        text().prop_map(Json::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Json::from),
            vec((text(), inner), 0..6).prop_map(Json::from_iter),
        ]
    })
}

/// A text of a value with needless white space and escapes.
pub(super) fn spelled() -> impl Strategy<Value = (Json, String)> {
    (value(), vec(any::<u8>(), 1..40)).prop_map(|(value, choices)| {
        let mut speller = Speller {
            choices,
            at: 0,
            text: String::new(),
        };
        speller.value(&value);
        (value, speller.text)
    })
}

struct Speller {
    choices: Vec<u8>,
    at: usize,
    text: String,
}

impl Speller {
    fn choice(&mut self) -> u8 {
        self.at += 1;
        self.choices[self.at % self.choices.len()]
    }

    fn token(&mut self, token: &str) {
        let white = ["", "", " ", "\n", "\t\r"][usize::from(self.choice()) % 5];
        self.text += white;
        self.text += token;
        self.text += white;
    }

    fn value(&mut self, value: &Json) {
        match value {
            Json::Null | Json::Bool(_) | Json::Number(_) => self.token(&value.to_text()),
            Json::String(text) => self.string(text),
            Json::Array(elements) => {
                self.token("[");
                for (index, element) in elements.iter().enumerate() {
                    if index > 0 {
                        self.token(",");
                    }
                    self.value(element);
                }
                self.token("]");
            }
            Json::Object(members) => {
                self.token("{");
                for (index, (name, member)) in members.iter().enumerate() {
                    if index > 0 {
                        self.token(",");
                    }
                    self.string(name);
                    self.token(":");
                    self.value(member);
                }
                self.token("}");
            }
        }
    }

    fn string(&mut self, text: &str) {
        let mut token = String::from('"');
        for character in text.chars() {
            let must_escape = character < ' ' || character == '"' || character == '\\';
            if must_escape || self.choice() < 60 {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    let digits = format!("{unit:04x}");
                    token += "\\u";
                    token += &if self.choice() < 128 {
                        digits
                    } else {
                        digits.to_uppercase()
                    };
                }
            } else {
                token.push(character);
            }
        }
        self.token(&(token + "\""));
    }
}

/// A text with the same members in another order at every level.
pub(super) fn shuffled(value: &Json) -> Json {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => value.clone(),
        Json::Array(elements) => elements.iter().map(shuffled).collect(),
        Json::Object(members) => members
            .iter()
            .rev()
            .map(|(name, member)| (name.clone(), shuffled(member)))
            .collect(),
    }
}

/// Pieces of JSON in any order: seldom valid, always near.
pub(super) fn nearly_json() -> impl Strategy<Value = Vec<u8>> {
    let pieces = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"a\"",
        "\"",
        "\\",
        "\\u0061",
        "\"\\ud800\"",
        "\"\\ud83d\\ude00\"",
        "\"\\n\"",
        "0",
        "1",
        "-",
        "+",
        ".",
        "e",
        "E",
        "e9",
        "1e400",
        "1.5",
        "true",
        "false",
        "null",
        "nul",
        " ",
        "\n",
        "\r",
        "\t",
        "\u{a0}",
        "\u{feff}",
        "\0",
        "é",
        "NaN",
        "{\"a\":1}",
        "[1,2]",
        "{\"a\":",
        "\"a\":1,",
    ];
    vec(select(pieces.to_vec()), 0..14).prop_map(|pieces| pieces.concat().into_bytes())
}

/// A valid text with up to three small accidents.
pub(super) fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let accident = (
        0..5_u8,
        any::<Index>(),
        any::<Index>(),
        prop_oneof![any::<u8>(), select(b"\"\\{}[],:0eE-+.u ".to_vec())],
    );
    (spelled(), vec(accident, 0..4)).prop_map(|((_, text), accidents)| {
        let mut bytes = text.into_bytes();
        for (kind, at, other, byte) in accidents {
            if bytes.is_empty() {
                break;
            }
            let (at, other) = (at.index(bytes.len()), other.index(bytes.len()));
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => drop(bytes.remove(at)),
                3 => bytes.truncate(at),
                _ => bytes.swap(at, other),
            }
        }
        bytes
    })
}
