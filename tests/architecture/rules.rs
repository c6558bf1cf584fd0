//! The rules: each takes sources, gives back what breaks it, and says where and why.
//!
//! Builds on `source` and `paths`; the tables come from `tables`. Reads no file and asserts nothing,
//! so that the self-test can run every rule over a few lines of text.

use std::fmt;

use crate::paths::{Reference, Role, references};
use crate::source::{Source, cfg_tests, item_after, module_name};
use crate::tables::{
    CONFINED, Confined, DIRECTION, EVERYTHING, LINES, MAIN, OPEN, OPENINGS, SHELVES,
};

/// One place that breaks a rule.
#[derive(Debug)]
pub(crate) struct Finding {
    file: String,
    line: usize,
    text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.file, self.line, self.text)
    }
}

impl Finding {
    fn at(source: &Source, line: usize, text: String) -> Self {
        Self {
            file: source.file.clone(),
            line,
            text,
        }
    }
}

/// Every file belongs to a module of the direction table.
pub(crate) fn unknown_modules(source: &Source) -> Vec<Finding> {
    if room(&source.module).is_some() || is_root(source) || is_hallway(&source.module) {
        return Vec::new();
    }
    let why = "is in no row of the direction table (tests/architecture/tables.rs): a new module gets its row first";
    vec![Finding::at(
        source,
        1,
        format!("module `{}` {why}", source.module.join("::")),
    )]
}

/// Every path into another module follows the direction table.
pub(crate) fn directions(source: &Source) -> Vec<Finding> {
    if source.file == "src/lib.rs" {
        return Vec::new();
    }
    let judged = |reference: Reference| {
        let why = refused(source, &reference)?;
        let shown = reference.path.join("::");
        Some(Finding::at(
            source,
            reference.line,
            format!("`{shown}`: {why}"),
        ))
    };
    references(source).into_iter().filter_map(judged).collect()
}

fn refused(source: &Source, reference: &Reference) -> Option<String> {
    if reference.path.first().is_some_and(|head| head == "super") {
        return Some("climbs out of the crate".to_owned());
    }
    let (head, target) = reference.path.split_first()?;
    if head != "crate" {
        return None;
    }
    if is_hallway(&source.module) && target.starts_with(&source.module) {
        return None;
    }
    let from = if is_root(source) {
        "main"
    } else {
        room(&reference.home).unwrap_or("no row")
    };
    let Some(to) = room(target) else {
        return Some(
            "names no module of the direction table: import from where it lives".to_owned(),
        );
    };
    let why =
        || format!("{from} may not import {to} (direction table in tests/architecture/tables.rs)");
    let opening = OPENINGS
        .iter()
        .any(|(guest, door)| *guest == from && starts_with(target, door));
    let allowed = from == to || opening || may_import(from, to);
    (!allowed).then(why)
}

/// What the tables say of two different rows.
fn may_import(from: &str, to: &str) -> bool {
    if from == "main" {
        return MAIN.contains(&to);
    }
    let place = |wanted: &str| DIRECTION.iter().position(|(row, _)| *row == wanted);
    let Some((_, names)) = DIRECTION.iter().find(|(row, _)| *row == from) else {
        return false;
    };
    let above = place(to) < place(from);
    let listed = *names == EVERYTHING || names.split(' ').any(|name| name == to);
    above && (listed || OPEN.contains(&to))
}

/// The row that a module path falls under: the longest name that it begins with.
fn room(module: &[String]) -> Option<&'static str> {
    DIRECTION
        .iter()
        .map(|(row, _)| *row)
        .filter(|row| starts_with(module, row))
        .max_by_key(|row| row.len())
}

fn starts_with(path: &[String], name: &str) -> bool {
    let mut segments = path.iter();
    name.split("::")
        .all(|part| segments.next().is_some_and(|segment| segment == part))
}

fn is_root(source: &Source) -> bool {
    matches!(source.file.as_str(), "src/lib.rs" | "src/main.rs")
}

