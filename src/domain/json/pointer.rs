//! Owns JSON pointers (RFC 6901): how a step is written, and following one into a value.
//!
//! Imports its siblings only. Must not know why anybody points.

use super::Json;
use super::write::shown;

/// Puts the step `name` in front of `pointer`.
pub(super) fn prepend(pointer: &mut String, name: &str) {
    pointer.insert_str(0, &escape(name));
    pointer.insert(0, '/');
}

/// Appends the step `name` to `pointer`.
pub(super) fn append(pointer: &mut String, name: &str) {
    pointer.push('/');
    pointer.push_str(&escape(name));
}

/// Follows `pointer` from `root`; nothing when a step leads nowhere or the pointer is malformed.
pub(super) fn follow<'j>(root: &'j Json, pointer: &str) -> Option<&'j Json> {
    if pointer.is_empty() {
        return Some(root);
    }
    pointer
        .strip_prefix('/')?
        .split('/')
        .try_fold(root, |value, step| {
            // `~1` before `~0`, so that `~01` is `~1` and not `/` (RFC 6901, section 4)
            self::step(value, &step.replace("~1", "/").replace("~0", "~"))
        })
}

/// One unescaped step down from `value`.
pub(super) fn step<'j>(value: &'j Json, name: &str) -> Option<&'j Json> {
    match value {
        Json::Object(members) => members.get(name),
        Json::Array(elements) => elements.get(index(name)?),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => None,
    }
}

/// What a message about the value at `pointer` opens with; nothing for the root.
pub(super) fn lead(pointer: &str) -> String {
    if pointer.is_empty() {
        String::new()
    } else {
        format!("{}: ", shown(pointer))
    }
}

fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn index(name: &str) -> Option<usize> {
    let canonical = name == "0" || !name.starts_with(['0', '+']);
    canonical.then(|| name.parse().ok()).flatten()
}
