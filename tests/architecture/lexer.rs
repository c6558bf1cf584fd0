//! Rust text → words and marks, with their lines.
//!
//! Comments, strings and character literals carry no architecture, so they vanish here; what is left
//! can be searched without being fooled by prose. Imports nothing. It does not parse items and never
//! judges: see `paths` and `rules`.

/// One thing that is left of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An identifier or keyword; `r#x` reads as `x`.
    Word(String),
    /// `::`
    PathSep,
    /// Any other single character of punctuation.
    Mark(char),
    /// A string, character or number: its text does not matter.
    Literal,
}

/// A kind and the line (from 1) it starts on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) line: usize,
}

impl Token {
    pub(crate) fn word(&self) -> Option<&str> {
        match &self.kind {
            Kind::Word(word) => Some(word),
            Kind::PathSep | Kind::Mark(_) | Kind::Literal => None,
        }
    }

    pub(crate) fn is(&self, mark: char) -> bool {
        self.kind == Kind::Mark(mark)
    }
}

/// Reads a whole file. Text that is not Rust gives tokens all the same, only not useful ones.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let mut lexer = Lexer {
        text: text.chars().collect(),
        at: 0,
        line: 1,
        out: Vec::new(),
    };
    while lexer.step() {}
    lexer.out
}

struct Lexer {
    text: Vec<char>,
    at: usize,
    line: usize,
    out: Vec<Token>,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    fn bump(&mut self) -> Option<char> {
        let next = self.peek(0)?;
        self.at += 1;
        self.line += usize::from(next == '\n');
        Some(next)
    }

    /// How many `#` stand next.
    fn hashes(&self) -> usize {
        self.text
            .iter()
            .skip(self.at)
            .take_while(|c| **c == '#')
            .count()
    }

    fn skip_while(&mut self, keep: impl Fn(char) -> bool) {
        while self.peek(0).is_some_and(&keep) {
            self.bump();
        }
    }

    /// Takes one token or one gap; false at the end of the text.
    fn step(&mut self) -> bool {
        let Some(next) = self.peek(0) else {
            return false;
        };
        let line = self.line;
        match (next, self.peek(1)) {
            (gap, _) if gap.is_whitespace() => self.skip_while(char::is_whitespace),
            ('/', Some('/')) => self.skip_while(|c| c != '\n'),
            ('/', Some('*')) => self.block_comment(),
            ('"', _) => self.literal(line, |lexer| lexer.quoted('"')),
            ('\'', _) => self.quote(line),
            (':', Some(':')) => {
                self.bump();
                self.bump();
                self.push(Kind::PathSep, line);
            }
            (digit, _) if digit.is_ascii_digit() => self.literal(line, Self::number),
            (start, _) if start == '_' || start.is_alphabetic() => self.word(line),
            (mark, _) => {
                self.bump();
                self.push(Kind::Mark(mark), line);
            }
        }
        true
    }

    fn push(&mut self, kind: Kind, line: usize) {
        self.out.push(Token { kind, line });
    }

    fn literal(&mut self, line: usize, read: impl FnOnce(&mut Self)) {
        read(self);
        self.push(Kind::Literal, line);
    }

    fn block_comment(&mut self) {
        let mut depth = 0_usize;
        while let Some(next) = self.bump() {
            match (next, self.peek(0)) {
                ('/', Some('*')) => {
                    self.bump();
                    depth += 1;
                }
                ('*', Some('/')) => {
                    self.bump();
                    depth -= 1;
                    if depth == 0 {
                        return;
                    }
                }
                _ => {}
            }
        }
    }

    /// From an opening quote to its unescaped twin.
    fn quoted(&mut self, close: char) {
        self.bump();
        while let Some(next) = self.bump() {
            if next == '\\' {
                self.bump();
            } else if next == close {
                return;
            }
        }
    }

    /// `'a'` and `'\n'` are literals, `'a` is a lifetime and says nothing here.
    fn quote(&mut self, line: usize) {
        let is_char = self.peek(1) == Some('\\') || self.peek(2) == Some('\'');
        if is_char {
            self.literal(line, |lexer| lexer.quoted('\''));
        } else {
            self.bump();
            self.skip_while(is_word);
        }
    }

    fn number(&mut self) {
        self.skip_while(is_word);
        if self.peek(0) == Some('.') && self.peek(1).is_some_and(|c| c.is_ascii_digit()) {
            self.bump();
            self.skip_while(is_word);
        }
    }

    fn word(&mut self, line: usize) {
        let start = self.at;
        self.skip_while(is_word);
        let word: String = self.text.iter().take(self.at).skip(start).collect();
        let prefix = matches!(word.as_str(), "r" | "b" | "c" | "br" | "cr");
        match self.peek(0) {
            Some('"') if prefix && word.ends_with('r') => self.literal(line, Self::raw_string),
            Some('"') if prefix => self.literal(line, |lexer| lexer.quoted('"')),
            Some('\'') if word == "b" => self.literal(line, |lexer| lexer.quoted('\'')),
            Some('#') if prefix && word.ends_with('r') => self.hash_after_prefix(word, line),
            _ => self.push(Kind::Word(word), line),
        }
    }

    /// `r#"…"#` is a string, `r#type` a word, and `r #[…]` of a macro pattern stays what it is.
    fn hash_after_prefix(&mut self, word: String, line: usize) {
        let hashes = self.hashes();
        if self.peek(hashes) == Some('"') {
            self.literal(line, Self::raw_string);
        } else if word == "r" && self.peek(1).is_some_and(is_word) {
            self.bump();
            self.word(line);
        } else {
            self.push(Kind::Word(word), line);
        }
    }

    fn raw_string(&mut self) {
        let hashes = self.hashes();
        for _ in 0..=hashes {
            self.bump();
        }
        while let Some(next) = self.bump() {
            let closes = (0..hashes).all(|ahead| self.peek(ahead) == Some('#'));
            if next == '"' && closes {
                for _ in 0..hashes {
                    self.bump();
                }
                return;
            }
        }
    }
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}
