//! Owns decoding: from a [`Json`] into Rust types, with a pointer to what does not fit.
//!
//! Imports its siblings only. Must not guess: an integer is exact or refused, and no member name
//! has a meaning of its own.

use std::fmt;

use serde::de::value::{MapDeserializer, SeqDeserializer, StrDeserializer};
use serde::de::{
    self, DeserializeOwned, Deserializer, EnumAccess, Expected, IntoDeserializer, Unexpected,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_path_to_error::{Path, Segment};

use super::write::shown;
use super::{Json, Number, Object, pointer};

/// Why a value does not fit the type it should become.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", pointer::lead(pointer))]
pub struct DecodeError {
    /// RFC 6901 pointer to the innermost value that does not fit, or to the unknown member;
    /// empty for the root.
    pub pointer: String,
    /// What is wrong there, for people.
    pub message: String,
    /// The member that is unknown, when that is what is wrong.
    unknown: Option<UnknownMember>,
}

impl DecodeError {
    /// Names members of the whole object that somebody else reads, in the hint that says which
    /// ones there are.
    #[must_use]
    pub fn beside(mut self, others: &[&str]) -> Self {
        if let Some(unknown) = &self.unknown
            && self.pointer.matches('/').count() == 1
        {
            let known: Vec<_> = others.iter().chain(unknown.known).copied().collect();
            self.message = unknown.told(&known);
        }
        self
    }
}

/// A member that is unknown, and those that are not.
#[derive(Clone, Debug, PartialEq, Eq)]
struct UnknownMember {
    name: String,
    known: &'static [&'static str],
}

impl UnknownMember {
    fn told(&self, known: &[&str]) -> String {
        format!("unknown member `{}`, {}", self.name, one_of(known))
    }
}

/// [`Json::decode`] for an object that is not wrapped in a [`Json`].
pub fn decode_object<T: DeserializeOwned>(members: &Object) -> Result<T, DecodeError> {
    decode_from(Source::Members(members))
}

pub(super) fn decode<T: DeserializeOwned>(value: &Json) -> Result<T, DecodeError> {
    decode_from(Source::Value(value))
}

fn decode_from<T: DeserializeOwned>(source: Source<'_>) -> Result<T, DecodeError> {
    serde_path_to_error::deserialize(source).map_err(|error| {
        let pointer = pointer_of(error.path(), source);
        let Mismatch { message, unknown } = error.into_inner();
        DecodeError {
            pointer,
            message,
            unknown,
        }
    })
}

/// The path as a pointer. It ends before a step that leads nowhere: serde also counts the variant
/// of an enum that is written as a mere string.
fn pointer_of(path: &Path, root: Source<'_>) -> String {
    let mut pointer = String::new();
    let mut reached = root;
    for segment in path {
        let step = match segment {
            Segment::Seq { index } => index.to_string(),
            Segment::Map { key } | Segment::Enum { variant: key } => key.clone(),
            Segment::Unknown => break,
        };
        let Some(next) = reached.step(&step) else {
            break;
        };
        reached = Source::Value(next);
        pointer::append(&mut pointer, &step);
    }
    pointer
}

/// What serde says when a value does not fit, in our words. Names and strings are cut short.
#[derive(Debug)]
struct Mismatch {
    message: String,
    unknown: Option<UnknownMember>,
}

impl Mismatch {
    fn of(message: String) -> Self {
        Self {
            message,
            unknown: None,
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Mismatch {}

impl de::Error for Mismatch {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::of(message.to_string())
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::of(format!(
            "expected {}, found {}",
            wanted(expected),
            found(unexpected)
        ))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::of(format!(
            "expected {}, found {}",
            wanted(expected),
            found(unexpected)
        ))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::of(format!(
            "unknown value `{}`, {}",
            shown(variant),
            one_of(expected)
        ))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let unknown = UnknownMember {
            name: shown(field),
            known: expected,
        };
        Self {
            message: unknown.told(expected),
            unknown: Some(unknown),
        }
    }

    fn missing_field(field: &'static str) -> Self {
        Self::of(format!("the member `{field}` is missing"))
    }
}

/// What was expected; serde names the numbers as Rust does.
fn wanted(expected: &dyn Expected) -> String {
    let said = expected.to_string();
    match said.as_str() {
        "u8" | "u16" | "u32" | "u64" | "usize" => format!("a whole number ({said}: not below 0)"),
        "i8" | "i16" | "i32" | "i64" | "isize" => format!("a whole number ({said})"),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "an array".to_owned(),
        "a map" => "an object".to_owned(),
        _ => said,
    }
}

fn found(unexpected: Unexpected<'_>) -> String {
    if let Unexpected::Str(text) = unexpected {
        return format!("the string \"{}\"", shown(text));
    }
    // serde's word for `null` is "unit value", for an object "map", for an array "sequence"
    match unexpected.to_string().as_str() {
        "unit value" | "Option value" => "null".to_owned(),
        "map" => "an object".to_owned(),
        "sequence" => "an array".to_owned(),
        other => other.replace('`', ""),
    }
}

fn one_of(expected: &[&str]) -> String {
    if expected.is_empty() {
        return "none is allowed here".to_owned();
    }
    format!("expected one of `{}`", expected.join("`, `"))
}

/// What is decoded.
#[derive(Clone, Copy)]
enum Source<'de> {
    Value(&'de Json),
    Members(&'de Object),
}

impl<'de> Source<'de> {
    fn step(self, name: &str) -> Option<&'de Json> {
        match self {
            Self::Value(value) => pointer::step(value, name),
            Self::Members(members) => members.get(name),
        }
    }

    fn only_member(self) -> Option<(&'de String, &'de Json)> {
        match self {
            Self::Value(Json::Object(members)) | Self::Members(members) => {
                members.first().filter(|_| members.len() == 1)
            }
            Self::Value(
                Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_),
            ) => None,
        }
    }
}

impl<'de> IntoDeserializer<'de, Mismatch> for Source<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Integers of one width: exact or refused.
macro_rules! deserialize_integers {
    ($($method:ident, $visit:ident, $integer:ty;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
            let Self::Value(Json::Number(number)) = self else {
                return self.deserialize_any(visitor);
            };
            let fitting = number.as_i128().and_then(|value| <$integer>::try_from(value).ok());
            match fitting {
                Some(value) => visitor.$visit(value),
                None => Err(de::Error::invalid_value(Unexpected::Other(&brief(number)), &visitor)),
            }
        }
    )*};
}