/// A module that only leads to modules with rows of their own, as `mcp` does.
fn is_hallway(module: &[String]) -> bool {
    let prefix = format!("{}::", module.join("::"));
    DIRECTION.iter().any(|(row, _)| row.starts_with(&prefix))
}

/// Nothing of another module is offered again under one's own name.
pub(crate) fn laundering(source: &Source) -> Vec<Finding> {
    if source.file == "src/lib.rs" {
        return Vec::new();
    }
    let launders = |reference: &Reference| {
        let foreign = match reference.path.split_first() {
            Some((head, target)) => head == "crate" && room(target) != room(&reference.home),
            None => false,
        };
        foreign && reference.role == Role::ReExport
    };
    let why = "a re-export hides where a thing lives; let the other module import it from there";
    references(source)
        .into_iter()
        .filter(launders)
        .map(|found| {
            Finding::at(
                source,
                found.line,
                format!("`{}`: {why}", found.path.join("::")),
            )
        })
        .collect()
}

/// External crates and standard modules stay in their rooms.
pub(crate) fn confinement(source: &Source) -> Vec<Finding> {
    let judged = |found: Reference| {
        let row = if is_root(source) {
            "main"
        } else {
            room(&found.home).unwrap_or("no row")
        };
        let rule = confined(&found.path)?;
        let rooms = rule.rooms.split(' ').collect::<Vec<_>>();
        let shown = found.path.join("::");
        let text = format!("`{shown}` belongs to {}: {}", rooms.join(", "), rule.why);
        (!rooms.contains(&row)).then(|| Finding::at(source, found.line, text))
    };
    references(source).into_iter().filter_map(judged).collect()
}

/// The rule with the longest path that `path` begins with.
fn confined(path: &[String]) -> Option<&'static Confined> {
    let fits = |rule: &'static Confined| {
        let fitting = rule
            .paths
            .iter()
            .filter(|confined| starts_with(path, confined));
        fitting.map(move |confined| (confined.len(), rule))
    };
    let longest = CONFINED
        .iter()
        .flat_map(fits)
        .max_by_key(|(length, _)| *length);
    longest.map(|(_, rule)| rule)
}

/// The first line says what the file is for.
pub(crate) fn headers(source: &Source) -> Vec<Finding> {
    if source.text.starts_with("//!") {
        return Vec::new();
    }
    let text =
        "does not open with `//!`: say what it owns, what it may import, what it must not do";
    vec![Finding::at(source, 1, text.to_owned())]
}

/// No file outgrows a person's patience.
pub(crate) fn lengths(source: &Source) -> Vec<Finding> {
    let lines = source.text.lines().count();
    if lines <= LINES {
        return Vec::new();
    }
    let text = format!("has {lines} lines, {LINES} is the bound: find the second noun in it");
    vec![Finding::at(source, LINES + 1, text)]
}

/// No module is named after having no subject.
pub(crate) fn shelves(source: &Source) -> Vec<Finding> {
    let why = "names no subject: name what it is about";
    let shelf = |name: &str| SHELVES.contains(&name);
    let of_file = source
        .module
        .iter()
        .filter(|name| shelf(name))
        .map(|name| (1, name.clone()));
    let of_items = (0..source.tokens.len()).filter_map(|index| {
        let name = module_name(&source.tokens, index).filter(|name| shelf(name))?;
        Some((source.tokens.get(index)?.line, name.to_owned()))
    });
    of_file
        .chain(of_items)
        .map(|(line, name)| Finding::at(source, line, format!("a module `{name}` {why}")))
        .collect()
}

/// Nothing is left for later in the code, and no test is switched off.
pub(crate) fn unfinished(source: &Source) -> Vec<Finding> {
    let stubs = source.tokens.windows(2).filter_map(|window| {
        let [name, mark] = window else { return None };
        let stub = name
            .word()
            .filter(|word| matches!(*word, "todo" | "unimplemented"))?;
        let text = format!("`{stub}!` is half-built; answer clearly that it is not there");
        mark.is('!').then(|| Finding::at(source, name.line, text))
    });
    let ignores = attributes(source, "ignore").map(|line| {
        let text = "`#[ignore]`: a test runs or does not exist".to_owned();
        Finding::at(source, line, text)
    });
    stubs.chain(ignores).collect()
}

