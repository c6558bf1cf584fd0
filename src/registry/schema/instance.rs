//! Owns how the validator sees our values: no copy, numbers by their exact text, and a bound on
//! the work that one check may cost.
//!
//! Imports `domain` and the validator's representation traits. Must not judge anything.

use std::{
    borrow::Cow,
    cell::Cell,
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

use jsonschema::{
    JsonType,
    json::{self, JsonNumber, NodeIdentity},
};
use serde_json::Value;

use super::equality;
use crate::domain::{Json, Object, json::Number};

/// What an error costs beside a look at a value: it is an allocation or three.
const ERROR_COST: u64 = 2_000;
/// How much of a member's name an error repeats, in characters.
const SHOWN_NAME: usize = 64;

/// The validator's name for our representation.
#[derive(Debug)]
pub(super) struct Lossless;

/// Most stack that one check may use, in bytes: half of what a thread has.
const MAX_STACK: usize = 1024 * 1024;

/// What is left of what one check may cost: looks at values, and stack.
#[derive(Debug)]
pub(super) struct Meter {
    looks: Cell<u64>,
    bottom: usize,
}

struct Exhausted;

impl Meter {
    /// Runs a check that may look `budget` times. Nothing when it would have needed more looks or
    /// stack, or when the validator itself fails: schemas with alternatives that refer back to
    /// themselves cost exponential time on some values, deep values under long ways through a
    /// schema any stack, and there is no other way to stop it.
    pub(super) fn within<T>(budget: u64, check: impl FnOnce(&Self) -> T) -> Option<T> {
        let meter = Self {
            looks: Cell::new(budget),
            bottom: stack_pointer(),
        };
        catch_unwind(AssertUnwindSafe(|| check(&meter))).ok()
    }

    fn spend(&self, cost: u64) {
        match self.looks.get().checked_sub(cost) {
            Some(left) if self.bottom.abs_diff(stack_pointer()) < MAX_STACK => self.looks.set(left),
            // unwinds past the validator without a panic message
            Some(_) | None => resume_unwind(Box::new(Exhausted)),
        }
    }
}

/// About where the stack ends now.
fn stack_pointer() -> usize {
    let here = 0_u8;
    std::ptr::from_ref(&here).addr()
}

/// One value as the validator holds it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Probe<'a> {
    /// Any value.
    Value(&'a Json, &'a Meter),
    /// An object that is not wrapped in a [`Json`]: the arguments of a call.
    Members(&'a Object, &'a Meter),
    /// A member's name, for `propertyNames`.
    Name(&'a str),
}

/// What is checked as a whole.
#[derive(Debug, Clone, Copy)]
pub(super) enum Subject<'a> {
    /// A value.
    Value(&'a Json),
    /// The arguments of a call.
    Members(&'a Object),
}

impl<'a> Subject<'a> {
    /// The subject under a meter.
    pub(super) fn under<'m>(self, meter: &'m Meter) -> Probe<'m>
    where
        'a: 'm,
    {
        match self {
            Self::Value(value) => Probe::Value(value, meter),
            Self::Members(members) => Probe::Members(members, meter),
        }
    }
}

impl Probe<'_> {
    fn look(&self) {
        match self {
            Self::Value(_, meter) | Self::Members(_, meter) => meter.spend(1),
            Self::Name(_) => {}
        }
    }

    fn kind(&self) -> JsonType {
        match self {
            Self::Name(_) | Self::Value(Json::String(_), _) => JsonType::String,
            Self::Members(..) | Self::Value(Json::Object(_), _) => JsonType::Object,
            Self::Value(Json::Array(_), _) => JsonType::Array,
            Self::Value(Json::Number(_), _) => JsonType::Number,
            Self::Value(Json::Bool(_), _) => JsonType::Boolean,
            Self::Value(Json::Null, _) => JsonType::Null,
        }
    }
}

impl json::Json for Lossless {
    type Node<'a> = Probe<'a>;
    type PreparedKey = String;
    type StringBuffer = ();

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>((): &mut (), string: &str, f: impl FnOnce(Self::Node<'_>) -> T) -> T {
        f(Probe::Name(string))
    }
}

impl<'a> json::Node<'a, Lossless> for Probe<'a> {
    type Object = Members<'a>;
    type Array = Elements<'a>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<Members<'a>> {
        self.look();
        match self {
            Self::Value(Json::Object(members), meter) => Some(Members { members, meter }),
            Self::Members(members, meter) => Some(Members { members, meter }),
            Self::Value(..) | Self::Name(_) => None,
        }
    }

