//! Owns JSON as the daemon carries it: one lossless value type, the strict reader that is its only
//! door, its text forms, and the converters at its borders (pipeline: Lossless JSON).
//!
//! Imports nothing of ours. Must not repair, round, reorder or drop anything: what cannot be kept
//! exactly is refused where it enters.

mod build;
mod convert;
mod decode;
mod digest;
mod encode;
mod error;
mod members;
mod number;
mod object_writer;
mod pointer;
mod read;
mod scan;
mod weight;
mod write;

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use convert::{object, object_to_value};
pub use decode::{DecodeError, decode_object};
pub use digest::{Digest, DigestError};
pub use encode::{EncodeError, check_object};
pub use error::{Position, ReadError, ReadErrorKind};
pub use members::members;
pub use number::{NotFinite, Number};
pub use object_writer::{ArrayWriter, ObjectWriter};
pub use read::Limits;
pub use write::escape_into;

/// A JSON value that keeps what its text said: member order and the text of numbers.
///
/// Two objects are equal when they have equal members in any order; numbers are equal when their
/// texts are. A value that was read nests at most [`Limits::DEEPEST`] levels, so everything here
/// may recurse; code that builds values by hand keeps to that bound too ([`Json::check`]).
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Json {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as its text.
    Number(Number),
    /// A string of characters.
    String(String),
    /// Elements in order.
    Array(Vec<Json>),
    /// Members in the order in which they were written.
    Object(Object),
}

/// The members of an object, in order.
pub type Object = indexmap::IndexMap<String, Json>;

/// Member names that mean something else to `serde_json`: an object with one of them would change
/// its meaning on the way through, so the reader refuses them.
const RESERVED_MEMBERS: [&str; 2] = [RESERVED_NUMBER, RESERVED_RAW];
const RESERVED_NUMBER: &str = "$serde_json::private::Number";
const RESERVED_RAW: &str = "$serde_json::private::RawValue";

impl Json {
    /// Reads one value of any kind, strictly and losslessly; white space around it is allowed.
    pub fn read(text: &[u8], limits: &Limits) -> Result<Self, ReadError> {
        read::read(text, limits)
    }

    /// Like [`Json::read`], but JSON of another kind is refused as
    /// [`ReadErrorKind::RootNotObject`].
    pub fn read_object(text: &[u8], limits: &Limits) -> Result<Object, ReadError> {
        read::read_object(text, limits)
    }

    /// Reads the arguments of a call; `raw` is the raw text of the request's `arguments` member.
    ///
    /// - missing or `null`: no arguments, `{}`;
    /// - an object: that object;
    /// - a string: what the model wrote. Its content is read as JSON: nothing or white space, and
    ///   `null`, are `{}`; an object is that object; a string whose own content is an object is
    ///   unwrapped once more, because some models encode twice. An inner string counts as such
    ///   when its first character behind white space is `{`, and then must be an object.
    ///
    /// All else is refused as [`ReadErrorKind::RootNotObject`]; nothing is repaired or completed.
    /// The position of an error counts in the innermost text that was being read: inside a string
    /// that is its decoded content, what the model wrote.
    pub fn read_arguments(raw: Option<&[u8]>, limits: &Limits) -> Result<Object, ReadError> {
        read::read_arguments(raw, limits)
    }

    /// Appends the compact text: one line, members in order, numbers as written.
    pub fn write(&self, out: &mut Vec<u8>) {
        write::compact(self, out);
    }

    /// Appends the canonical text: RFC 8785 (members sorted by UTF-16 code units, least escapes,
    /// no white space) with the exact text of numbers.
    pub fn write_canonical(&self, out: &mut Vec<u8>) {
        write::canonical(self, out);
    }

    /// The compact text.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        write::compact(self, &mut text);
        text
    }

    /// The text for people: a line for each member and element, two spaces for each level.
    pub fn to_pretty(&self) -> String {
        let mut text = String::new();
        write::pretty(self, 0, &mut text);
        text
    }

    /// The member of this name, when this is an object that has it.
    pub fn get(&self, member: &str) -> Option<&Self> {
        self.as_object()?.get(member)
    }

    /// The value an RFC 6901 pointer leads to; the empty pointer leads to this value.
    pub fn pointer(&self, pointer: &str) -> Option<&Self> {
        pointer::follow(self, pointer)
    }

    /// Whether texts, names and elements together weigh more than so many bytes. Costs no more
    /// than looking at that many.
    pub fn is_heavier_than(&self, bytes: usize) -> bool {
        weight::is_over(self, bytes)
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        *self == Self::Null
    }

    /// The boolean, when this is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self {
            Some(*value)
        } else {
            None
        }
    }

    /// The number, when this is one.
    pub fn as_number(&self) -> Option<&Number> {
        if let Self::Number(number) = self {
            Some(number)
        } else {
            None
        }
    }

    /// The exact integer, when this is an integral number that fits ([`Number::as_i64`]).
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number()?.as_i64()
    }

    /// The exact integer, when this is an integral number that fits ([`Number::as_u64`]).
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number()?.as_u64()
    }

    /// The nearest float, when this is a number ([`Number::as_f64`]).
    pub fn as_f64(&self) -> Option<f64> {
        self.as_number()?.as_f64()
    }

    /// The characters, when this is a string.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self {
            Some(text)
        } else {
            None
        }
    }

    /// The elements, when this is an array.
    pub fn as_array(&self) -> Option<&[Self]> {
        if let Self::Array(elements) = self {
            Some(elements)
        } else {
            None
        }
    }

    /// The members, when this is an object.
    pub fn as_object(&self) -> Option<&Object> {
        if let Self::Object(members) = self {
            Some(members)
        } else {
            None
        }
    }

    /// Decodes into a Rust type. Integers are exact or refused; `1.0` and `1E2` are integers too;
    /// no member name has a magic meaning.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        decode::decode(self)
    }

    /// Encodes a Rust value. Refused: floats that are no numbers, map keys that are no strings or
    /// integers, and what [`Json::check`] refuses.
    pub fn from_serialize<T: Serialize + ?Sized>(value: &T) -> Result<Self, EncodeError> {
        encode::encode(value)
    }

    /// Checks what a value built by hand can violate and one that was read cannot: nesting beyond
    /// `limits.max_depth` and reserved member names.
    pub fn check(&self, limits: &Limits) -> Result<(), EncodeError> {
        encode::check(self, limits.max_depth.min(Limits::DEEPEST))
    }

    /// The value in `serde_json`'s type with the exact text of numbers, for the schema validator.
    pub fn to_value(&self) -> serde_json::Value {
        convert::to_value(self)
    }
}

impl fmt::Display for Json {
    /// The compact text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

impl fmt::Debug for Json {
    /// The compact text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

impl FromStr for Json {
    type Err = ReadError;

    /// [`Json::read`] under [`Limits::default`].
    fn from_str(text: &str) -> Result<Self, ReadError> {
        Self::read(text.as_bytes(), &Limits::default())
    }
}

/// Appends the compact text of an object that is not wrapped in a [`Json`].
pub fn write_object(members: &Object, out: &mut Vec<u8>) {
    write::compact_object(members, out);
}

/// Appends the canonical text of an object that is not wrapped in a [`Json`].
pub fn write_canonical_object(members: &Object, out: &mut Vec<u8>) {
    write::canonical_object(members, out);
}