/// The lines of the attributes that name `word`.
fn attributes<'a>(source: &'a Source, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let tokens = &source.tokens;
    (0..tokens.len()).filter_map(move |index| {
        let hash = tokens.get(index).filter(|token| token.is('#'))?;
        let opens = tokens.get(index + 1).is_some_and(|token| token.is('['));
        let mut inside = tokens
            .iter()
            .skip(index + 2)
            .take_while(|token| !token.is(']'));
        (opens && inside.any(|token| token.word() == Some(word))).then_some(hash.line)
    })
}

/// `cfg(test)` makes test modules, never another product.
pub(crate) fn test_branches(source: &Source) -> Vec<Finding> {
    let on_items = cfg_tests(&source.tokens)
        .filter(|after| source.word(item_after(&source.tokens, *after)) != Some("mod"))
        .filter_map(|after| source.tokens.get(after).map(|token| token.line));
    let negated = source.tokens.windows(4).filter_map(|window| match window {
        [outer, _, inner, ..] if outer.word() == Some("cfg") && inner.word() == Some("not") => {
            Some(outer.line)
        }
        [cfg, bang, _, test] if cfg.word() == Some("cfg") && bang.is('!') => {
            (test.word() == Some("test")).then_some(cfg.line)
        }
        _ => None,
    });
    let why =
        "a branch on `test` tests another program: pass the difference in through `app::Builder`";
    on_items
        .chain(negated)
        .map(|line| Finding::at(source, line, why.to_owned()))
        .collect()
}

/// Tests wait for events, not for time.
///
/// A file that runs on Tokio's paused clock (`start_paused`) may sleep: there it costs nothing and
/// depends on nothing.
pub(crate) fn sleeps(source: &Source, part: Part) -> Vec<Finding> {
    let paused = source
        .tokens
        .iter()
        .any(|token| token.word() == Some("start_paused"));
    let in_tests = |found: &Reference| part == Part::Test || source.tests_at(found.index);
    let sleeps = |found: &Reference| {
        starts_with(&found.path, "std::thread::sleep")
            || (starts_with(&found.path, "tokio::time::sleep") && !paused)
            || (starts_with(&found.path, "tokio::time::sleep_until") && !paused)
    };
    let why = "a fixed sleep is too long or too short: wait for the event, poll with `tokio::time::interval` under a timeout, or use `std::future::pending` for a body that never ends";
    references(source)
        .into_iter()
        .filter(|found| in_tests(found) && sleeps(found))
        .map(|found| {
            Finding::at(
                source,
                found.line,
                format!("`{}`: {why}", found.path.join("::")),
            )
        })
        .collect()
}

/// Whether a whole file is test code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Product,
    Test,
}

/// The modules that some file declares as `#[cfg(test)] mod name;`.
pub(crate) fn test_modules(sources: &[Source]) -> Vec<Vec<String>> {
    let declared = |source: &Source| {
        let tokens = &source.tokens;
        let items = cfg_tests(tokens)
            .map(|after| item_after(tokens, after))
            .collect::<Vec<_>>();
        items
            .into_iter()
            .filter_map(|item| {
                let name = module_name(&source.tokens, item)?.to_owned();
                Some(source.module_at(item).into_iter().chain([name]).collect())
            })
            .collect::<Vec<_>>()
    };
    sources.iter().flat_map(declared).collect()
}

/// The same rule over many files, one line per finding.
pub(crate) fn report(sources: &[Source], rule: impl Fn(&Source) -> Vec<Finding>) -> String {
    let lines = sources
        .iter()
        .flat_map(rule)
        .map(|finding| finding.to_string());
    lines.collect::<Vec<_>>().join("\n")
}
