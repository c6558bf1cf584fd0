//! Identifiers, made only by parsing or by the daemon itself.
//!
//! Imports nothing. An id here is never an authority: what may be done with it is decided where a
//! principal is known.

use std::{fmt, sync::Arc};

use uuid::Uuid;

/// Longest session or call id, in bytes (proto-docs/lifecycle.md).
const MAX_ID_BYTES: usize = 256;
/// Longest agent or tool name, in characters.
const MAX_NAME_CHARS: usize = 64;

/// Why a text is not an id; the display says what is expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Empty, or over its length.
    #[error("{what} must be 1 to {max} bytes long, this one has {found}")]
    Length {
        /// What was parsed.
        what: &'static str,
        /// Bound in bytes.
        max: usize,
        /// Length found.
        found: usize,
    },
    /// Holds a control character.
    #[error("{what} must not hold control characters (found one at byte {at})")]
    Control {
        /// What was parsed.
        what: &'static str,
        /// Byte offset.
        at: usize,
    },
    /// `.` or `..`, which URL handling would drop.
    #[error("{what} must not be \".\" or \"..\"")]
    Dots {
        /// What was parsed.
        what: &'static str,
    },
    /// The infix of nested call ids, which only the daemon makes.
    #[error("a call id must not hold \"{infix}\": such ids are made for nested calls")]
    Nested {
        /// The reserved infix.
        infix: &'static str,
    },
    /// Not of the form of a name.
    #[error("{what} must match {pattern}, this is {found:?}")]
    Pattern {
        /// What was parsed.
        what: &'static str,
        /// The expected form.
        pattern: &'static str,
        /// What was found.
        found: String,
    },
    /// Not a UUID.
    #[error("{what} must be a UUID, this is {found:?}")]
    Uuid {
        /// What was parsed.
        what: &'static str,
        /// What was found.
        found: String,
    },
}

fn check_free_id(what: &'static str, text: &str) -> Result<(), IdError> {
    let found = text.len();
    if found == 0 || found > MAX_ID_BYTES {
        return Err(IdError::Length {
            what,
            max: MAX_ID_BYTES,
            found,
        });
    }
    if let Some((at, _)) = text.char_indices().find(|(_, c)| c.is_control()) {
        return Err(IdError::Control { what, at });
    }
    if text == "." || text == ".." {
        return Err(IdError::Dots { what });
    }
    Ok(())
}

fn is_name(text: &str, also: &[char]) -> bool {
    !text.is_empty()
        && text.len() <= MAX_NAME_CHARS
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-' || also.contains(&c))
}

macro_rules! text_id {
    ($name:ident) => {
        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }
        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.serialize_str(&self.0)
            }
        }
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(d)?;
                Self::parse(&text).map_err(serde::de::Error::custom)
            }
        }
    };
}

/// One conversation of one agent: 1 to 256 bytes, no control characters (proto-docs/lifecycle.md).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(Arc<str>);
text_id!(SessionId);

impl SessionId {
    /// Checks a client's or stored id.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        check_free_id("a session id", text)?;
        Ok(Self(text.into()))
    }

    /// An id that the daemon makes.
    pub fn from_uuid(id: Uuid) -> Self {
        Self(id.as_hyphenated().to_string().into())
    }
}

/// The model's own id of a call, unique in its session and never an authority.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(Arc<str>);
text_id!(CallId);

impl CallId {
    /// Checks a client's id: 1 to 256 bytes, no control characters, without the infixes of nested
    /// ids.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        check_free_id("a call id", text)?;
        for infix in [":code:", ":call:"] {
            if text.contains(infix) {
                return Err(IdError::Nested { infix });
            }
        }
        Ok(Self(text.into()))
    }

    /// Checks an id that names an existing call, nested ones included.
    pub fn parse_existing(text: &str) -> Result<Self, IdError> {
        // Nested ids grow with their depth, so only their form is checked.
        if text.is_empty() || text.chars().any(char::is_control) {
            check_free_id("a call id", text)?;
        }
        Ok(Self(text.into()))
    }

    /// An id that the daemon makes for a call posted without one.
    pub fn from_uuid(id: Uuid) -> Self {
        Self(id.as_hyphenated().to_string().into())
    }

    /// The id of the `n`-th nested call of `parent`, counted from 1.
    pub fn nested(parent: &Self, n: u64) -> Self {
        Self(format!("{parent}:call:{n}").into())
    }
}

