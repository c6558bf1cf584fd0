//! Owns what is said of a schema that is refused, and of a value that does not fit one.
//!
//! Imports `domain`. Values never appear in a message: only their kind and what was expected.

use std::fmt;

use crate::domain::json::EncodeError;

/// Why a schema is refused at registration. Pointers lead into the schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// Neither an object nor a boolean.
    #[error("a JSON Schema is an object or a boolean, this is {found}")]
    NotASchema {
        /// The kind of value found.
        found: &'static str,
    },
    /// Not a value that the daemon carries: nested too deep, or with a reserved member name.
    #[error("the schema cannot be kept exactly: {0}")]
    Unfit(#[from] EncodeError),
    /// A draft other than the two that are known.
    #[error(
        "{}: the dialect {found:?} is not supported; use JSON Schema 2020-12 \
         (https://json-schema.org/draft/2020-12/schema) or draft-07 \
         (http://json-schema.org/draft-07/schema#)", at(.pointer)
    )]
    Dialect {
        /// Where `$schema` stands.
        pointer: String,
        /// What it says.
        found: String,
    },
    /// A part of the schema claims another draft than the whole.
    #[error("{}: one schema cannot mix dialects; {found:?} is not that of the whole", at(.pointer))]
    MixedDialects {
        /// Where the inner `$schema` stands.
        pointer: String,
        /// What it says.
        found: String,
    },
    /// Parameters that describe something else than an object.
    #[error("the parameters must describe an object; write \"type\": \"object\" at the root")]
    RootNotObject,
    /// Against the rules of its own draft.
    #[error("{}: not valid JSON Schema: {reason}", at(.pointer))]
    Invalid {
        /// Where.
        pointer: String,
        /// What is wrong.
        reason: String,
    },
    /// A reference that leaves the schema. Nothing is ever fetched.
    #[error(
        "{}: the reference {reference:?} leaves the schema, and nothing is ever fetched; move \
         what it names into $defs", at(.pointer)
    )]
    Remote {
        /// Where the reference stands.
        pointer: String,
        /// What it names.
        reference: String,
    },
    /// A reference that leads nowhere.
    #[error("{}: the reference {reference:?} leads to no schema", at(.pointer))]
    Unresolved {
        /// Where the reference stands.
        pointer: String,
        /// What it names.
        reference: String,
    },
    /// References that come back to themselves without consuming anything of the value.
    #[error(
        "{}: the schema refers back to itself without going deeper into the value; only a cycle \
         through properties or items ends", at(.pointer)
    )]
    Cycle {
        /// A schema on the cycle.
        pointer: String,
    },
    /// A regular expression that cannot be matched in linear time and bounded memory.
    #[error("{}: the pattern {pattern:?} is refused: {reason}", at(.pointer))]
    Pattern {
        /// Where it stands.
        pointer: String,
        /// The pattern, shortened.
        pattern: String,
        /// Why.
        reason: String,
    },
    /// More of something than one schema may have.
    #[error("{}: the schema is too large: more than {max} {what}", at(.pointer))]
    TooLarge {
        /// Where the bound was passed.
        pointer: String,
        /// The bound.
        max: usize,
        /// Of what.
        what: &'static str,
    },
}

/// How a place in a schema is named.
fn at(pointer: &str) -> &str {
    if pointer.is_empty() {
        "at the root"
    } else {
        pointer
    }
}

/// Why a value does not fit its schema, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    problems: Vec<Problem>,
    unlisted: Unlisted,
}

/// One thing that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where in the value, RFC 6901; empty for the root.
    pub pointer: String,
    /// What was expected, and the kind of what was found; never the value itself. At most about
    /// 300 characters.
    pub message: String,
}

/// What a [`Violation`] does not list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unlisted {
    /// This many further problems.
    Counted(usize),
    /// Whether there are more was too costly to find out.
    Unknown,
}

impl Violation {
    pub(super) fn new(problems: Vec<Problem>, unlisted: Unlisted) -> Self {
        Self { problems, unlisted }
    }

    /// The first problems, at most five.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// What is not among them.
    pub fn unlisted(&self) -> Unlisted {
        self.unlisted
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{problem}")?;
        }
        match self.unlisted {
            Unlisted::Counted(0) => Ok(()),
            Unlisted::Counted(more) => write!(f, "; and {more} more"),
            Unlisted::Unknown => f.write_str("; there may be more"),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pointer.is_empty() {
            return f.write_str(&self.message);
        }
        write!(f, "at {}: {}", self.pointer, self.message)
    }
}

impl std::error::Error for Violation {}

/// The front of a text, at most `max` characters, and a sign when something was cut off.
pub(super) fn shortened(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
