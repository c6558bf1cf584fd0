//! Owns how values become text: compact, pretty and canonical.
//!
//! Imports [`Json`] and the string scanner. Must not change a value: member order is kept (the
//! canonical form apart) and a number is written as its text. Recursion is bounded by the depth of
//! values ([`super::Limits::DEEPEST`]).

use std::cmp::Ordering;

use super::scan::plain_run;
use super::{Json, Object};

/// Where text goes. What is put is always whole characters, so a `String` needs no second check.
pub(super) trait Sink {
    fn put(&mut self, text: &str);
}

impl Sink for Vec<u8> {
    fn put(&mut self, text: &str) {
        self.extend_from_slice(text.as_bytes());
    }
}

impl Sink for String {
    fn put(&mut self, text: &str) {
        self.push_str(text);
    }
}

/// Writes `text` as a JSON string with its quotes, escaping only what RFC 8259 demands.
///
/// Line ends and all other control characters are escaped, so the result is always one line, also
/// for server-sent events; everything beyond ASCII stands for itself.
pub fn escape_into(out: &mut Vec<u8>, text: &str) {
    string(text, out);
}

/// Writes `text` as a JSON string.
pub(super) fn string(text: &str, out: &mut impl Sink) {
    out.put("\"");
    let mut rest = text;
    loop {
        // the byte after a plain run is ASCII, so both cuts are between characters
        let (plain, special) = rest.split_at(plain_run(rest.as_bytes()));
        out.put(plain);
        let Some(byte) = special.bytes().next() else {
            break;
        };
        escape(byte, out);
        rest = special.get(1..).unwrap_or_default();
    }
    out.put("\"");
}

fn escape(byte: u8, out: &mut impl Sink) {
    match byte {
        b'"' => out.put("\\\""),
        b'\\' => out.put("\\\\"),
        b'\n' => out.put("\\n"),
        b'\r' => out.put("\\r"),
        b'\t' => out.put("\\t"),
        0x08 => out.put("\\b"),
        0x0c => out.put("\\f"),
        control => out.put(&format!("\\u{control:04x}")),
    }
}

/// A name or pointer for a message: escaped, and cut when it is long.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 64;
    let end = text
        .char_indices()
        .nth(LONGEST)
        .map_or(text.len(), |(end, _)| end);
    let (start, rest) = text.split_at(end);
    let mut escaped = String::new();
    string(start, &mut escaped);
    let inner = escaped.get(1..escaped.len() - 1).unwrap_or_default();
    if rest.is_empty() {
        inner.to_owned()
    } else {
        format!("{inner}…")
    }
}

/// Compact: no white space, members in their order.
pub(super) fn compact<S: Sink>(value: &Json, out: &mut S) {
    match value {
        Json::Null => out.put("null"),
        Json::Bool(true) => out.put("true"),
        Json::Bool(false) => out.put("false"),
        Json::Number(number) => out.put(number.as_str()),
        Json::String(text) => string(text, out),
        Json::Array(elements) => array(elements, compact, out),
        Json::Object(members) => compact_object(members, out),
    }
}

/// Compact, for an object that is not wrapped in a [`Json`].
pub(super) fn compact_object<S: Sink>(members: &Object, out: &mut S) {
    object(members.iter(), compact, out);
}

fn array<S: Sink>(elements: &[Json], each: fn(&Json, &mut S), out: &mut S) {
    out.put("[");
    for (index, element) in elements.iter().enumerate() {
        if index > 0 {
            out.put(",");
        }
        each(element, out);
    }
    out.put("]");
}

fn object<'j, S: Sink>(
    members: impl Iterator<Item = (&'j String, &'j Json)>,
    each: fn(&Json, &mut S),
    out: &mut S,
) {
    out.put("{");
    for (index, (name, member)) in members.enumerate() {
        if index > 0 {
            out.put(",");
        }
        string(name, out);
        out.put(":");
        each(member, out);
    }
    out.put("}");
}

/// Two spaces per level, one element or member per line.
pub(super) fn pretty(value: &Json, level: usize, out: &mut impl Sink) {
    match value {
        Json::Array(elements) if !elements.is_empty() => {
            let mut separator = "[";
            for element in elements {
                out.put(separator);
                line(level + 1, out);
                pretty(element, level + 1, out);
                separator = ",";
            }
            line(level, out);
            out.put("]");
        }
        Json::Object(members) if !members.is_empty() => {
            let mut separator = "{";
            for (name, member) in members {
                out.put(separator);
                line(level + 1, out);
                string(name, out);
                out.put(": ");
                pretty(member, level + 1, out);
                separator = ",";
            }
            line(level, out);
            out.put("}");
        }
        Json::Array(_)
        | Json::Object(_)
        | Json::Null
        | Json::Bool(_)
        | Json::Number(_)
        | Json::String(_) => compact(value, out),
    }
}

fn line(level: usize, out: &mut impl Sink) {
    out.put("\n");
    for _ in 0..level {
        out.put("  ");
    }
}

/// The form of RFC 8785, but with the exact text of numbers.
pub(super) fn canonical<S: Sink>(value: &Json, out: &mut S) {
    match value {
        Json::Array(elements) => array(elements, canonical, out),
        Json::Object(members) => canonical_object(members, out),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => compact(value, out),
    }
}

/// Canonical, for an object that is not wrapped in a [`Json`].
pub(super) fn canonical_object<S: Sink>(members: &Object, out: &mut S) {
    if members
        .keys()
        .is_sorted_by(|left, right| utf16_order(left, right).is_lt())
    {
        return object(members.iter(), canonical, out);
    }
    let mut sorted: Vec<_> = members.iter().collect();
    sorted.sort_unstable_by(|(left, _), (right, _)| utf16_order(left, right));
    object(sorted.into_iter(), canonical, out);
}

/// The order of the UTF-16 forms of two strings, found in their UTF-8 forms: the two agree but for
/// characters beyond U+FFFF, whose surrogates sort before U+E000.
fn utf16_order(left: &str, right: &str) -> Ordering {
    let rank = |byte: u8| match byte {
        0xee | 0xef => byte + 0x10,
        other => other,
    };
    let differing = left
        .bytes()
        .zip(right.bytes())
        .find(|(left, right)| left != right);
    match differing {
        Some((left, right)) => rank(left).cmp(&rank(right)),
        None => left.len().cmp(&right.len()),
    }
}
