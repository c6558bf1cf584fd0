//! Every path that a file names, written out in full.
//!
//! `use` trees are unfolded, `self` and `super` resolved, and names that a `use` brought into the file
//! are expanded again, so that `use tokio::task; … task::spawn(…)` is seen as `tokio::task::spawn`.
//! Builds on `source`. Knows no rule.

use std::collections::HashMap;

use crate::lexer::{Kind, Token};
use crate::source::Source;

/// One path and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    /// `["crate", "http", "calls"]` for our own, `["tokio", "spawn"]` for others.
    pub(crate) path: Vec<String>,
    pub(crate) line: usize,
    pub(crate) role: Role,
    /// The module that it stands in.
    pub(crate) home: Vec<String>,
    /// Index of its first token.
    pub(crate) index: usize,
}

/// What the path is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Import,
    ReExport,
    Mention,
}

/// All paths of a file, imports first.
pub(crate) fn references(source: &Source) -> Vec<Reference> {
    let mut imports = Vec::new();
    let mut inside_use = vec![false; source.tokens.len()];
    for index in 0..source.tokens.len() {
        if let Some(found) = import(source, index) {
            inside_use
                .iter_mut()
                .take(found.end)
                .skip(index)
                .for_each(|token| *token = true);
            imports.extend(found.leaves);
        }
    }
    let aliases: HashMap<String, Vec<String>> = imports
        .iter()
        .filter_map(|leaf| Some((leaf.alias.clone()?, leaf.path.clone())))
        .collect();
    let mentions = (0..source.tokens.len())
        .filter(|index| !inside_use.get(*index).copied().unwrap_or_default())
        .filter_map(|index| mention(&source.tokens, index));
    imports
        .into_iter()
        .map(|leaf| (leaf.path, leaf.index, leaf.role))
        .chain(mentions.map(|(path, index)| (path, index, Role::Mention)))
        .map(|(path, index, role)| {
            let home = source.module_at(index);
            let line = source.tokens.get(index).map_or(0, |token| token.line);
            Reference {
                path: absolute(expand(path, &aliases), &home),
                line,
                role,
                home,
                index,
            }
        })
        .collect()
}

struct Leaf {
    path: Vec<String>,
    alias: Option<String>,
    index: usize,
    role: Role,
}

struct Import {
    leaves: Vec<Leaf>,
    end: usize,
}

/// The `use` declaration or `extern crate` that begins at `index`.
fn import(source: &Source, index: usize) -> Option<Import> {
    let next_is_generic = source
        .tokens
        .get(index + 1)
        .is_some_and(|token| token.is('<'));
    let start = match source.word(index)? {
        "use" if !next_is_generic => index + 1,
        "extern" if source.word(index + 1) == Some("crate") => index + 2,
        _ => return None,
    };
    let role = if is_public(&source.tokens, index) {
        Role::ReExport
    } else {
        Role::Import
    };
    let mut tree = UseTree {
        tokens: &source.tokens,
        at: start,
        leaves: Vec::new(),
        role,
    };
    tree.read(&[]);
    Some(Import {
        leaves: tree.leaves,
        end: tree.at,
    })
}

/// Whether `pub` or `pub(…)` stands right before `index`.
fn is_public(tokens: &[Token], index: usize) -> bool {
    let before = |back: usize| index.checked_sub(back).and_then(|at| tokens.get(at));
    let is_pub = |token: Option<&Token>| token.and_then(Token::word) == Some("pub");
    let closes = before(1).is_some_and(|token| token.is(')'));
    // `pub(crate)` is four tokens, `pub(in a::b)` more: the nearest `pub` of this item decides.
    is_pub(before(1)) || (closes && (4..12).any(|back| is_pub(before(back))))
}

struct UseTree<'a> {
    tokens: &'a [Token],
    at: usize,
    leaves: Vec<Leaf>,
    role: Role,
}

