//! Reading one section of the tree: every key that is asked for is known, every other is refused.
//!
//! Imports `problem`, `raw`. Keys are named where they are read, so no second list can go stale.

use super::{
    problem::{Place, Problem, Problems, suggestion},
    raw::{Node, Table},
};

const UNAVAILABLE: &str = "not available in this version of toold; remove it";

/// A section while it is being read.
pub(super) struct Section<'p> {
    /// As a TOML header names it; empty for the whole document.
    path: String,
    place: Place,
    table: Table,
    known: Vec<&'static str>,
    problems: &'p Problems,
}

impl<'p> Section<'p> {
    /// The whole document.
    pub(super) fn root(table: Table, problems: &'p Problems) -> Self {
        Self {
            path: String::new(),
            place: Place::Process,
            table,
            known: Vec::new(),
            problems,
        }
    }

    /// A key's value; none when it is absent or, which is then a problem, cannot be read.
    pub(super) fn optional<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Node) -> Result<T, String>,
    ) -> Option<T> {
        self.known.push(key);
        let node = self.table.get(key)?;
        match read(node) {
            Ok(value) => Some(value),
            Err(message) => {
                self.add(node.place.clone(), key, message);
                None
            }
        }
    }

    /// A key's value; its absence is a problem.
    pub(super) fn required<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Node) -> Result<T, String>,
    ) -> Option<T> {
        if !self.has(key) {
            self.refuse(key, "is missing");
        }
        self.optional(key, read)
    }

    /// A list, each element read alone; none when it is absent.
    pub(super) fn list<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(&Node) -> Result<T, String>,
    ) -> Option<Vec<T>> {
        let elements = self.optional(key, |node| {
            node.list()
                .ok_or_else(|| format!("expected a list, found {}", node.value.kind()))
        })?;
        let written = elements.len();
        let mut values = Vec::with_capacity(written);
        for element in elements {
            match read(&element) {
                Ok(value) => values.push(value),
                Err(message) => self.add(element.place, key, message),
            }
        }
        // What was written and refused names something, though not well.
        (values.len() == written || !values.is_empty()).then_some(values)
    }

    /// A section below this one; empty when it is absent.
    pub(super) fn section(&mut self, key: &'static str) -> Section<'p> {
        let table = self.optional(key, members).unwrap_or_default();
        self.below(self.path_to(key), self.origin(key), table)
    }

    /// The sections of an array of tables, `[[key]]`.
    pub(super) fn sections(&mut self, key: &'static str) -> Vec<Section<'p>> {
        let path = self.path_to(key);
        let tables = self.list(key, |node| Ok((node.place.clone(), members(node)?)));
        let numbered = tables.unwrap_or_default().into_iter().enumerate();
        numbered
            .map(|(i, (place, table))| self.below(format!("{path} #{}", i + 1), place, table))
            .collect()
    }

    /// Every member as a section with a name of the operator's, in order.
    pub(super) fn named_sections(self) -> Vec<(String, Section<'p>)> {
        let mut sections = Vec::with_capacity(self.table.len());
        for (name, node) in &self.table {
            match members(node) {
                Ok(table) => {
                    let section = self.below(self.path_to(name), node.place.clone(), table);
                    sections.push((name.clone(), section));
                }
                Err(message) => self.add(node.place.clone(), name, message),
            }
        }
        sections
    }

    /// Refuses keys and sections that the configuration knows and this version does not have.
    pub(super) fn unavailable(&mut self, keys: &[&'static str]) {
        for key in keys {
            self.known.push(key);
            if self.has(key) {
                self.refuse(key, UNAVAILABLE);
            }
        }
    }

    /// Refuses every member that nobody asked for.
    pub(super) fn finish(&self) {
        for (key, node) in &self.table {
            if !self.known.contains(&key.as_str()) {
                let near = suggestion(key, self.known.iter().copied());
                self.add(node.place.clone(), key, format!("unknown key{near}"));
            }
        }
    }

    /// Adds a problem with a key, or with the whole section when the key is empty.
    pub(super) fn refuse(&self, key: &str, message: impl Into<String>) {
        self.add(self.origin(key), key, message.into());
    }

    /// Whether a key was typed.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Where a key was typed; where the section was, when the key is absent.
    pub(super) fn origin(&self, key: &str) -> Place {
        self.table
            .get(key)
            .map_or_else(|| self.place.clone(), |node| node.place.clone())
    }

    fn add(&self, place: Place, key: &str, message: String) {
        let section = self.path.clone();
        self.problems.add(Problem {
            place,
            section,
            key: key.to_owned(),
            message,
        });
    }

    fn path_to(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    fn below(&self, path: String, place: Place, table: Table) -> Section<'p> {
        Section {
            path,
            place,
            table,
            known: Vec::new(),
            problems: self.problems,
        }
    }
}

fn members(node: &Node) -> Result<Table, String> {
    node.table()
        .ok_or_else(|| format!("expected a table, found {}", node.value.kind()))
}
