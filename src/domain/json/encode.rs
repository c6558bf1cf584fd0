//! Owns encoding: from Rust values into a [`Json`], and how a [`Json`] shows itself to serde.
//!
//! Imports its siblings only. Must not fake: a float that is no number is an error, never `null`.

use std::fmt;

use serde::ser::{self, Serialize, SerializeMap, SerializeStruct, Serializer};

use super::build::{Elements, ExactText, Members, Structure, Tag};
use super::{
    Json, Limits, NotFinite, Number, Object, RESERVED_MEMBERS, RESERVED_NUMBER, RESERVED_RAW,
    pointer,
};

/// Why a Rust value is not JSON that can be kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", pointer::lead(pointer))]
pub struct EncodeError {
    /// RFC 6901 pointer to what cannot be kept; empty for the root.
    pub pointer: String,
    /// What is wrong there, for people.
    pub message: String,
}

impl EncodeError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            pointer: String::new(),
            message: message.into(),
        }
    }

    /// The error as seen from the container that holds it under `step`.
    pub(super) fn within(mut self, step: &str) -> Self {
        pointer::prepend(&mut self.pointer, step);
        self
    }

    pub(super) fn too_deep() -> Self {
        Self::new("the value is nested too deep")
    }
}

impl ser::Error for EncodeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }
}

impl From<NotFinite> for EncodeError {
    fn from(cause: NotFinite) -> Self {
        Self::new(cause.to_string())
    }
}

pub(super) fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Json, EncodeError> {
    value.serialize(Encoder {
        levels_left: Limits::DEEPEST,
    })
}

/// [`Json::check`] for an object that is not wrapped in a [`Json`].
pub fn check_object(members: &Object, limits: &Limits) -> Result<(), EncodeError> {
    check_members(members, limits.max_depth.min(Limits::DEEPEST))
}

fn check_members(members: &Object, levels: usize) -> Result<(), EncodeError> {
    let left = levels.checked_sub(1).ok_or_else(EncodeError::too_deep)?;
    members.iter().try_for_each(|(name, member)| {
        check_name(name)
            .and_then(|()| check(member, left))
            .map_err(|error| error.within(name))
    })
}

/// Checks depth and names. Recurses no deeper than `levels`.
pub(super) fn check(value: &Json, levels: usize) -> Result<(), EncodeError> {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => Ok(()),
        Json::Array(elements) => {
            let left = levels.checked_sub(1).ok_or_else(EncodeError::too_deep)?;
            elements
                .iter()
                .enumerate()
                .try_for_each(|(index, element)| {
                    check(element, left).map_err(|error| error.within(&index.to_string()))
                })
        }
        Json::Object(members) => check_members(members, levels),
    }
}

fn check_name(name: &str) -> Result<(), EncodeError> {
    if RESERVED_MEMBERS.contains(&name) {
        return Err(EncodeError::new(
            "this member name is reserved; use another",
        ));
    }
    Ok(())
}

/// Puts a member in, unless its name is taken or reserved.
pub(super) fn insert(members: &mut Object, name: String, value: Json) -> Result<(), EncodeError> {
    check_name(&name).map_err(|error| error.within(&name))?;
    if members.contains_key(&name) {
        return Err(EncodeError::new("the member stands twice in one object").within(&name));
    }
    members.insert(name, value);
    Ok(())
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) => number.serialize(serializer),
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(elements) => serializer.collect_seq(elements),
            Self::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (name, member) in members {
                    map.serialize_entry(name, member)?;
                }
                map.end()
            }
        }
    }
}

impl Serialize for Number {
    /// Integers of 64 bits go as such. Every other text goes as the raw value that `serde_json`'s
    /// text serializer and [`Json::from_serialize`] copy exactly; other serializers cannot carry
    /// it and see a structure with one member.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.as_str();
        // `-0` is not the integer 0
        if let Some(value) = text.parse::<u64>().ok().filter(|_| !text.starts_with('-')) {
            return serializer.serialize_u64(value);
        }
        if let Some(value) = text.parse::<i64>().ok().filter(|value| *value != 0) {
            return serializer.serialize_i64(value);
        }
        let mut raw = serializer.serialize_struct(RESERVED_RAW, 1)?;
        raw.serialize_field(RESERVED_RAW, text)?;
        raw.end()
    }
}

