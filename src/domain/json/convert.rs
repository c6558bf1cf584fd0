//! Owns the short ways into and out of [`Json`]: builders, `From`, and `serde_json`'s type.
//!
//! Imports its siblings only. Must not convert floats silently: those go through `TryFrom`.

use serde_json::Value;

use super::{Json, NotFinite, Number, Object};

/// An object of these members, in this order; of a name that stands twice the last value counts.
///
/// ```
/// use toold::domain::json::{Json, object};
///
/// let card = object([("card", Json::from("read")), ("lines", Json::from(42))]);
/// assert_eq!(card.to_text(), r#"{"card":"read","lines":42}"#);
/// ```
pub fn object<K: Into<String>, V: Into<Json>, const N: usize>(members: [(K, V); N]) -> Json {
    members.into_iter().collect()
}

/// [`Json::to_value`] for an object that is not wrapped in a [`Json`].
pub fn object_to_value(members: &Object) -> Value {
    let value = |(name, member): (&String, &Json)| (name.clone(), to_value(member));
    Value::Object(members.iter().map(value).collect())
}

/// Built member by member: nothing is serialised or parsed, so no name and no number can change.
pub(super) fn to_value(value: &Json) -> Value {
    match value {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => {
            let text = number.as_str().to_owned();
            Value::Number(serde_json::Number::from_string_unchecked(text))
        }
        Json::String(text) => Value::String(text.clone()),
        Json::Array(elements) => Value::Array(elements.iter().map(to_value).collect()),
        Json::Object(members) => object_to_value(members),
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<&String> for Json {
    fn from(text: &String) -> Self {
        Self::String(text.clone())
    }
}

impl From<Number> for Json {
    fn from(number: Number) -> Self {
        Self::Number(number)
    }
}

impl From<Object> for Json {
    fn from(members: Object) -> Self {
        Self::Object(members)
    }
}

impl<T: Into<Json>> From<Vec<T>> for Json {
    fn from(elements: Vec<T>) -> Self {
        elements.into_iter().collect()
    }
}

impl<T: Into<Json>, const N: usize> From<[T; N]> for Json {
    fn from(elements: [T; N]) -> Self {
        elements.into_iter().collect()
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    /// `None` is `null`.
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl TryFrom<f64> for Json {
    type Error = NotFinite;

    fn try_from(value: f64) -> Result<Self, NotFinite> {
        Number::try_from(value).map(Self::Number)
    }
}

macro_rules! from_integers {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Json {
            fn from(value: $integer) -> Self {
                Self::Number(value.into())
            }
        }
    )*};
}

from_integers!(
    i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize
);

impl<T: Into<Json>> FromIterator<T> for Json {
    /// An array.
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        Self::Array(elements.into_iter().map(Into::into).collect())
    }
}

impl<K: Into<String>, V: Into<Json>> FromIterator<(K, V)> for Json {
    /// An object; of a name that comes twice the last value counts.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Self {
        let member = |(name, value): (K, V)| (name.into(), value.into());
        Self::Object(members.into_iter().map(member).collect())
    }
}