/// A scope that owns calls: `^[A-Za-z0-9_.-]{1,64}$`. `global` is the root of every
/// chain and owns no calls.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentName(Arc<str>);
text_id!(AgentName);

impl AgentName {
    /// Checks a name.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        if is_name(text, &['.']) && text != "." && text != ".." {
            return Ok(Self(text.into()));
        }
        Err(IdError::Pattern {
            what: "an agent name",
            pattern: "^[A-Za-z0-9_.-]{1,64}$",
            found: text.chars().take(80).collect(),
        })
    }

    /// The agent that is meant when none is named.
    pub fn default_agent() -> Self {
        Self("default".into())
    }

    /// The root of every chain.
    pub fn global() -> Self {
        Self("global".into())
    }

    /// Whether this is the root scope.
    pub fn is_global(&self) -> bool {
        &*self.0 == "global"
    }
}

/// A tool's name on the wire: `^[A-Za-z0-9_-]{1,64}$`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolName(Arc<str>);
text_id!(ToolName);

impl ToolName {
    /// Checks a name.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        if is_name(text, &[]) {
            return Ok(Self(text.into()));
        }
        Err(IdError::Pattern {
            what: "a tool name",
            pattern: "^[A-Za-z0-9_-]{1,64}$",
            found: text.chars().take(80).collect(),
        })
    }
}

/// One pass of a call through the pipeline, `UUIDv7`, public.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExecutionId(Uuid);

impl ExecutionId {
    /// Wraps a UUID that the daemon's id source made or the store kept.
    pub fn from_uuid(id: Uuid) -> Self {
        Self(id)
    }

    /// Checks a text.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        Uuid::parse_str(text).map(Self).map_err(|_| IdError::Uuid {
            what: "an execution id",
            found: text.chars().take(80).collect(),
        })
    }

    /// The UUID.
    pub fn as_uuid(&self) -> Uuid {
        self.0
    }

    /// Calls `f` with the hyphenated text, without allocating.
    pub fn with_text<R>(&self, f: impl FnOnce(&str) -> R) -> R {
        let mut buffer = Uuid::encode_buffer();
        f(self.0.as_hyphenated().encode_lower(&mut buffer))
    }
}

impl fmt::Display for ExecutionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0.as_hyphenated(), f)
    }
}

impl fmt::Debug for ExecutionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl serde::Serialize for ExecutionId {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.with_text(|text| s.serialize_str(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_ids_keep_the_infixes_of_nested_ids_to_the_daemon() {
        assert!(CallId::parse("call_7").is_ok());
        for bad in [
            "",
            ".",
            "..",
            "a:call:1",
            "a:code:1",
            "a\u{0}b",
            "a\nb",
            &"x".repeat(257),
        ] {
            assert!(CallId::parse(bad).is_err(), "{bad:?} was accepted");
        }
        assert!(CallId::parse(&"x".repeat(256)).is_ok());
        let nested = CallId::nested(&CallId::parse("c").unwrap(), 1);
        assert_eq!(CallId::parse_existing(nested.as_str()), Ok(nested));
    }

    #[test]
    fn names_have_their_alphabet_and_length() {
        assert!(ToolName::parse("read_file").is_ok());
        for bad in ["", "a.b", "a b", "é", &"x".repeat(65)] {
            assert!(ToolName::parse(bad).is_err(), "{bad:?} was accepted");
        }
        assert!(AgentName::parse("team.coder-1").is_ok());
        assert!(AgentName::parse("..").is_err());
    }
}