/// Builds a value out of what serde says of another.
#[derive(Clone, Copy)]
pub(super) struct Encoder {
    pub(super) levels_left: usize,
}

impl Encoder {
    /// The encoder for what one more container holds.
    fn inside(self) -> Result<Self, EncodeError> {
        let left = self
            .levels_left
            .checked_sub(1)
            .ok_or_else(EncodeError::too_deep)?;
        Ok(Self { levels_left: left })
    }

    /// The encoder inside a container that is the content of a variant, if it is of one: the
    /// variant's own object is a level too.
    fn inside_tagged(self, tag: Tag) -> Result<Self, EncodeError> {
        let outer = if tag.0.is_some() {
            self.inside()?
        } else {
            self
        };
        outer.inside()
    }

    fn elements(self, tag: Tag) -> Result<Elements, EncodeError> {
        Ok(Elements::new(self.inside_tagged(tag)?, tag))
    }

    fn members(self, tag: Tag) -> Result<Members, EncodeError> {
        Ok(Members::new(self.inside_tagged(tag)?, tag))
    }
}

macro_rules! encode_as_is {
    ($($method:ident, $type:ty;)*) => {$(
        fn $method(self, value: $type) -> Result<Json, EncodeError> {
            Ok(Json::from(value))
        }
    )*};
}

impl Serializer for Encoder {
    type Ok = Json;
    type Error = EncodeError;
    type SerializeSeq = Elements;
    type SerializeTuple = Elements;
    type SerializeTupleStruct = Elements;
    type SerializeTupleVariant = Elements;
    type SerializeMap = Members;
    type SerializeStruct = Structure;
    type SerializeStructVariant = Members;

    encode_as_is! {
        serialize_bool, bool;
        serialize_i8, i8;
        serialize_i16, i16;
        serialize_i32, i32;
        serialize_i64, i64;
        serialize_i128, i128;
        serialize_u8, u8;
        serialize_u16, u16;
        serialize_u32, u32;
        serialize_u64, u64;
        serialize_u128, u128;
        serialize_str, &str;
    }

    fn serialize_f32(self, value: f32) -> Result<Json, EncodeError> {
        Ok(Json::Number(value.try_into()?))
    }

    fn serialize_f64(self, value: f64) -> Result<Json, EncodeError> {
        Ok(Json::Number(value.try_into()?))
    }

    fn serialize_char(self, value: char) -> Result<Json, EncodeError> {
        Ok(Json::String(value.into()))
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Json, EncodeError> {
        self.inside()?;
        Ok(bytes.iter().copied().collect())
    }

    fn serialize_none(self) -> Result<Json, EncodeError> {
        Ok(Json::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Json, EncodeError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Json, EncodeError> {
        Ok(Json::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Json, EncodeError> {
        Ok(Json::Null)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Json, EncodeError> {
        Ok(variant.into())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Json, EncodeError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Json, EncodeError> {
        let tag = Tag(Some(variant));
        tag.wrap(
            value
                .serialize(self.inside()?)
                .map_err(|error| tag.locate(error))?,
        )
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Elements, EncodeError> {
        self.elements(Tag(None))
    }

    fn serialize_tuple(self, _: usize) -> Result<Elements, EncodeError> {
        self.elements(Tag(None))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Elements, EncodeError> {
        self.elements(Tag(None))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Elements, EncodeError> {
        self.elements(Tag(Some(variant)))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Members, EncodeError> {
        self.members(Tag(None))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Structure, EncodeError> {
        match name {
            RESERVED_NUMBER | RESERVED_RAW => Ok(Structure::Text(ExactText {
                inside: self,
                value: Json::Null,
            })),
            _ => Ok(Structure::Members(self.members(Tag(None))?)),
        }
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Members, EncodeError> {
        self.members(Tag(Some(variant)))
    }
}
