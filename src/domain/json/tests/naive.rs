//! Owns the second implementation: a slow, obvious JSON parser over UTF-16 code units, and what
//! the specification says of its results, written without a look at the first one.
//!
//! Imports nothing. Must not share a line with what it checks.

/// A value that keeps everything, also what cannot be kept losslessly.
#[derive(Clone, Debug)]
pub(super) enum Naive {
    Word(&'static str),
    Number(String),
    String(Vec<u16>),
    Array(Vec<Naive>),
    Object(Vec<(Vec<u16>, Naive)>),
}

/// Parses by RFC 8259 alone; nothing when it is not JSON.
pub(super) fn parse(bytes: &[u8]) -> Option<Naive> {
    let characters: Vec<char> = std::str::from_utf8(bytes).ok()?.chars().collect();
    let mut parser = Parser { characters, at: 0 };
    parser.white();
    let value = parser.value()?;
    parser.white();
    (parser.at == parser.characters.len()).then_some(value)
}

struct Parser {
    characters: Vec<char>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        self.at += 1;
        self.characters.get(self.at - 1).copied()
    }

    fn white(&mut self) {
        while self.peek().is_some_and(|c| " \t\r\n".contains(c)) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Option<Naive> {
        match self.peek()? {
            '"' => self.string().map(Naive::String),
            '[' => self.array(),
            '{' => self.object(),
            'a'..='z' => self.word(),
            _ => self.number(),
        }
    }

    fn word(&mut self) -> Option<Naive> {
        let rest: String = self.characters[self.at..].iter().take(5).collect();
        let word = ["null", "true", "false"]
            .into_iter()
            .find(|word| rest.starts_with(word))?;
        self.at += word.len();
        Some(Naive::Word(word))
    }

    fn number(&mut self) -> Option<Naive> {
        let start = self.at;
        while self.peek().is_some_and(|c| "+-.0123456789eE".contains(c)) {
            self.at += 1;
        }
        let text: String = self.characters[start..self.at].iter().collect();
        is_number(&text).then_some(Naive::Number(text))
    }

    fn string(&mut self) -> Option<Vec<u16>> {
        let mut units = Vec::new();
        self.next().filter(|c| *c == '"')?;
        loop {
            match self.next()? {
                '"' => return Some(units),
                '\\' => units.push(self.escape()?),
                c if c < ' ' => return None,
                c => units.extend_from_slice(c.encode_utf16(&mut [0; 2])),
            }
        }
    }

    fn escape(&mut self) -> Option<u16> {
        Some(match self.next()? {
            'b' => 8,
            't' => 9,
            'n' => 10,
            'f' => 12,
            'r' => 13,
            'u' => {
                let mut unit = 0;
                for _ in 0..4 {
                    unit = unit * 16 + self.next()?.to_digit(16)?;
                }
                u16::try_from(unit).ok()?
            }
            c @ ('"' | '\\' | '/') => u16::try_from(u32::from(c)).ok()?,
            _ => return None,
        })
    }

    fn array(&mut self) -> Option<Naive> {
        let mut elements = Vec::new();
        self.next();
        self.white();
        if self.peek()? == ']' {
            self.next();
            return Some(Naive::Array(elements));
        }
        loop {
            self.white();
            elements.push(self.value()?);
            self.white();
            match self.next()? {
                ',' => {}
                ']' => return Some(Naive::Array(elements)),
                _ => return None,
            }
        }
    }

    fn object(&mut self) -> Option<Naive> {
        let mut members = Vec::new();
        self.next();
        self.white();
        if self.peek()? == '}' {
            self.next();
            return Some(Naive::Object(members));
        }
        loop {
            self.white();
            let name = self.string()?;
            self.white();
            self.next().filter(|c| *c == ':')?;
            self.white();
            members.push((name, self.value()?));
            self.white();
            match self.next()? {
                ',' => {}
                '}' => return Some(Naive::Object(members)),
                _ => return None,
            }
        }
    }
}

/// `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`
fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (integer, fraction) = match mantissa.split_once('.') {
        Some((integer, fraction)) => (integer, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let unsigned_exponent = |text: &str| text.strip_prefix(['+', '-']).unwrap_or(text).to_owned();
    digits(integer)
        && (integer == "0" || !integer.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|exponent| digits(&unsigned_exponent(exponent)))
}

impl Naive {
    /// Whether the value can be kept losslessly (pipeline: Lossless JSON), with room for `levels`.
    pub(super) fn is_lossless(&self, levels: usize) -> bool {
        match self {
            Self::Word(_) => true,
            Self::Number(text) => number_is_lossless(text),
            Self::String(units) => String::from_utf16(units).is_ok(),
            Self::Array(elements) => {
                levels > 0
                    && elements
                        .iter()
                        .all(|element| element.is_lossless(levels - 1))
            }
            Self::Object(members) => {
                let mut names: Vec<_> = members.iter().map(|(name, _)| name).collect();
                names.sort();
                names.dedup();
                levels > 0
                    && names.len() == members.len()
                    && members.iter().all(|(name, member)| {
                        String::from_utf16(name)
                            .is_ok_and(|name| !name.starts_with("$serde_json::private::"))
                            && member.is_lossless(levels - 1)
                    })
            }
        }
    }

    /// RFC 8785 with the text of numbers. Only for what is lossless.
    pub(super) fn canonical(&self) -> String {
        match self {
            Self::Word(word) => (*word).to_owned(),
            Self::Number(text) => text.clone(),
            Self::String(units) => quoted(units),
            Self::Array(elements) => {
                let elements: Vec<_> = elements.iter().map(Self::canonical).collect();
                format!("[{}]", elements.join(","))
            }
            Self::Object(members) => {
                let mut members = members.clone();
                members.sort_by(|(left, _), (right, _)| left.cmp(right));
                let member = |(name, member): &(Vec<u16>, Self)| {
                    format!("{}:{}", quoted(name), member.canonical())
                };
                let members: Vec<_> = members.iter().map(member).collect();
                format!("{{{}}}", members.join(","))
            }
        }
    }
}

fn number_is_lossless(text: &str) -> bool {
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let is_integer = text.chars().all(|c| c.is_ascii_digit() || c == '-');
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let is_zero = !mantissa.contains(|c: char| ('1'..='9').contains(&c));
    let value: f64 = text.parse().unwrap();
    let exponent: f64 = exponent.parse().unwrap();
    digits <= 1_000
        && exponent.abs() <= 308.0
        && (is_integer || (value.is_finite() && (is_zero || value != 0.0)))
}

fn quoted(units: &[u16]) -> String {
    let mut text = String::from('"');
    for c in String::from_utf16(units).unwrap().chars() {
        match c {
            '"' => text += "\\\"",
            '\\' => text += "\\\\",
            '\u{8}' => text += "\\b",
            '\t' => text += "\\t",
            '\n' => text += "\\n",
            '\u{c}' => text += "\\f",
            '\r' => text += "\\r",
            c if c < ' ' => text.extend(format!("\\u{:04x}", u32::from(c)).chars()),
            c => text.push(c),
        }
    }
    text + "\""
}
