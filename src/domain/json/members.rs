//! Owns the first look at a request body: its top-level members as raw text.
//!
//! Imports its siblings only. Must not judge what is inside a member beyond its syntax: whether
//! nested content can be kept exactly is judged by whoever reads that member (protocol: Calls).

use indexmap::IndexMap;
use indexmap::map::Entry;

use super::error::{ReadError, Scanned};
use super::read::{duplicate, not_an_object};
use super::scan::{Container, Scanner};

/// The members of the object that `text` is, in order, each with the raw text of its value.
///
/// All of `text` is checked against the grammar of RFC 8259, without recursion, so any depth is
/// safe. Names are unescaped; the same name twice at this level is refused. Inside the values only
/// syntax is judged: depth, number ranges, duplicates and lone surrogates in there are not. The
/// pointer of an error names the top-level member in which it lies.
pub fn members(text: &[u8]) -> Result<Vec<(String, &[u8])>, ReadError> {
    let found = match split(text) {
        Ok(found) => found,
        Err(fault) => return Err(fault.locate(text)),
    };
    let found = found.ok_or_else(|| not_an_object(text))?;
    Ok(found
        .into_iter()
        .map(|(name, raw)| (name, raw.as_bytes()))
        .collect())
}

/// The members; nothing when the text is JSON of another kind.
fn split(text: &[u8]) -> Scanned<Option<IndexMap<String, &str>>> {
    let mut scan = Scanner::open(text)?;
    if scan.peek() != Some(b'{') {
        skip_value(&mut scan)?;
        scan.end()?;
        return Ok(None);
    }
    scan.eat(b'{');
    let mut found = IndexMap::new();
    let mut another = !scan.closes_empty(Container::Object);
    while another {
        let token = scan.name()?;
        let vacant = match found.entry(token.unescape()?) {
            Entry::Vacant(vacant) => vacant,
            Entry::Occupied(present) => return Err(duplicate(token, present.key())),
        };
        scan.colon()
            .map_err(|fault| fault.in_member(vacant.key()))?;
        let start = scan.at();
        skip_value(&mut scan).map_err(|fault| fault.in_member(vacant.key()))?;
        vacant.insert(scan.since(start));
        another = scan.another(Container::Object)?;
    }
    scan.end()?;
    Ok(Some(found))
}

/// Moves over one value of any depth. The containers that are open are kept on the heap, one byte
/// for each, so the cost is at most the length of the text again.
fn skip_value(scan: &mut Scanner<'_>) -> Scanned<()> {
    let mut open = Vec::new();
    loop {
        if let Some(container) = skip_token(scan)? {
            open.push(container);
            continue;
        }
        loop {
            let Some(container) = open.last() else {
                return Ok(());
            };
            if scan.another(*container)? {
                skip_name(scan, *container)?;
                break;
            }
            open.pop();
        }
    }
}

/// Moves over a value that holds no other, or into one that does.
fn skip_token(scan: &mut Scanner<'_>) -> Scanned<Option<Container>> {
    match scan.peek() {
        Some(b'{') => return skip_opening(scan, b'{', Container::Object),
        Some(b'[') => return skip_opening(scan, b'[', Container::Array),
        Some(b'"') => drop(scan.string()?),
        Some(b'-' | b'0'..=b'9') => drop(scan.number()?),
        Some(b't') => scan.word("true", "`true`")?,
        Some(b'f') => scan.word("false", "`false`")?,
        Some(b'n') => scan.word("null", "`null`")?,
        Some(_) | None => return Err(scan.unexpected("a value")),
    }
    Ok(None)
}

/// Moves to the first value inside a container, or over it when it is empty.
fn skip_opening(
    scan: &mut Scanner<'_>,
    bracket: u8,
    container: Container,
) -> Scanned<Option<Container>> {
    scan.eat(bracket);
    if scan.closes_empty(container) {
        return Ok(None);
    }
    skip_name(scan, container)?;
    Ok(Some(container))
}

fn skip_name(scan: &mut Scanner<'_>, container: Container) -> Scanned<()> {
    match container {
        Container::Array => Ok(()),
        Container::Object => {
            scan.name()?;
            scan.colon()
        }
    }
}
