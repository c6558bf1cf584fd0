//! Owns the tokens of RFC 8259: white space, punctuation, literals, strings and numbers.
//!
//! Imports [`super::error`] and [`super::number`]. Must not build values and must not judge what a
//! token means (duplicates, depth, surrogates, ranges): two readers share it, one that builds and
//! one that only checks.

use super::error::{Fault, ReadErrorKind, Scanned};
use super::number::{self, Shape};

/// A cursor over a text whose bytes are known to be UTF-8.
#[derive(Debug)]
pub(super) struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

/// A string token without its quotes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quoted<'t> {
    /// What stands between the quotes, escapes as written (and well formed).
    pub(super) inner: &'t str,
    /// Whether `inner` holds at least one escape.
    pub(super) escaped: bool,
    /// Offset of the opening quote.
    pub(super) at: usize,
}

/// The two kinds of container, by their closing bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    Object,
    Array,
}

impl<'t> Scanner<'t> {
    /// A cursor at the first byte of `bytes` that is not white space.
    ///
    /// Refuses what is not UTF-8 and a byte order mark.
    pub(super) fn open(bytes: &'t [u8]) -> Scanned<Self> {
        let text = std::str::from_utf8(bytes)
            .map_err(|cause| Fault::new(ReadErrorKind::InvalidUtf8, cause.valid_up_to()))?;
        let mut scanner = Self { text, at: 0 };
        if text.starts_with('\u{feff}') {
            return Err(scanner.unexpected("a value, not a byte order mark"));
        }
        scanner.skip_white();
        Ok(scanner)
    }

    /// Offset of the cursor.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The bytes from `start` to the cursor.
    pub(super) fn since(&self, start: usize) -> &'t str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// The byte under the cursor.
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Moves over white space.
    pub(super) fn skip_white(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// Moves over `byte` if it stands under the cursor.
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Moves over the `:` between a member's name and its value.
    pub(super) fn colon(&mut self) -> Scanned<()> {
        self.skip_white();
        if !self.eat(b':') {
            return Err(self.unexpected("`:` after a member name"));
        }
        self.skip_white();
        Ok(())
    }

    /// Moves over the closing bracket of a container that was just opened; false when it has
    /// content.
    pub(super) fn closes_empty(&mut self, container: Container) -> bool {
        self.skip_white();
        self.eat(container.closing())
    }

    /// Moves over what follows an element or member: a comma (true: another one must follow) or
    /// the closing bracket (false).
    pub(super) fn another(&mut self, container: Container) -> Scanned<bool> {
        self.skip_white();
        if self.eat(b',') {
            self.skip_white();
            return Ok(true);
        }
        if self.eat(container.closing()) {
            return Ok(false);
        }
        Err(self.unexpected(match container {
            Container::Object => "`,` or `}` in an object",
            Container::Array => "`,` or `]` in an array",
        }))
    }

    /// Moves over a member name.
    pub(super) fn name(&mut self) -> Scanned<Quoted<'t>> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("a member name in double quotes"));
        }
        self.string()
    }

    /// Moves over the string whose opening quote is under the cursor, checking its escapes.
    pub(super) fn string(&mut self) -> Scanned<Quoted<'t>> {
        let at = self.at;
        self.at += 1;
        let mut escaped = false;
        loop {
            self.at += plain_run(self.text.as_bytes().get(self.at..).unwrap_or_default());
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(_) => return Err(self.unexpected("control characters to be escaped")),
                None => return Err(self.unexpected("the closing quote of a string")),
            }
        }
        let inner = self.since(at + 1);
        self.at += 1;
        Ok(Quoted { inner, escaped, at })
    }

    fn escape(&mut self) -> Scanned<()> {
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 1;
                Ok(())
            }
            Some(b'u') => {
                self.at += 1;
                (0..4).try_for_each(|_| self.hexadecimal_digit())
            }
            Some(_) | None => Err(self.unexpected("an escape: one of \" \\ / b f n r t u")),
        }
    }

    fn hexadecimal_digit(&mut self) -> Scanned<()> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
            return Err(self.unexpected("four hexadecimal digits"));
        }
        self.at += 1;
        Ok(())
    }

    /// Moves over the number that starts under the cursor.
    pub(super) fn number(&mut self) -> Scanned<(&'t str, Shape)> {
        let start = self.at;
        let rest = self.text.as_bytes().get(start..).unwrap_or_default();
        let shape = number::scan(rest).map_err(|at| {
            self.at = start + at;
            self.unexpected("a digit")
        })?;
        self.at = start + shape.length;
        Ok((self.since(start), shape))
    }

    /// Moves over one of the three words of JSON.
    pub(super) fn word(&mut self, word: &'static str, quoted: &'static str) -> Scanned<()> {
        for byte in word.bytes() {
            if !self.eat(byte) {
                return Err(self.unexpected(quoted));
            }
        }
        Ok(())
    }

    /// Checks that nothing but white space is left.
    pub(super) fn end(&mut self) -> Scanned<()> {
        self.skip_white();
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.unexpected("nothing after the value")),
        }
    }

    /// The fault of meeting something else, or the end, where `expected` should be.
    pub(super) fn unexpected(&self, expected: &'static str) -> Fault {
        let kind = match self.peek() {
            Some(_) => ReadErrorKind::Syntax { expected },
            None => ReadErrorKind::UnexpectedEnd { expected },
        };
        Fault::new(kind, self.at)
    }
}

