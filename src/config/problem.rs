//! What is wrong with a configuration, and where it was typed.
//!
//! Imports nothing of ours. A problem is a sentence for the operator; it never holds a secret.

use std::{cell::RefCell, cmp::Ordering, fmt, path::Path, sync::Arc};

/// Where a value was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In the file.
    File {
        /// The file, as it was named.
        file: Arc<Path>,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
    },
    /// The file as a whole.
    Whole(Arc<Path>),
    /// In an environment variable of this name.
    Variable(String),
    /// Nowhere: the process itself was started so.
    Process,
}

impl Place {
    /// Files before variables before the process; within the file by line and column.
    fn rank(&self) -> (u8, usize, usize, &str) {
        match self {
            Self::Whole(_) => (0, 0, 0, ""),
            Self::File { line, column, .. } => (1, *line, *column, ""),
            Self::Variable(name) => (2, 0, 0, name),
            Self::Process => (3, 0, 0, ""),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, line, column } => write!(f, "{}:{line}:{column}", file.display()),
            Self::Whole(file) => write!(f, "{}", file.display()),
            Self::Variable(name) => f.write_str(name),
            Self::Process => f.write_str("this process"),
        }
    }
}

/// One thing that is wrong: where, which key, what, and what to do.
///
/// Shown as `toold.toml:12:1 [server] listen: …`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Problem {
    /// Where it was typed.
    pub place: Place,
    /// The section as a TOML header would name it, without brackets; empty at the top.
    pub section: String,
    /// The key within the section; empty when the section as a whole is meant.
    pub key: String,
    /// What is wrong and what to do.
    pub message: String,
}

impl Problem {
    /// A problem that belongs to no key.
    pub(super) fn bare(place: Place, message: impl Into<String>) -> Self {
        Self {
            place,
            section: String::new(),
            key: String::new(),
            message: message.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place)?;
        if !self.section.is_empty() {
            write!(f, " [{}]", self.section)?;
        }
        if !self.key.is_empty() {
            write!(f, " {}", self.key)?;
        }
        write!(f, ": {}", self.message)
    }
}

/// The problems found so far, collected by everything that reads.
#[derive(Debug, Default)]
pub(super) struct Problems(RefCell<Vec<Problem>>);

impl Problems {
    pub(super) fn add(&self, problem: Problem) {
        self.0.borrow_mut().push(problem);
    }

    /// All of them, in the order in which a reader of the file meets them.
    pub(super) fn sorted(self) -> Vec<Problem> {
        let mut problems = self.0.into_inner();
        problems.sort_by(by_place);
        problems
    }
}

fn by_place(a: &Problem, b: &Problem) -> Ordering {
    a.place.rank().cmp(&b.place.rank())
}

/// `; did you mean "listen"?` when a known word is close to what was typed, else nothing.
pub(super) fn suggestion<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let near = known
        .into_iter()
        .map(|word| (distance(typed, word), word))
        .filter(|(distance, word)| *distance <= 1 + word.chars().count().min(12) / 4)
        .min();
    near.map_or_else(String::new, |(_, word)| {
        format!("; did you mean \"{word}\"?")
    })
}

/// How many letters must be put in, left out or changed to make one word of the other.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, from) in a.chars().take(64).enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        let mut next = vec![left];
        for (to, above) in b.chars().zip(row.iter().skip(1)) {
            let changed = diagonal + usize::from(from != to);
            left = changed.min(left + 1).min(above + 1);
            diagonal = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_suggested_and_a_far_one_is_not() {
        let known = ["listen", "max_body", "max_wait", "drain"];
        assert_eq!(suggestion("lisen", known), "; did you mean \"listen\"?");
        assert_eq!(
            suggestion("max_boby", known),
            "; did you mean \"max_body\"?"
        );
        assert_eq!(suggestion("drian", known), "; did you mean \"drain\"?");
        assert_eq!(suggestion("colour", known), "");
        assert_eq!(suggestion("listen", []), "");
    }

    #[test]
    fn the_distance_counts_single_letter_changes() {
        for (a, b, expected) in [
            ("", "", 0),
            ("a", "", 1),
            ("", "ab", 2),
            ("kitten", "sitting", 3),
            ("ab", "ba", 2),
        ] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
            assert_eq!(distance(b, a), expected, "{b} {a}");
        }
    }
}
