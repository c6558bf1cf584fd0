//! From what was typed to what it means, one value at a time.
//!
//! Imports `raw`, `checked`. Each reader answers with the value or with what was expected instead;
//! none of them reads a file.

use std::{
    net::SocketAddr,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    time::Duration,
};

use bytesize::ByteSize;
use globset::{Glob, GlobMatcher};

use super::{
    authority::{Authority, Scheme},
    checked::{Durability, Permission},
    problem::suggestion,
    raw::{Node, Value},
};
use crate::domain::ApprovalPolicy;

type Read<T> = Result<T, String>;

/// A string.
pub(super) fn text(node: &Node) -> Read<&str> {
    expect_text(node, "a string")
}

fn expect_text<'n>(node: &'n Node, expected: &str) -> Read<&'n str> {
    match &node.value {
        Value::Text(text) | Value::String(text) => Ok(text),
        Value::Integer(_) | Value::List(_) | Value::Table(_) | Value::Other(_) => {
            Err(format!("expected {expected}, found {}", node.value.kind()))
        }
    }
}

/// An IP address with a port.
pub(super) fn address(node: &Node) -> Read<SocketAddr> {
    let expected = "an IP address and a port such as \"127.0.0.1:7878\"";
    let text = expect_text(node, expected)?;
    text.parse().map_err(|_| not_expected(expected, text))
}

/// A path, not yet made absolute.
pub(super) fn path(node: &Node) -> Read<&Path> {
    let text = expect_text(node, "a path")?;
    if text.is_empty() || text.contains('\0') {
        return Err(not_expected("a path", text));
    }
    Ok(Path::new(text))
}

/// A number of bytes.
pub(super) fn size(node: &Node, within: RangeInclusive<u64>) -> Read<usize> {
    let expected = "a size such as \"4MiB\"";
    let text = expect_text(node, expected)?;
    let size: ByteSize = text.parse().map_err(|_| not_expected(expected, text))?;
    let shown = |bytes: &u64| ByteSize(*bytes).display().iec().to_string();
    in_range(size.as_u64(), &within, shown).and_then(|bytes| {
        usize::try_from(bytes).map_err(|_| not_expected("a size that fits into memory", text))
    })
}

/// A span of time.
pub(super) fn duration(node: &Node, within: RangeInclusive<Duration>) -> Read<Duration> {
    let expected = "a duration such as \"30s\" or \"10m\"";
    let text = expect_text(node, expected)?;
    let duration = humantime::parse_duration(text).map_err(|_| not_expected(expected, text))?;
    in_range(duration, &within, |bound| {
        humantime::format_duration(*bound).to_string()
    })
}

/// A whole number.
pub(super) fn count(node: &Node, within: RangeInclusive<usize>) -> Read<usize> {
    let expected = "a whole number";
    let number = match &node.value {
        Value::Integer(number) => usize::try_from(*number).map_err(|_| number.to_string()),
        Value::Text(text) => text.trim().parse().map_err(|_| text.clone()),
        Value::String(_) | Value::List(_) | Value::Table(_) | Value::Other(_) => {
            return Err(format!("expected {expected}, found {}", node.value.kind()));
        }
    };
    let out_of_range = |found: String| {
        format!(
            "expected {expected} from {} to {}, this is {found}",
            within.start(),
            within.end()
        )
    };
    in_range(number.map_err(out_of_range)?, &within, ToString::to_string)
}

/// A glob over whole names or relative paths, in globset's syntax.
pub(super) fn glob(node: &Node) -> Read<GlobMatcher> {
    compiled(expect_text(node, "a glob")?)
}

fn compiled(text: &str) -> Read<GlobMatcher> {
    if text.is_empty() {
        return Err("an empty glob matches nothing; remove it".to_owned());
    }
    let glob = Glob::new(text).map_err(|error| format!("{text:?} is no glob: {}", error.kind()))?;
    Ok(glob.compile_matcher())
}

/// A glob over the names of agents, as a token's `agents` lists them, checked.
///
/// # Errors
/// Why it is none.
pub fn agent_glob(text: &str) -> Result<String, String> {
    compiled(text).map(|matcher| matcher.glob().glob().to_owned())
}

/// A glob that is only checked here, and compiled where it is used.
pub(super) fn glob_text(node: &Node) -> Read<String> {
    glob(node).map(|matcher| matcher.glob().glob().to_owned())
}