impl Container {
    fn closing(self) -> u8 {
        match self {
            Self::Object => b'}',
            Self::Array => b']',
        }
    }
}

impl Quoted<'_> {
    /// The characters the token stands for. Refuses a lone surrogate.
    pub(super) fn unescape(self) -> Scanned<String> {
        if !self.escaped {
            return Ok(self.inner.to_owned());
        }
        let mut characters = String::with_capacity(self.inner.len());
        let mut rest = self.inner;
        while let Some((plain, escape)) = rest.split_once('\\') {
            characters.push_str(plain);
            let Some((character, length)) = unescape_one(escape) else {
                let at = self.at + self.inner.len() - escape.len();
                return Err(Fault::new(ReadErrorKind::LoneSurrogate, at));
            };
            characters.push(character);
            rest = escape.get(length..).unwrap_or_default();
        }
        characters.push_str(rest);
        Ok(characters)
    }
}

/// The character of a well-formed escape (its backslash taken off) and the bytes it took; nothing
/// for half a surrogate pair.
fn unescape_one(escape: &str) -> Option<(char, usize)> {
    let character = match escape.as_bytes().first()? {
        b'u' => return unescape_unit(escape),
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        itself => char::from(*itself),
    };
    Some((character, 1))
}

fn unescape_unit(escape: &str) -> Option<(char, usize)> {
    let unit = |digits: &str| u32::from_str_radix(digits, 16).ok();
    let first = unit(escape.get(1..5)?)?;
    if let Some(character) = char::from_u32(first) {
        return Some((character, 5));
    }
    let second = unit(escape.get(5..)?.strip_prefix("\\u")?.get(..4)?)?;
    let is_pair = (0xd800..0xdc00).contains(&first) && (0xdc00..0xe000).contains(&second);
    let character = char::from_u32(0x1_0000 + ((first & 0x3ff) << 10) + (second & 0x3ff))?;
    is_pair.then_some((character, 11))
}

/// How many bytes at the front stand for themselves inside a JSON string: everything but quotes,
/// backslashes and control characters. Eight at a time.
pub(super) fn plain_run(bytes: &[u8]) -> usize {
    let (words, tail) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let special = special_bytes(u64::from_le_bytes(*word));
        if special != 0 {
            return index * 8 + special.trailing_zeros() as usize / 8;
        }
    }
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    words.len() * 8 + tail.iter().position(is_special).unwrap_or(tail.len())
}

/// The high bit of each byte that a JSON string must escape. Bits above the lowest set one may be
/// wrong (a borrow runs upwards), the lowest one is exact.
fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = ONES << 7;
    let below = |word: u64, bound: u8| word.wrapping_sub(ONES * u64::from(bound)) & !word;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (below(word, 0x20) | equal(b'"') | equal(b'\\')) & HIGH
}

#[cfg(test)]
mod tests {
    use super::plain_run;

    #[test]
    fn a_plain_run_ends_at_the_first_byte_that_needs_an_escape_wherever_it_stands() {
        for special in 0..=255_u8 {
            for at in 0..20 {
                for filler in [b' ', b'a', 0x7f, 0x80, 0xff, b'!', b'#', b'[', b']'] {
                    let mut bytes = vec![filler; 20];
                    bytes[at] = special;
                    let stops = matches!(special, b'"' | b'\\' | 0..0x20);
                    assert_eq!(
                        plain_run(&bytes),
                        if stops { at } else { 20 },
                        "{special} {at}"
                    );
                }
            }
        }
    }
}
