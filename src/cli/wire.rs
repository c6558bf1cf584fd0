//! What the daemon sends, looked at as far as the command line needs it.
//!
//! Imports `domain::json`, `error`. Takes texts apart and never rewrites them: what is printed as
//! JSON is what was sent.

use super::error::Error;
use crate::domain::json::{Json, Limits, ObjectWriter, members};

/// The longest text of an error that is shown.
const SHOWN: usize = 200;

/// The members of one object, each as its raw text.
#[derive(Debug)]
pub(super) struct Fields<'t>(Vec<(String, &'t [u8])>);

impl<'t> Fields<'t> {
    /// Takes an object apart.
    ///
    /// # Errors
    /// When the text is no JSON object.
    pub(super) fn of(text: &'t [u8]) -> Result<Self, Error> {
        members(text).map(Self).map_err(|error| {
            let start: String = String::from_utf8_lossy(text).chars().take(SHOWN).collect();
            Error::Answer(format!(
                "the daemon sent what is no JSON object ({error}): {start}"
            ))
        })
    }

    /// A member's raw text; `null` counts as absent.
    pub(super) fn raw(&self, name: &str) -> Option<&'t [u8]> {
        let (_, raw) = self.0.iter().find(|(member, _)| member == name)?;
        (*raw != b"null").then_some(raw)
    }

    /// A member that is an object.
    pub(super) fn object(&self, name: &str) -> Option<Self> {
        self.raw(name).and_then(|raw| members(raw).ok()).map(Self)
    }

    /// A member that is a string.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        match self.json(name)? {
            Json::String(text) => Some(text),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => None,
        }
    }

    /// A member of any kind; none also when it is nested too deep to be taken apart.
    pub(super) fn json(&self, name: &str) -> Option<Json> {
        self.raw(name).and_then(read)
    }

    /// A member as a person reads it: a string's own text, anything else as JSON.
    pub(super) fn shown(&self, name: &str) -> Option<String> {
        let raw = self.raw(name)?;
        Some(match read(raw) {
            Some(Json::String(text)) => text,
            Some(_) | None => String::from_utf8_lossy(raw).into_owned(),
        })
    }

    /// All members as one compact object.
    pub(super) fn all(&self) -> String {
        let mut text = Vec::new();
        let mut object = ObjectWriter::new(&mut text);
        for (name, raw) in &self.0 {
            object.raw(name, raw);
        }
        object.end();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Whether a member is `true`.
    pub(super) fn is_true(&self, name: &str) -> bool {
        self.raw(name) == Some(b"true")
    }
}

/// A whole value; none when it is nested too deep to be taken apart.
pub(super) fn read(text: &[u8]) -> Option<Json> {
    Json::read(
        text,
        &Limits {
            max_bytes: usize::MAX,
            ..Limits::default()
        },
    )
    .ok()
}