    fn as_array(&self) -> Option<Elements<'a>> {
        self.look();
        match self {
            Self::Value(Json::Array(elements), meter) => Some(Elements { elements, meter }),
            Self::Value(..) | Self::Members(..) | Self::Name(_) => None,
        }
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        self.look();
        match self {
            Self::Value(Json::String(text), _) => Some(Cow::Borrowed(text)),
            Self::Name(name) => Some(Cow::Borrowed(name)),
            Self::Value(..) | Self::Members(..) => None,
        }
    }

    fn as_number(&self) -> Option<&'a Number> {
        self.look();
        match self {
            Self::Value(Json::Number(number), meter) => {
                // exact arithmetic on a long text takes its time
                meter.spend(u64::try_from(number.as_str().len()).unwrap_or(u64::MAX));
                Some(number)
            }
            Self::Value(..) | Self::Members(..) | Self::Name(_) => None,
        }
    }

    fn is_number(&self) -> bool {
        self.json_type() == JsonType::Number
    }

    fn as_boolean(&self) -> Option<bool> {
        self.look();
        match self {
            Self::Value(value, _) => value.as_bool(),
            Self::Members(..) | Self::Name(_) => None,
        }
    }

    fn is_null(&self) -> bool {
        self.json_type() == JsonType::Null
    }

    fn json_type(&self) -> JsonType {
        self.look();
        self.kind()
    }

    fn equals_value(&self, expected: &Value) -> bool {
        self.look();
        match self {
            Self::Value(value, _) => equality::same(value, expected),
            Self::Members(members, _) => equality::same_members(members, expected),
            Self::Name(name) => expected.as_str() == Some(name),
        }
    }

    /// Only errors ask for it, so it is what an error may carry: the kind of the value and never
    /// its content; of a member's name, the front.
    fn to_value(&self) -> Cow<'a, Value> {
        let shown = match self {
            Self::Value(_, meter) | Self::Members(_, meter) => {
                meter.spend(ERROR_COST);
                self.kind().to_string()
            }
            Self::Name(name) => name.chars().take(SHOWN_NAME).collect(),
        };
        Cow::Owned(Value::String(shown))
    }

    fn identity(&self) -> Option<NodeIdentity> {
        match self {
            Self::Value(value, _) => Some(identity_of(*value)),
            Self::Members(members, _) => Some(identity_of(*members)),
            // Only guards against cycles that consume nothing, and those are refused.
            Self::Name(_) => None,
        }
    }
}

fn identity_of<T>(value: &T) -> NodeIdentity {
    NodeIdentity::new(std::ptr::from_ref(value).addr())
}

impl JsonNumber for &Number {
    fn as_u64(&self) -> Option<u64> {
        Number::as_u64(self)
    }

    fn as_i64(&self) -> Option<i64> {
        Number::as_i64(self)
    }

    fn as_f64(&self) -> Option<f64> {
        Number::as_f64(self)
    }

    fn as_str(&self) -> Cow<'_, str> {
        Cow::Borrowed(Number::as_str(self))
    }

    fn to_number(&self) -> Cow<'_, serde_json::Number> {
        let text = Number::as_str(self).to_owned();
        Cow::Owned(serde_json::Number::from_string_unchecked(text))
    }

    fn is_integer(&self) -> bool {
        self.as_i64().is_some() || self.is_integral()
    }
}

/// An object's members as the validator walks them.
#[derive(Debug)]
pub(super) struct Members<'a> {
    members: &'a Object,
    meter: &'a Meter,
}

impl<'a> json::Object<'a, Lossless> for Members<'a> {
    type Node = Probe<'a>;
    type MemberName = &'a str;
    type MembersIter = MembersIter<'a>;

    fn len(&self) -> usize {
        self.members.len()
    }

    fn get(&self, key: &String) -> Option<Probe<'a>> {
        self.meter.spend(1);
        self.members
            .get(key)
            .map(|member| Probe::Value(member, self.meter))
    }

    fn members(&self) -> MembersIter<'a> {
        MembersIter {
            members: self.members.iter(),
            meter: self.meter,
        }
    }
}

/// Iterates over members.
#[derive(Debug)]
pub(super) struct MembersIter<'a> {
    members: indexmap::map::Iter<'a, String, Json>,
    meter: &'a Meter,
}

impl<'a> Iterator for MembersIter<'a> {
    type Item = (&'a str, Probe<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.meter.spend(1);
        let (name, member) = self.members.next()?;
        Some((name, Probe::Value(member, self.meter)))
    }
}

/// An array's elements as the validator walks them.
#[derive(Debug)]
pub(super) struct Elements<'a> {
    elements: &'a [Json],
    meter: &'a Meter,
}

impl<'a> json::Array<'a, Lossless> for Elements<'a> {
    type Node = Probe<'a>;
    type ElementsIter = ElementsIter<'a>;

    fn len(&self) -> usize {
        self.elements.len()
    }

    fn elements(&self) -> ElementsIter<'a> {
        ElementsIter {
            elements: self.elements.iter(),
            meter: self.meter,
        }
    }

    fn is_unique(&self) -> bool {
        let mut seen = HashSet::with_capacity(self.elements.len());
        self.elements.iter().all(|element| {
            let key = equality::key(element);
            self.meter
                .spend(u64::try_from(key.len()).unwrap_or(u64::MAX));
            seen.insert(key)
        })
    }
}

/// Iterates over elements.
#[derive(Debug)]
pub(super) struct ElementsIter<'a> {
    elements: std::slice::Iter<'a, Json>,
    meter: &'a Meter,
}

impl<'a> Iterator for ElementsIter<'a> {
    type Item = Probe<'a>;

    fn next(&mut self) -> Option<Probe<'a>> {
        self.meter.spend(1);
        Some(Probe::Value(self.elements.next()?, self.meter))
    }
}
