//! Owns the containers of the encoder: elements and members as serde hands them over.
//!
//! Imports its siblings only. Must not let a member name in twice, nor a reserved one.

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant,
};

use super::encode::{EncodeError, Encoder, insert};
use super::{Json, Limits, Object};

/// The name of the enum variant that a container is the content of, if it is one.
#[derive(Clone, Copy)]
pub(super) struct Tag(pub(super) Option<&'static str>);

impl Tag {
    /// serde's externally tagged form: an object with the variant's name as its only member.
    pub(super) fn wrap(self, content: Json) -> Result<Json, EncodeError> {
        let Some(name) = self.0 else {
            return Ok(content);
        };
        let mut members = Object::with_capacity(1);
        insert(&mut members, name.to_owned(), content)?;
        Ok(Json::Object(members))
    }

    pub(super) fn locate(self, error: EncodeError) -> EncodeError {
        match self.0 {
            Some(name) => error.within(name),
            None => error,
        }
    }
}

/// An array that grows.
pub(super) struct Elements {
    inside: Encoder,
    tag: Tag,
    so_far: Vec<Json>,
}

impl Elements {
    pub(super) fn new(inside: Encoder, tag: Tag) -> Self {
        Self {
            inside,
            tag,
            so_far: Vec::new(),
        }
    }

    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeError> {
        let element = value.serialize(self.inside).map_err(|error| {
            self.tag
                .locate(error.within(&self.so_far.len().to_string()))
        })?;
        self.so_far.push(element);
        Ok(())
    }

    fn finish(self) -> Result<Json, EncodeError> {
        self.tag.wrap(Json::Array(self.so_far))
    }
}

macro_rules! push_elements {
    ($($of:ident :: $method:ident),*) => {$(
        impl $of for Elements {
            type Ok = Json;
            type Error = EncodeError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeError> {
                self.push(value)
            }

            fn end(self) -> Result<Json, EncodeError> {
                self.finish()
            }
        }
    )*};
}

push_elements!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

/// An object that grows.
pub(super) struct Members {
    inside: Encoder,
    tag: Tag,
    so_far: Object,
    /// The key that waits for its value, for serializers that hand them over one by one.
    key: String,
}

impl Members {
    pub(super) fn new(inside: Encoder, tag: Tag) -> Self {
        Self {
            inside,
            tag,
            so_far: Object::new(),
            key: String::new(),
        }
    }

    fn push<T: Serialize + ?Sized>(&mut self, name: String, value: &T) -> Result<(), EncodeError> {
        let value = value
            .serialize(self.inside)
            .map_err(|error| error.within(&name));
        value
            .and_then(|value| insert(&mut self.so_far, name, value))
            .map_err(|error| self.tag.locate(error))
    }

    fn finish(self) -> Result<Json, EncodeError> {
        self.tag.wrap(Json::Object(self.so_far))
    }
}

impl SerializeMap for Members {
    type Ok = Json;
    type Error = EncodeError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), EncodeError> {
        self.key = match key.serialize(self.inside)? {
            Json::String(name) => name,
            Json::Number(number) if number.is_plain() => number.as_str().to_owned(),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => {
                let message = "a member name must be a string or an integer";
                return Err(self.tag.locate(EncodeError::new(message)));
            }
        };
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), EncodeError> {
        let name = std::mem::take(&mut self.key);
        self.push(name, value)
    }

    fn end(self) -> Result<Json, EncodeError> {
        self.finish()
    }
}

impl SerializeStructVariant for Members {
    type Ok = Json;
    type Error = EncodeError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), EncodeError> {
        self.push(name.to_owned(), value)
    }

    fn end(self) -> Result<Json, EncodeError> {
        self.finish()
    }
}

/// A structure: an object, or one of `serde_json`'s two private ways of handing over exact text.
pub(super) enum Structure {
    Members(Members),
    Text(ExactText),
}

/// Text that is JSON already.
pub(super) struct ExactText {
    pub(super) inside: Encoder,
    pub(super) value: Json,
}

impl SerializeStruct for Structure {
    type Ok = Json;
    type Error = EncodeError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), EncodeError> {
        match self {
            Self::Members(members) => members.push(name.to_owned(), value),
            Self::Text(exact) => {
                let text = value.serialize(exact.inside)?;
                exact.value = exact.read(text.as_str().unwrap_or_default())?;
                Ok(())
            }
        }
    }

    fn end(self) -> Result<Json, EncodeError> {
        match self {
            Self::Members(members) => members.finish(),
            Self::Text(exact) => Ok(exact.value),
        }
    }
}

impl ExactText {
    /// The text comes from inside the process, so only its depth is bounded further.
    fn read(&self, text: &str) -> Result<Json, EncodeError> {
        let limits = Limits {
            max_bytes: usize::MAX,
            max_depth: self.inside.levels_left,
            ..Limits::default()
        };
        Json::read(text.as_bytes(), &limits).map_err(|error| EncodeError {
            pointer: error.pointer,
            message: error.kind.to_string(),
        })
    }
}
