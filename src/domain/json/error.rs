//! Owns what the strict reader says when it refuses a text: kind, position and pointer.
//!
//! Imports its siblings only. Must not decide anything: the reader judges, this file words it.

use std::fmt;

use super::pointer;
use super::write::shown;

/// Why a text is refused, and where (pipeline: Lossless JSON).
///
/// The first fault in text order is the one reported, so a text that is refused as not lossless
/// may also be cut off further on; [`super::members`] judges syntax alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// What is wrong.
    pub kind: ReadErrorKind,
    /// Where in the text.
    pub position: Position,
    /// Where in the value: an RFC 6901 pointer to the innermost value or member that was being
    /// read; empty for the root.
    pub pointer: String,
}

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Bytes before the place.
    pub offset: usize,
    /// Line, from 1; lines end at `\n`.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadErrorKind {
    /// Not JSON: something else was expected here.
    Syntax {
        /// What RFC 8259 allows here, for people.
        expected: &'static str,
    },
    /// Not JSON: the text ends too early. Nothing is ever completed.
    UnexpectedEnd {
        /// What RFC 8259 wants next, for people.
        expected: &'static str,
    },
    /// Not JSON: the bytes are not UTF-8.
    InvalidUtf8,
    /// Two members of one object have the same name after unescaping.
    DuplicateMember {
        /// The name that stands twice.
        name: String,
    },
    /// A number with more digits than [`super::Limits::max_digits`].
    NumberTooLong,
    /// A number with an exponent beyond [`super::Limits::max_exponent`], or a fraction or
    /// exponent form whose value overflows to infinity or underflows to zero.
    NumberOutOfRange,
    /// Half of a surrogate pair, which is no character.
    LoneSurrogate,
    /// Nested deeper than [`super::Limits::max_depth`].
    TooDeep,
    /// Longer than [`super::Limits::max_bytes`].
    TooLarge,
    /// A member name that `serde_json` keeps for itself and would turn into something else.
    ReservedMember,
    /// JSON, but an object was asked for.
    RootNotObject,
}

impl ReadError {
    /// Whether the text is not JSON at all (RFC 8259), as opposed to JSON that cannot be kept
    /// exactly.
    pub fn is_syntax(&self) -> bool {
        match self.kind {
            ReadErrorKind::Syntax { .. }
            | ReadErrorKind::UnexpectedEnd { .. }
            | ReadErrorKind::InvalidUtf8 => true,
            ReadErrorKind::DuplicateMember { .. }
            | ReadErrorKind::NumberTooLong
            | ReadErrorKind::NumberOutOfRange
            | ReadErrorKind::LoneSurrogate
            | ReadErrorKind::TooDeep
            | ReadErrorKind::TooLarge
            | ReadErrorKind::ReservedMember
            | ReadErrorKind::RootNotObject => false,
        }
    }

    /// The same error seen from the object whose member `name` held the text: the pointer gains
    /// that member in front. The position still counts from the start of the member's own text.
    #[must_use]
    pub fn within(mut self, name: &str) -> Self {
        pointer::prepend(&mut self.pointer, name);
        self
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column, .. } = self.position;
        let verdict = if self.is_syntax() {
            "not JSON"
        } else {
            "refused JSON"
        };
        write!(f, "{verdict} at line {line} column {column}")?;
        if !self.is_syntax() && !self.pointer.is_empty() {
            write!(f, " ({})", shown(&self.pointer))?;
        }
        write!(f, ": {}", self.kind)
    }
}

impl std::error::Error for ReadError {}

impl fmt::Display for ReadErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { expected } => write!(f, "expected {expected}"),
            Self::UnexpectedEnd { expected } => {
                write!(f, "the text ends too early, expected {expected}")
            }
            Self::InvalidUtf8 => f.write_str("the bytes are not UTF-8"),
            Self::DuplicateMember { name } => {
                write!(f, "the member `{}` stands twice in one object", shown(name))
            }
            Self::NumberTooLong => {
                f.write_str("the number has too many digits; send it as a string")
            }
            Self::NumberOutOfRange => {
                f.write_str("the number is too large or too small; send it as a string")
            }
            Self::LoneSurrogate => {
                f.write_str("half of a surrogate pair is no character; escape both halves")
            }
            Self::TooDeep => f.write_str("the value is nested too deep"),
            Self::TooLarge => f.write_str("the text is too long"),
            Self::ReservedMember => f.write_str("this member name is reserved; use another"),
            Self::RootNotObject => f.write_str("expected an object"),
        }
    }
}

impl Position {
    fn of(offset: usize, text: &[u8]) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let starts_character = |byte: &&u8| **byte & 0b1100_0000 != 0b1000_0000;
        let column = before.get(line_start..).unwrap_or_default();
        Self {
            offset,
            line: before.split(|byte| *byte == b'\n').count(),
            column: 1 + column.iter().filter(starts_character).count(),
        }
    }
}

/// A refusal on its way up: the place is still a bare offset, the pointer grows as readers unwind.
/// Boxed, so that the way of success stays narrow.
#[derive(Debug)]
pub(super) struct Fault(Box<Parts>);

#[derive(Debug)]
struct Parts {
    kind: ReadErrorKind,
    at: usize,
    pointer: String,
}

/// What reading functions answer.
pub(super) type Scanned<T> = Result<T, Fault>;

impl Fault {
    pub(super) fn new(kind: ReadErrorKind, at: usize) -> Self {
        Self(Box::new(Parts {
            kind,
            at,
            pointer: String::new(),
        }))
    }

    /// The fault as seen from the object that holds it in its member `name`.
    pub(super) fn in_member(mut self, name: &str) -> Self {
        pointer::prepend(&mut self.0.pointer, name);
        self
    }

    /// The fault as seen from the array that holds it at `index`.
    pub(super) fn in_element(mut self, index: usize) -> Self {
        pointer::prepend(&mut self.0.pointer, &index.to_string());
        self
    }

    /// The public error, with line and column counted in `text`.
    pub(super) fn locate(self, text: &[u8]) -> ReadError {
        let Parts { kind, at, pointer } = *self.0;
        ReadError {
            kind,
            position: Position::of(at, text),
            pointer,
        }
    }
}
