//! Arguments as the bodies and their pure methods read them.
//!
//! Imports `domain` and siblings. The schema has spoken before a body runs; the pure methods may be
//! called before it has, so they take nothing for granted.

use serde::de::DeserializeOwned;

use super::error::Error;
use crate::domain::{
    Json, Object,
    json::{decode_object, object},
};

/// Longest path in a card's title, in characters.
const TITLE_CHARS: usize = 80;

/// The arguments as a type.
pub(super) fn decoded<T: DeserializeOwned>(arguments: &Object) -> Result<T, Error> {
    Ok(decode_object(arguments)?)
}

/// A string argument, empty when there is none.
pub(super) fn text<'a>(arguments: &'a Object, name: &str) -> &'a str {
    arguments
        .get(name)
        .and_then(Json::as_str)
        .unwrap_or_default()
}

/// The path argument, `.` when there is none.
pub(super) fn path(arguments: &Object) -> &str {
    match text(arguments, "path") {
        "" => ".",
        path => path,
    }
}

/// The card of a pending call: what will be done, to which path.
pub(super) fn pending(card: &str, verb: &str, arguments: &Object) -> Object {
    let path = path(arguments);
    let start: String = path.chars().take(TITLE_CHARS).collect();
    let more = if start.len() < path.len() { "…" } else { "" };
    let title = format!("{verb} {start}{more}");
    match object([("card", card), ("title", &title), ("path", path)]) {
        Json::Object(members) => members,
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
            Object::new()
        }
    }
}
