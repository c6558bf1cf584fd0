//! Owns the one-pass encoder: JSON straight into a buffer, without a value in between.
//!
//! Imports its siblings only. Must not check names: the caller writes each name of an object once.

use super::write::{compact, compact_object, string};
use super::{Json, Object};

/// Writes the members of one object into a buffer, in the order of the calls.
///
/// ```
/// use toold::domain::json::ObjectWriter;
///
/// let mut out = Vec::new();
/// let mut event = ObjectWriter::new(&mut out);
/// event.string("type", "tool/state").number("seq", 7).decimal("ms", 1.9004);
/// event.nested("data", |data| {
///     data.array("open", |open| {
///         open.string("c1").string("c2");
///     });
/// });
/// event.end();
/// assert_eq!(out, br#"{"type":"tool/state","seq":7,"ms":1.9,"data":{"open":["c1","c2"]}}"#);
/// ```
#[derive(Debug)]
#[must_use = "the object is closed by `end`"]
pub struct ObjectWriter<'a> {
    out: &'a mut Vec<u8>,
    is_empty: bool,
}

impl<'a> ObjectWriter<'a> {
    /// Opens an object at the end of `out`.
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self {
            out,
            is_empty: true,
        }
    }

    /// Closes the object.
    pub fn end(self) {
        self.out.push(b'}');
    }

    /// A string member.
    pub fn string(&mut self, name: &str, text: &str) -> &mut Self {
        string(text, self.name(name));
        self
    }

    /// A string member, if there is a string.
    pub fn string_opt(&mut self, name: &str, text: Option<&str>) -> &mut Self {
        match text {
            Some(text) => self.string(name, text),
            None => self,
        }
    }

    /// A member whose value is already text; `json` must be one valid JSON value on one line.
    pub fn raw(&mut self, name: &str, json: &[u8]) -> &mut Self {
        self.name(name).extend_from_slice(json);
        self
    }

    /// A member of any value.
    pub fn json(&mut self, name: &str, value: &Json) -> &mut Self {
        compact(value, self.name(name));
        self
    }

    /// A member of any value, if there is one.
    pub fn json_opt(&mut self, name: &str, value: Option<&Json>) -> &mut Self {
        match value {
            Some(value) => self.json(name, value),
            None => self,
        }
    }

    /// An object member.
    pub fn object(&mut self, name: &str, members: &Object) -> &mut Self {
        compact_object(members, self.name(name));
        self
    }

    /// An integer member.
    pub fn number(&mut self, name: &str, value: u64) -> &mut Self {
        integer(value, self.name(name));
        self
    }

    /// An integer member, if there is an integer.
    pub fn number_opt(&mut self, name: &str, value: Option<u64>) -> &mut Self {
        match value {
            Some(value) => self.number(name, value),
            None => self,
        }
    }

    /// A number member rounded to three decimals, zeros at the end cut off; from 2^53 thousandths
    /// on to a whole number. What is not finite is written as `null`.
    pub fn decimal(&mut self, name: &str, value: f64) -> &mut Self {
        decimal(value, self.name(name));
        self
    }

    /// A boolean member.
    pub fn bool(&mut self, name: &str, value: bool) -> &mut Self {
        boolean(value, self.name(name));
        self
    }

    /// A `null` member.
    pub fn null(&mut self, name: &str) -> &mut Self {
        self.raw(name, b"null")
    }

    /// An array member with the elements that `write` writes.
    pub fn array(&mut self, name: &str, write: impl FnOnce(&mut ArrayWriter<'_>)) -> &mut Self {
        ArrayWriter::fill(self.name(name), write);
        self
    }

    /// An object member with the members that `write` writes.
    pub fn nested(&mut self, name: &str, write: impl FnOnce(&mut ObjectWriter<'_>)) -> &mut Self {
        ObjectWriter::fill(self.name(name), write);
        self
    }

    fn fill(out: &mut Vec<u8>, write: impl FnOnce(&mut ObjectWriter<'_>)) {
        let mut object = ObjectWriter::new(out);
        write(&mut object);
        object.end();
    }

    fn name(&mut self, name: &str) -> &mut Vec<u8> {
        if !self.is_empty {
            self.out.push(b',');
        }
        self.is_empty = false;
        string(name, self.out);
        self.out.push(b':');
        self.out
    }
}

/// Writes the elements of one array into a buffer, in the order of the calls.
#[derive(Debug)]
#[must_use = "the array is closed by `end`"]
pub struct ArrayWriter<'a> {
    out: &'a mut Vec<u8>,
    is_empty: bool,
}

impl<'a> ArrayWriter<'a> {
    /// Opens an array at the end of `out`.
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        out.push(b'[');
        Self {
            out,
            is_empty: true,
        }
    }

    /// Closes the array.
    pub fn end(self) {
        self.out.push(b']');
    }

    /// A string element.
    pub fn string(&mut self, text: &str) -> &mut Self {
        string(text, self.next());
        self
    }

    /// An element that is already text; `json` must be one valid JSON value on one line.
    pub fn raw(&mut self, json: &[u8]) -> &mut Self {
        self.next().extend_from_slice(json);
        self
    }

    /// An element of any value.
    pub fn json(&mut self, value: &Json) -> &mut Self {
        compact(value, self.next());
        self
    }

    /// An integer element.
    pub fn number(&mut self, value: u64) -> &mut Self {
        integer(value, self.next());
        self
    }

    /// A boolean element.
    pub fn bool(&mut self, value: bool) -> &mut Self {
        boolean(value, self.next());
        self
    }

    /// An object element with the members that `write` writes.
    pub fn nested(&mut self, write: impl FnOnce(&mut ObjectWriter<'_>)) -> &mut Self {
        ObjectWriter::fill(self.next(), write);
        self
    }

    /// An array element with the elements that `write` writes.
    pub fn array(&mut self, write: impl FnOnce(&mut ArrayWriter<'_>)) -> &mut Self {
        ArrayWriter::fill(self.next(), write);
        self
    }

    fn fill(out: &mut Vec<u8>, write: impl FnOnce(&mut ArrayWriter<'_>)) {
        let mut array = ArrayWriter::new(out);
        write(&mut array);
        array.end();
    }

    fn next(&mut self) -> &mut Vec<u8> {
        if !self.is_empty {
            self.out.push(b',');
        }
        self.is_empty = false;
        self.out
    }
}

fn boolean(value: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

/// Digits from the last to the first, then turned around: no formatter on the hot path.
fn integer(mut value: u64, out: &mut Vec<u8>) {
    let start = out.len();
    loop {
        out.push(b'0' + (value % 10) as u8);
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.get_mut(start..).unwrap_or_default().reverse();
}

fn decimal(value: f64, out: &mut Vec<u8>) {
    const FIRST_INEXACT: f64 = 9_007_199_254_740_992.0;
    let thousandths = (value.abs() * 1_000.0).round();
    if thousandths < FIRST_INEXACT {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a whole number from 0 to 2^53"
        )]
        let thousandths = thousandths as u64;
        if value < 0.0 && thousandths > 0 {
            out.push(b'-');
        }
        integer(thousandths / 1_000, out);
        fraction(thousandths % 1_000, out);
    } else if value.is_finite() {
        out.extend_from_slice(format!("{value:.0}").as_bytes());
    } else {
        out.extend_from_slice(b"null");
    }
}

fn fraction(thousandths: u64, out: &mut Vec<u8>) {
    if thousandths == 0 {
        return;
    }
    out.push(b'.');
    let mut rest = thousandths;
    for place in [100, 10, 1] {
        if rest > 0 {
            integer(rest / place, out);
        }
        rest %= place;
    }
}