/// A number for a message.
fn brief(number: &Number) -> String {
    format!("the number {}", shown(number.as_str()))
}

impl<'de> Deserializer<'de> for Source<'de> {
    type Error = Mismatch;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match self {
            Self::Value(Json::Null) => visitor.visit_unit(),
            Self::Value(Json::Bool(value)) => visitor.visit_bool(*value),
            Self::Value(Json::Number(number)) => visit_number(number, visitor),
            Self::Value(Json::String(text)) => visitor.visit_borrowed_str(text),
            Self::Value(Json::Array(elements)) => visit_elements(elements, visitor),
            Self::Value(Json::Object(members)) | Self::Members(members) => {
                visit_members(members, visitor)
            }
        }
    }

    deserialize_integers! {
        deserialize_i8, visit_i8, i8;
        deserialize_i16, visit_i16, i16;
        deserialize_i32, visit_i32, i32;
        deserialize_i64, visit_i64, i64;
        deserialize_i128, visit_i128, i128;
        deserialize_u8, visit_u8, u8;
        deserialize_u16, visit_u16, u16;
        deserialize_u32, visit_u32, u32;
        deserialize_u64, visit_u64, u64;
        deserialize_u128, visit_u128, u128;
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        let Self::Value(Json::Number(number)) = self else {
            return self.deserialize_any(visitor);
        };
        match number.as_f64() {
            Some(value) => visitor.visit_f64(value),
            None => Err(de::Error::invalid_value(
                Unexpected::Other(&brief(number)),
                &visitor,
            )),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        if let Self::Value(Json::Null) = self {
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        if let Self::Value(Json::String(name)) = self {
            return visitor.visit_enum(Variant {
                name,
                content: None,
            });
        }
        match self.only_member() {
            Some((name, content)) => visitor.visit_enum(Variant {
                name,
                content: Some(content),
            }),
            None => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

/// A number whose type nobody named: an exact integer when it is one, else the nearest float.
fn visit_number<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Result<V::Value, Mismatch> {
    if let Some(value) = number.as_u64() {
        return visitor.visit_u64(value);
    }
    if let Some(value) = number.as_i64() {
        return visitor.visit_i64(value);
    }
    match number.as_f64().filter(|_| !number.is_plain()) {
        Some(value) => visitor.visit_f64(value),
        None => Err(de::Error::invalid_value(
            Unexpected::Other(&brief(number)),
            &visitor,
        )),
    }
}

fn visit_elements<'de, V: Visitor<'de>>(
    elements: &'de [Json],
    visitor: V,
) -> Result<V::Value, Mismatch> {
    let mut access = SeqDeserializer::new(elements.iter().map(Source::Value));
    let value = visitor.visit_seq(&mut access)?;
    access.end()?;
    Ok(value)
}

fn visit_members<'de, V: Visitor<'de>>(
    members: &'de Object,
    visitor: V,
) -> Result<V::Value, Mismatch> {
    let mut access = MapDeserializer::new(
        members
            .iter()
            .map(|(name, member)| (name.as_str(), Source::Value(member))),
    );
    let value = visitor.visit_map(&mut access)?;
    access.end()?;
    Ok(value)
}

/// An enum as serde's externally tagged form has it: a name, or a name with content.
struct Variant<'de> {
    name: &'de str,
    content: Option<&'de Json>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Mismatch;
    type Variant = Self;

    fn variant_seed<S: de::DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self), Mismatch> {
        let name: StrDeserializer<'_, Mismatch> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> Variant<'de> {
    fn content(&self) -> Result<Source<'de>, Mismatch> {
        let missing = || Mismatch::of(format!("the content of `{}` is missing", shown(self.name)));
        self.content.map(Source::Value).ok_or_else(missing)
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = Mismatch;

    fn unit_variant(self) -> Result<(), Mismatch> {
        match self.content {
            None | Some(Json::Null) => Ok(()),
            Some(_) => Err(Mismatch::of(format!(
                "`{}` has no content",
                shown(self.name)
            ))),
        }
    }

    fn newtype_variant_seed<S: de::DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<S::Value, Mismatch> {
        seed.deserialize(self.content()?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Mismatch> {
        self.content()?.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        self.content()?.deserialize_map(visitor)
    }
}
