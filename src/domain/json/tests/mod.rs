//! Owns the tests of `json`: tables of what is accepted and refused with exact places, and
//! properties against a second, naive implementation and against `serde_json`.
//!
//! Imports `json` only. Must not reach anything outside the process.

mod arguments;
mod converting;
mod decoding;
mod naive;
mod numbers;
mod properties;
mod reading;
mod strategies;
mod writing;

use super::{Json, Limits, ReadError, ReadErrorKind};

fn read(text: impl AsRef<[u8]>) -> Result<Json, ReadError> {
    Json::read(text.as_ref(), &Limits::default())
}

fn json(text: &str) -> Json {
    text.parse().unwrap()
}

/// An error in one line: `kind offset line:column pointer`.
fn told(error: &ReadError) -> String {
    let kind = match &error.kind {
        ReadErrorKind::Syntax { expected } => format!("syntax({expected})"),
        ReadErrorKind::UnexpectedEnd { expected } => format!("end({expected})"),
        ReadErrorKind::InvalidUtf8 => "utf8".to_owned(),
        ReadErrorKind::DuplicateMember { name } => format!("duplicate({name})"),
        ReadErrorKind::NumberTooLong => "too-long".to_owned(),
        ReadErrorKind::NumberOutOfRange => "out-of-range".to_owned(),
        ReadErrorKind::LoneSurrogate => "lone-surrogate".to_owned(),
        ReadErrorKind::TooDeep => "too-deep".to_owned(),
        ReadErrorKind::TooLarge => "too-large".to_owned(),
        ReadErrorKind::ReservedMember => "reserved".to_owned(),
        ReadErrorKind::RootNotObject => "not-object".to_owned(),
    };
    let place = error.position;
    let told = format!(
        "{kind} {} {}:{} {}",
        place.offset, place.line, place.column, error.pointer
    );
    told.trim_end().to_owned()
}

#[track_caller]
fn refused(text: impl AsRef<[u8]>, expected: &str) {
    let text = text.as_ref();
    let shown = String::from_utf8_lossy(text);
    match read(text) {
        Ok(value) => panic!("{shown} was read as {value}"),
        Err(error) => assert_eq!(told(&error), expected, "{shown}"),
    }
}

#[track_caller]
fn kept(text: &str) {
    assert_eq!(json(text).to_text(), text);
}