impl UseTree<'_> {
    fn kind(&self) -> Option<&Kind> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    /// Reads one branch, up to the `,` `}` or `;` that ends it.
    fn read(&mut self, prefix: &[String]) {
        let mut path = prefix.to_vec();
        let mut alias = None;
        let index = self.at;
        while let Some(kind) = self.kind().cloned() {
            match kind {
                Kind::Word(word) if word == "as" => {
                    self.at += 1;
                    alias = self
                        .tokens
                        .get(self.at)
                        .and_then(Token::word)
                        .map(str::to_owned);
                }
                Kind::Word(word) if word == "self" && !path.is_empty() => {}
                Kind::Word(word) => path.push(word),
                Kind::Mark('*') => path.push("*".to_owned()),
                Kind::PathSep => {}
                Kind::Mark('{') => return self.branches(&path),
                Kind::Mark(_) | Kind::Literal => break,
            }
            self.at += 1;
        }
        let alias = alias.or_else(|| path.last().filter(|name| *name != "*").cloned());
        self.leaves.push(Leaf {
            path,
            alias,
            index,
            role: self.role,
        });
    }

    fn branches(&mut self, prefix: &[String]) {
        loop {
            self.at += 1;
            match self.kind() {
                Some(Kind::Mark('}')) | None => break,
                Some(Kind::Mark(',')) => continue,
                Some(Kind::Word(_) | Kind::PathSep | Kind::Mark(_) | Kind::Literal) => {}
            }
            self.read(prefix);
            if !self.tokens.get(self.at).is_some_and(|token| token.is(',')) {
                break;
            }
        }
        self.at += 1;
    }
}

/// The path of two segments or more that begins at `index`.
fn mention(tokens: &[Token], index: usize) -> Option<(Vec<String>, usize)> {
    let word = |at: usize| tokens.get(at).and_then(Token::word);
    let first = word(index)?;
    if separator(tokens, Some(index + 1)).is_none() || continues_another(tokens, index) {
        return None;
    }
    let mut path = vec![first.to_owned()];
    let mut at = index;
    while let Some(next) = separator(tokens, Some(at + 1)).and_then(|at| word(at + 1)) {
        path.push(next.to_owned());
        at += 2;
    }
    (path.len() > 1).then_some((path, index))
}

/// The index itself, when `::` stands there.
fn separator(tokens: &[Token], at: Option<usize>) -> Option<usize> {
    at.filter(|at| {
        tokens
            .get(*at)
            .is_some_and(|token| token.kind == Kind::PathSep)
    })
}

/// Whether a segment stands before `index`: `a::` or `<T>::`, but not the `::` of `-> ::a`.
fn continues_another(tokens: &[Token], index: usize) -> bool {
    let Some(at) = separator(tokens, index.checked_sub(1)) else {
        return false;
    };
    let before = |back: usize| at.checked_sub(back).and_then(|at| tokens.get(at));
    let keyword = |word: &str| matches!(word, "return" | "in" | "match" | "if" | "as" | "mut");
    let arrow = before(2).is_some_and(|token| token.is('-') || token.is('='));
    before(1).is_some_and(|token| match token.word() {
        Some(word) => !keyword(word),
        None => token.is('>') && !arrow,
    })
}

fn expand(path: Vec<String>, aliases: &HashMap<String, Vec<String>>) -> Vec<String> {
    let head = path.first().map(String::as_str).unwrap_or_default();
    match aliases.get(head) {
        Some(full) if full.first().is_some_and(|first| first != head) => full
            .iter()
            .cloned()
            .chain(path.into_iter().skip(1))
            .collect(),
        Some(_) | None => path,
    }
}

/// Our own paths from the root; a path that climbs out of the crate keeps a `super`.
fn absolute(path: Vec<String>, home: &[String]) -> Vec<String> {
    let climbs = path
        .iter()
        .take_while(|segment| *segment == "super" || *segment == "self")
        .count();
    let ups = path
        .iter()
        .take(climbs)
        .filter(|segment| *segment == "super")
        .count();
    let below = path.iter().skip(climbs).cloned();
    match path.first().map(String::as_str) {
        Some("crate" | "toold") => ["crate".to_owned()]
            .into_iter()
            .chain(path.into_iter().skip(1))
            .collect(),
        Some("self" | "super") if ups <= home.len() => ["crate".to_owned()]
            .into_iter()
            .chain(home.iter().take(home.len() - ups).cloned())
            .chain(below)
            .collect(),
        Some(_) | None => path,
    }
}
