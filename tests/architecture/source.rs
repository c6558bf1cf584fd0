//! One source file: its text, its tokens, and where its modules begin and end.
//!
//! Builds on `lexer`. Knows what a module path and a `#[cfg(test)]` are; knows no rule.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;

use crate::lexer::{Token, tokens};

/// A file as the rules see it.
#[derive(Debug)]
pub(crate) struct Source {
    /// Relative to the package, with `/`: `src/http/calls.rs`.
    pub(crate) file: String,
    pub(crate) text: String,
    pub(crate) tokens: Vec<Token>,
    /// `["http", "calls"]`; empty for `lib.rs` and `main.rs`.
    pub(crate) module: Vec<String>,
    /// `mod name { … }` inside this file, outermost first.
    pub(crate) inline: Vec<Inline>,
}

/// A module written inside another one's file.
#[derive(Debug)]
pub(crate) struct Inline {
    pub(crate) name: String,
    /// The tokens between its braces.
    pub(crate) body: Range<usize>,
    pub(crate) compiled: Compiled,
}

/// When a module is part of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compiled {
    Always,
    ForTests,
}

impl Source {
    pub(crate) fn new(file: &str, text: &str) -> Self {
        let tokens = tokens(text);
        let inline = inline_modules(&tokens);
        Self {
            file: file.to_owned(),
            text: text.to_owned(),
            module: module_of(file),
            tokens,
            inline,
        }
    }

    /// The module that the token at `index` stands in.
    pub(crate) fn module_at(&self, index: usize) -> Vec<String> {
        let inner = self
            .inline
            .iter()
            .filter(|module| module.body.contains(&index));
        self.module
            .iter()
            .cloned()
            .chain(inner.map(|module| module.name.clone()))
            .collect()
    }

    /// Whether the token at `index` stands in a test module of this file.
    pub(crate) fn tests_at(&self, index: usize) -> bool {
        self.inline
            .iter()
            .any(|module| module.compiled == Compiled::ForTests && module.body.contains(&index))
    }

    /// The token at `index`, when it is a word.
    pub(crate) fn word(&self, index: usize) -> Option<&str> {
        self.tokens.get(index).and_then(Token::word)
    }
}

/// All `.rs` files below `directory` of the package, in the order of their names.
pub(crate) fn tree(directory: &str) -> io::Result<Vec<Source>> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    collect(&package.join(directory), directory, &mut files)?;
    files.sort();
    files
        .iter()
        .map(|file| Ok(Source::new(file, &fs::read_to_string(package.join(file))?)))
        .collect()
}

fn collect(directory: &Path, shown: &str, files: &mut Vec<String>) -> io::Result<()> {
    if !directory.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let shown = format!("{shown}/{}", name.to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &shown, files)?;
        } else if entry
            .path()
            .extension()
            .is_some_and(|extension| extension == "rs")
        {
            files.push(shown);
        }
    }
    Ok(())
}

fn module_of(file: &str) -> Vec<String> {
    let path = file.strip_prefix("src/").unwrap_or(file);
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let mut segments: Vec<String> = path.split('/').map(str::to_owned).collect();
    let last = segments.last().map(String::as_str);
    let is_root = segments.len() == 1 && matches!(last, Some("lib" | "main"));
    if is_root || last == Some("mod") {
        segments.pop();
    }
    segments
}

fn inline_modules(tokens: &[Token]) -> Vec<Inline> {
    let mut modules = Vec::new();
    for index in 0..tokens.len() {
        let Some(name) = module_name(tokens, index) else {
            continue;
        };
        if tokens.get(index + 2).is_some_and(|token| token.is('{')) {
            let start = index + 3;
            let body = start..start + closing(tokens.get(start..).unwrap_or_default());
            let compiled = compiled(tokens, index);
            modules.push(Inline {
                name: name.to_owned(),
                body,
                compiled,
            });
        }
    }
    modules
}

/// The name, when a module begins or is declared at `index`.
pub(crate) fn module_name(tokens: &[Token], index: usize) -> Option<&str> {
    let is_mod = tokens.get(index).and_then(Token::word) == Some("mod");
    let opens = tokens
        .get(index + 2)
        .is_some_and(|token| token.is('{') || token.is(';'));
    if is_mod && opens {
        tokens.get(index + 1).and_then(Token::word)
    } else {
        None
    }
}

/// How many tokens lie before the brace that closes an already opened one.
fn closing(tokens: &[Token]) -> usize {
    let mut depth = 1_usize;
    for (index, token) in tokens.iter().enumerate() {
        if token.is('{') {
            depth += 1;
        } else if token.is('}') {
            depth -= 1;
        }
        if depth == 0 {
            return index;
        }
    }
    tokens.len()
}

fn compiled(tokens: &[Token], item: usize) -> Compiled {
    let tested = cfg_tests(tokens).any(|after| item_after(tokens, after) == item);
    if tested {
        Compiled::ForTests
    } else {
        Compiled::Always
    }
}

/// The places right behind each `#[cfg(test)]`.
pub(crate) fn cfg_tests(tokens: &[Token]) -> impl Iterator<Item = usize> {
    let attribute = tokens_of_cfg_test();
    let length = attribute.len();
    let kinds = |window: &[Token]| {
        window
            .iter()
            .map(|token| token.kind.clone())
            .collect::<Vec<_>>()
    };
    tokens
        .windows(length)
        .enumerate()
        .filter(move |(_, window)| kinds(window) == attribute)
        .map(move |(start, _)| start + length)
}

fn tokens_of_cfg_test() -> Vec<crate::lexer::Kind> {
    tokens("#[cfg(test)]")
        .into_iter()
        .map(|token| token.kind)
        .collect()
}

/// Steps over further attributes and a visibility: the index of the item's own first word.
pub(crate) fn item_after(tokens: &[Token], mut index: usize) -> usize {
    loop {
        let at = |ahead: usize| tokens.get(index + ahead);
        let attribute = at(0).is_some_and(|token| token.is('#'));
        let public = at(0).and_then(Token::word) == Some("pub");
        let scoped = public && at(1).is_some_and(|token| token.is('('));
        if attribute || scoped {
            index += 1 + group_length(tokens, index + 1);
        } else if public {
            index += 1;
        } else {
            return index;
        }
    }
}

/// The length of the `[…]` or `(…)` that opens at `index`, both ends included.
fn group_length(tokens: &[Token], index: usize) -> usize {
    let mut depth = 0_usize;
    for (length, token) in tokens.iter().skip(index).enumerate() {
        if token.is('[') || token.is('(') {
            depth += 1;
        } else if token.is(']') || token.is(')') {
            depth = depth.saturating_sub(1);
        }
        if depth == 0 {
            return length + 1;
        }
    }
    tokens.len()
}
