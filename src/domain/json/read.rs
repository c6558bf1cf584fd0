//! Owns the strict reader: text in, lossless value out, or a refusal with its place.
//!
//! Imports its siblings only. Must not repair anything: what is cut off or malformed is refused,
//! and what cannot be kept exactly is refused (pipeline: Lossless JSON).

use indexmap::map::Entry;

use super::error::{Fault, ReadError, ReadErrorKind, Scanned};
use super::number::Number;
use super::scan::{Container, Quoted, Scanner};
use super::{Json, Object, RESERVED_MEMBERS};

/// Bounds of what the reader keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest text, in bytes.
    pub max_bytes: usize,
    /// Deepest nesting; the root container is level 1. Never more than [`Limits::DEEPEST`].
    pub max_depth: usize,
    /// Most digits of one number, those of its exponent included.
    pub max_digits: usize,
    /// Largest exponent as written, in either direction.
    pub max_exponent: u32,
}

impl Limits {
    /// No value is nested deeper than this whatever the limits say, so writing, comparing,
    /// cloning and dropping may recurse.
    pub const DEEPEST: usize = 128;
}

impl Default for Limits {
    /// 4 MiB, 128 levels, 1,000 digits, exponent 308.
    fn default() -> Self {
        Self {
            max_bytes: 4 * 1024 * 1024,
            max_depth: Self::DEEPEST,
            max_digits: 1_000,
            max_exponent: 308,
        }
    }
}

/// Reads a value of any kind.
pub(super) fn read(text: &[u8], limits: &Limits) -> Result<Json, ReadError> {
    let fault = match Reader::open(text, limits).and_then(Reader::whole) {
        Ok(value) => return Ok(value),
        Err(fault) => fault,
    };
    Err(fault.locate(text))
}

/// Reads an object.
pub(super) fn read_object(text: &[u8], limits: &Limits) -> Result<Object, ReadError> {
    match read(text, limits)? {
        Json::Object(members) => Ok(members),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
            Err(not_an_object(text))
        }
    }
}

/// Reads the `arguments` of a call from the raw text of that member.
pub(super) fn read_arguments(raw: Option<&[u8]>, limits: &Limits) -> Result<Object, ReadError> {
    let Some(raw) = raw else {
        return Ok(Object::new());
    };
    match read(raw, limits)? {
        Json::Object(members) => Ok(members),
        Json::Null => Ok(Object::new()),
        Json::String(written) => read_written(&written, limits),
        Json::Bool(_) | Json::Number(_) | Json::Array(_) => Err(not_an_object(raw)),
    }
}

/// Reads arguments as a model wrote them: JSON, or nothing at all.
fn read_written(written: &str, limits: &Limits) -> Result<Object, ReadError> {
    if trim_start(written).is_empty() {
        return Ok(Object::new());
    }
    match read(written.as_bytes(), limits)? {
        Json::Object(members) => Ok(members),
        Json::Null => Ok(Object::new()),
        // encoded twice: unwrapped once, and only around an object
        Json::String(inner) if trim_start(&inner).starts_with('{') => {
            read_object(inner.as_bytes(), limits)
        }
        Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
            Err(not_an_object(written.as_bytes()))
        }
    }
}

fn trim_start(text: &str) -> &str {
    text.trim_start_matches([' ', '\t', '\n', '\r'])
}

/// The refusal of a text that is JSON, but not an object.
pub(super) fn not_an_object(text: &[u8]) -> ReadError {
    let white = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    let start = text.iter().position(|byte| !white(byte)).unwrap_or(0);
    Fault::new(ReadErrorKind::RootNotObject, start).locate(text)
}

/// Recursive descent; the depth is bounded by [`Limits::DEEPEST`].
struct Reader<'t, 'l> {
    scan: Scanner<'t>,
    limits: &'l Limits,
    levels_left: usize,
}

impl<'t, 'l> Reader<'t, 'l> {
    fn open(text: &'t [u8], limits: &'l Limits) -> Scanned<Self> {
        if text.len() > limits.max_bytes {
            return Err(Fault::new(ReadErrorKind::TooLarge, limits.max_bytes));
        }
        let levels_left = limits.max_depth.min(Limits::DEEPEST);
        Ok(Self {
            scan: Scanner::open(text)?,
            limits,
            levels_left,
        })
    }

    fn whole(mut self) -> Scanned<Json> {
        let value = self.value()?;
        self.scan.end()?;
        Ok(value)
    }

    fn value(&mut self) -> Scanned<Json> {
        match self.scan.peek() {
            Some(b'"') => Ok(Json::String(self.scan.string()?.unescape()?)),
            Some(b'{') => Ok(Json::Object(self.object()?)),
            Some(b'[') => Ok(Json::Array(self.array()?)),
            Some(b'-' | b'0'..=b'9') => Ok(Json::Number(self.number()?)),
            Some(b't') => self.scan.word("true", "`true`").map(|()| Json::Bool(true)),
            Some(b'f') => self
                .scan
                .word("false", "`false`")
                .map(|()| Json::Bool(false)),
            Some(b'n') => self.scan.word("null", "`null`").map(|()| Json::Null),
            Some(_) | None => Err(self.scan.unexpected("a value")),
        }
    }

    fn number(&mut self) -> Scanned<Number> {
        let start = self.scan.at();
        let (text, shape) = self.scan.number()?;
        Number::judged(text, shape, self.limits).map_err(|kind| Fault::new(kind, start))
    }

    fn object(&mut self) -> Scanned<Object> {
        self.enter(b'{')?;
        let mut members = Object::new();
        let mut another = !self.scan.closes_empty(Container::Object);
        while another {
            let token = self.scan.name()?;
            let vacant = match members.entry(member_name(token)?) {
                Entry::Vacant(vacant) => vacant,
                Entry::Occupied(present) => return Err(duplicate(token.at, present.key())),
            };
            self.scan
                .colon()
                .map_err(|fault| fault.in_member(vacant.key()))?;
            let value = self
                .value()
                .map_err(|fault| fault.in_member(vacant.key()))?;
            vacant.insert(value);
            another = self.scan.another(Container::Object)?;
        }
        self.levels_left += 1;
        Ok(members)
    }

    fn array(&mut self) -> Scanned<Vec<Json>> {
        self.enter(b'[')?;
        let mut elements = Vec::new();
        let mut another = !self.scan.closes_empty(Container::Array);
        while another {
            let element = self
                .value()
                .map_err(|fault| fault.in_element(elements.len()))?;
            elements.push(element);
            another = self.scan.another(Container::Array)?;
        }
        self.levels_left += 1;
        Ok(elements)
    }

    fn enter(&mut self, bracket: u8) -> Scanned<()> {
        let Some(left) = self.levels_left.checked_sub(1) else {
            return Err(Fault::new(ReadErrorKind::TooDeep, self.scan.at()));
        };
        self.levels_left = left;
        self.scan.eat(bracket);
        Ok(())
    }
}

fn member_name(token: Quoted<'_>) -> Scanned<String> {
    let name = token.unescape()?;
    if RESERVED_MEMBERS.contains(&name.as_str()) {
        return Err(Fault::new(ReadErrorKind::ReservedMember, token.at).in_member(&name));
    }
    Ok(name)
}

/// The refusal of a member name at offset `at`, whose object already has a member `name`.
pub(super) fn duplicate(at: usize, name: &str) -> Fault {
    let kind = ReadErrorKind::DuplicateMember {
        name: name.to_owned(),
    };
    Fault::new(kind, at).in_member(name)
}
