//! Owns the first look at a request body: its top-level members as raw text.
//!
//! Imports its siblings only. Must not judge what is inside a member beyond its syntax: whether
//! nested content can be kept exactly is judged by whoever reads that member (proto-docs/lifecycle.md).

use super::error::{ReadError, Scanned};
use super::read::{duplicate, not_an_object};
use super::scan::{Container, Scanner};

/// The members of the object that `text` is, in order, each with the raw text of its value.
///
/// All of `text` is checked against the grammar of RFC 8259, without recursion, so any depth is
/// safe. Names are unescaped; the same name twice at this level is refused, once the rest is known
/// to be JSON. Inside the values only syntax is judged: depth, number ranges, duplicates and lone
/// surrogates in there are not. The pointer of an error names the top-level member in which it
/// lies.
pub fn members(text: &[u8]) -> Result<Vec<(String, &[u8])>, ReadError> {
    let found = match split(text) {
        Ok(found) => found,
        Err(fault) => return Err(fault.locate(text)),
    };
    found.ok_or_else(|| not_an_object(text))
}

/// A top-level member: its name and the raw text of its value.
type Member<'t> = (String, &'t [u8]);

/// The members; nothing when the text is JSON of another kind.
fn split(text: &[u8]) -> Scanned<Option<Vec<Member<'_>>>> {
    let mut scan = Scanner::open(text)?;
    if scan.peek() != Some(b'{') {
        skip_value(&mut scan)?;
        scan.end()?;
        return Ok(None);
    }
    scan.eat(b'{');
    let (mut found, mut places) = (Vec::new(), Vec::new());
    let mut another = !scan.closes_empty(Container::Object);
    while another {
        let token = scan.name()?;
        let name = token.unescape()?;
        scan.colon().map_err(|fault| fault.in_member(&name))?;
        let start = scan.at();
        skip_value(&mut scan).map_err(|fault| fault.in_member(&name))?;
        found.push((name, scan.since(start).as_bytes()));
        places.push(token.at);
        another = scan.another(Container::Object)?;
    }
    scan.end()?;
    refuse_duplicates(&found, &places)?;
    Ok(Some(found))
}

/// Refuses the first name that stands twice; `places` are the offsets of the names.
fn refuse_duplicates(found: &[Member<'_>], places: &[usize]) -> Scanned<()> {
    let names = found.iter().map(|(name, _)| name.as_str());
    let mut sorted: Vec<(&str, usize)> = names.zip(places.iter().copied()).collect();
    sorted.sort_unstable();
    let repeated = sorted.windows(2).filter_map(|pair| match pair {
        [(before, _), (name, place)] if before == name => Some((*place, *name)),
        _ => None,
    });
    match repeated.min() {
        Some((place, name)) => Err(duplicate(place, name)),
        None => Ok(()),
    }
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
