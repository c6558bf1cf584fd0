//! Header values that are lists: splitting that respects quoted strings (RFC 9110 §5.6).
//!
//! Pure; imports nothing of ours. Knows no header's meaning.

/// The parts of a list between `separator`s that stand outside quotes, trimmed, empty ones left
/// out.
pub(crate) fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    let mut escaped = false;
    text.split(move |c: char| {
        let breaks = c == separator && !quoted;
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ => {}
        }
        breaks
    })
    .map(str::trim)
    .filter(|part| !part.is_empty())
}

/// `name=value` with the quotes around the value taken off; the value is empty when there is none.
pub(crate) fn pair(text: &str) -> (&str, &str) {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let value = value.trim();
    let bare = value
        .strip_prefix('"')
        .and_then(|v| v.strip_suffix('"'))
        .unwrap_or(value);
    (name.trim(), bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_inside_quotes_do_not_split() {
        let parts = |text| split(text, ',').collect::<Vec<_>>();
        assert_eq!(parts("a, b;c=\"x,y\" ,,d"), ["a", "b;c=\"x,y\"", "d"]);
        assert_eq!(parts(r#"a="q\",r", b"#), [r#"a="q\",r""#, "b"]);
        assert_eq!(parts("\"never closed, b"), ["\"never closed, b"]);
        assert!(parts(" , ,").is_empty());
    }

    #[test]
    fn pairs_lose_their_quotes() {
        assert_eq!(pair("wait = \"10\""), ("wait", "10"));
        assert_eq!(pair("respond-async"), ("respond-async", ""));
        assert_eq!(pair("a=\""), ("a", "\""));
    }
}
