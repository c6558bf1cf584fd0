//! What was typed: the file and the environment as one tree whose every value knows its place.
//!
//! Imports `problem`. Knows TOML, and neither keys nor their meaning.

use std::{path::Path, sync::Arc};

use indexmap::IndexMap;
use toml::{
    Spanned,
    de::{DeTable, DeValue, Error},
};

use super::problem::{Place, Problem};

/// A value and where it was typed: a member at its key, an element at itself.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) value: Value,
}

/// A table's members in the order in which they were typed.
pub(super) type Table = IndexMap<String, Node>;

/// A value as it was typed.
#[derive(Debug, Clone)]
pub(super) enum Value {
    /// The text of a variable: which type it stands for is known only where it is read.
    Text(String),
    String(String),
    Integer(i64),
    List(Vec<Node>),
    Table(Table),
    /// A type that no key has; its name.
    Other(&'static str),
}

impl Value {
    /// The type, for an operator.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) | Self::String(_) => "a string",
            Self::Integer(_) => "an integer",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Other(kind) => kind,
        }
    }
}

impl Node {
    /// The elements, when this is a list: of the file, or in a variable as a TOML array or
    /// separated by commas.
    pub(super) fn list(&self) -> Option<Vec<Self>> {
        match &self.value {
            Value::List(elements) => Some(elements.clone()),
            Value::Text(text) if text.trim_start().starts_with('[') => {
                self.reread(text).and_then(|node| node.list())
            }
            Value::Text(text) => Some(self.separated(text)),
            Value::String(_) | Value::Integer(_) | Value::Table(_) | Value::Other(_) => None,
        }
    }

    /// The members, when this is a table: of the file, or in a variable as a TOML inline table.
    pub(super) fn table(&self) -> Option<Table> {
        match &self.value {
            Value::Table(table) => Some(table.clone()),
            Value::Text(text) => self.reread(text).and_then(|node| node.table()),
            Value::String(_) | Value::Integer(_) | Value::List(_) | Value::Other(_) => None,
        }
    }

    /// A variable's text as the TOML list or table that it holds.
    fn reread(&self, text: &str) -> Option<Self> {
        let value = DeValue::parse(text.trim()).ok()?;
        let at = |_: usize| self.place.clone();
        let value = value_of(value.get_ref(), &at);
        matches!(value, Value::List(_) | Value::Table(_)).then(|| at_place(&self.place, value))
    }

    fn separated(&self, text: &str) -> Vec<Self> {
        text.split(',')
            .map(str::trim)
            .filter(|element| !element.is_empty())
            .map(|element| at_place(&self.place, Value::Text(element.to_owned())))
            .collect()
    }
}

fn at_place(place: &Place, value: Value) -> Node {
    Node {
        place: place.clone(),
        value,
    }
}

/// Reads a file's text.
///
/// A member that is given twice is a problem, and the rest is read on; anything else that is not
/// TOML leaves nothing to read.
///
/// # Errors
/// Every place where the text is not TOML, one for each line.
pub(super) fn parse(
    file: &Path,
    text: &str,
    report: impl Fn(Problem),
) -> Result<Table, Vec<Problem>> {
    let lines = Lines::of(file, text);
    let (document, errors) = DeTable::parse_recoverable(text);
    let (doubles, faults): (Vec<_>, Vec<_>) = errors
        .iter()
        .partition(|error| error.message() == "duplicate key");
    if faults.is_empty() {
        for double in doubles {
            report(duplicate(&lines, text, double));
        }
        return Ok(table_of(document.get_ref(), &|offset| lines.place(offset)));
    }
    let mut problems: Vec<Problem> = Vec::new();
    for fault in faults {
        let problem = Problem::bare(
            lines.place(fault.span().map_or(text.len(), |span| span.start)),
            format!("not TOML: {}", fault.message()),
        );
        // What follows on the same line is mostly the echo of the first.
        if problems
            .last()
            .is_none_or(|last| !same_line(&last.place, &problem.place))
        {
            problems.push(problem);
        }
    }
    Err(problems)
}

fn duplicate(lines: &Lines<'_>, text: &str, error: &Error) -> Problem {
    let span = error.span().unwrap_or_default();
    let key = text.get(span.clone()).unwrap_or_default();
    Problem {
        key: key.to_owned(),
        ..Problem::bare(
            lines.place(span.start),
            "given twice; TOML has each key and each section once, so remove one",
        )
    }
}

fn same_line(a: &Place, b: &Place) -> bool {
    let line = |place: &Place| match place {
        Place::File { line, .. } => Some(*line),
        Place::Whole(_) | Place::Variable(_) | Place::Process => None,
    };
    line(a) == line(b)
}

fn table_of(table: &DeTable<'_>, at: &dyn Fn(usize) -> Place) -> Table {
    let member = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let key: &Spanned<std::borrow::Cow<'_, str>> = key;
        let node = Node {
            place: at(key.span().start),
            value: value_of(value.get_ref(), at),
        };
        (key.get_ref().clone().into_owned(), node)
    };
    table.iter().map(member).collect()
}

fn value_of(value: &DeValue<'_>, at: &dyn Fn(usize) -> Place) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.clone().into_owned()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(Value::Other("an integer beyond 64 bits"), Value::Integer),
        DeValue::Float(_) => Value::Other("a fraction"),
        DeValue::Boolean(_) => Value::Other("a boolean"),
        DeValue::Datetime(_) => Value::Other("a date"),
        DeValue::Array(elements) => Value::List(
            elements
                .iter()
                .map(|element| Node {
                    place: at(element.span().start),
                    value: value_of(element.get_ref(), at),
                })
                .collect(),
        ),
        DeValue::Table(table) => Value::Table(table_of(table, at)),
    }
}

/// Turns offsets into lines and columns.
struct Lines<'t> {
    file: Arc<Path>,
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn of(file: &Path, text: &'t str) -> Self {
        let after_break = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            file: file.into(),
            text,
            starts: std::iter::once(0).chain(after_break).collect(),
        }
    }

    fn place(&self, offset: usize) -> Place {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self
            .starts
            .get(line.saturating_sub(1))
            .copied()
            .unwrap_or_default();
        let before = self.text.get(start..offset).unwrap_or_default();
        Place::File {
            file: self.file.clone(),
            line,
            column: before.chars().count() + 1,
        }
    }
}