/// A glob over paths below the workspace root, checked.
pub(super) fn path_glob(node: &Node) -> Read<String> {
    let text = glob_text(node)?;
    let is_odd = |part: &str| matches!(part, "" | "." | "..");
    if text.split('/').any(is_odd) {
        return Err(format!(
            "{text:?} matches no path: paths are as \"a/b\", relative to the root; write neither \
             \"/\" at an end nor \".\" or \"..\" (\"secrets/**\" is all below secrets)"
        ));
    }
    Ok(text)
}

/// A host name as browsers and clients send it, with or without a port.
pub(super) fn host(node: &Node) -> Read<String> {
    let expected = "a host name such as \"tools.example\"";
    let text = expect_text(node, expected)?;
    match Authority::parse(text) {
        Some(_) => Ok(text.to_owned()),
        None => Err(not_expected(expected, text)),
    }
}

/// An origin as browsers send it: scheme, host and perhaps a port, nothing behind it.
pub(super) fn origin(node: &Node) -> Read<String> {
    let expected = "an origin such as \"https://tools.example\"";
    let text = expect_text(node, expected)?;
    let parts = Scheme::split(text)
        .and_then(|(scheme, rest)| Some((scheme, Authority::parse(rest.trim_end_matches('/'))?)));
    match parts {
        None => Err(not_expected(expected, text)),
        Some((scheme, authority)) if authority.port() == Some(scheme.port()) => Err(format!(
            "{text:?} is no origin that a browser sends: leave the usual port out"
        )),
        Some(_) => Ok(text.to_owned()),
    }
}

/// The database file of `sqlite:PATH`, not yet made absolute.
pub(super) fn store_url(node: &Node) -> Read<PathBuf> {
    let expected = "\"sqlite:PATH\"";
    let text = expect_text(node, expected)?;
    if text.starts_with("postgres://") || text.starts_with("postgresql://") {
        // The rest of such an address holds a password.
        return Err(format!(
            "postgres:// is not available in this version of toold; use {expected}"
        ));
    }
    let path = text
        .strip_prefix("sqlite:")
        .ok_or_else(|| not_expected(expected, text))?;
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() || path == ":memory:" || path.contains(['\0', '?']) {
        return Err(not_expected(
            "\"sqlite:PATH\" with the path of a file",
            text,
        ));
    }
    Ok(PathBuf::from(path))
}

/// What a record survives.
pub(super) fn durability(node: &Node) -> Read<Durability> {
    one_of(
        node,
        &Durability::ALL.map(|durability| (durability.as_str(), durability)),
    )
}

/// Whether a person may be asked.
pub(super) fn approval_policy(node: &Node) -> Read<ApprovalPolicy> {
    let all = [ApprovalPolicy::Ask, ApprovalPolicy::Never];
    one_of(node, &all.map(|policy| (policy.as_str(), policy)))
}

/// One permission.
pub(super) fn permission(node: &Node) -> Read<Permission> {
    let all: Vec<_> = Permission::ALL.iter().map(|p| (p.as_str(), *p)).collect();
    one_of(node, &all)
}

/// One of a few words.
pub(super) fn one_of<T: Copy>(node: &Node, words: &[(&str, T)]) -> Read<T> {
    let quoted = words
        .iter()
        .map(|(word, _)| format!("\"{word}\""))
        .collect::<Vec<_>>();
    let expected = match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    };
    let text = expect_text(node, &expected)?;
    words
        .iter()
        .find(|(word, _)| *word == text)
        .map(|(_, value)| *value)
        .ok_or_else(|| {
            let near = suggestion(text, words.iter().map(|(word, _)| *word));
            format!("{}{near}", not_expected(&expected, text))
        })
}

/// The SHA-256 of a token in hexadecimal.
pub(super) fn sha256(node: &Node) -> Read<[u8; 32]> {
    let expected =
        "the SHA-256 of the token: 64 hexadecimal digits, as `toold token new` prints it";
    let text = expect_text(node, expected)?;
    // Not shown: whoever takes one for the other has written the token itself here.
    parse_hex(text).ok_or_else(|| format!("expected {expected}"))
}

fn parse_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * i..2 * i + 2)?, 16).ok()?;
    }
    Some(bytes)
}

fn not_expected(expected: &str, found: &str) -> String {
    const SHOWN: usize = 80;
    let start: String = found.chars().take(SHOWN).collect();
    let rest = if start.len() < found.len() { "…" } else { "" };
    format!("expected {expected}, this is {start:?}{rest}")
}

fn in_range<T: PartialOrd>(
    value: T,
    within: &RangeInclusive<T>,
    show: impl Fn(&T) -> String,
) -> Read<T> {
    if within.contains(&value) {
        return Ok(value);
    }
    let [low, high, found] = [within.start(), within.end(), &value].map(show);
    Err(format!("must be from {low} to {high}, this is {found}"))
}
