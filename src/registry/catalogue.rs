//! Owns the catalogue of one agent: what it sees, in one stable encoding.
//!
//! Imports `domain`. Only name, description and parameters ever reach the model: timeouts,
//! concurrency, policies, source and secrets do not.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use bytes::Bytes;

use super::tool::Tool;
use crate::domain::{Digest, ToolName, json::ObjectWriter};

/// The tools that an agent sees. Immutable; a change makes another one.
#[derive(Debug)]
pub struct Catalogue {
    tools: Vec<Arc<Tool>>,
    by_name: HashMap<ToolName, Arc<Tool>>,
    native: Bytes,
    etag: String,
}

impl Catalogue {
    /// The catalogue of a set of tools.
    pub(super) fn of(visible: BTreeMap<ToolName, Arc<Tool>>) -> Self {
        let mut text = Vec::with_capacity(256 * visible.len() + 16);
        let mut whole = ObjectWriter::new(&mut text);
        whole.array("items", |items| {
            for tool in visible.values() {
                items.nested(|item| tool.definition().write_for_model(item));
            }
        });
        whole.end();
        Self {
            tools: visible.values().map(Arc::clone).collect(),
            by_name: visible.into_iter().collect(),
            etag: format!("\"{}\"", Digest::of_bytes(&text)),
            native: text.into(),
        }
    }

    /// The tools, sorted by name.
    pub fn tools(&self) -> &[Arc<Tool>] {
        &self.tools
    }

    /// The tool of this name. Does not allocate.
    pub fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        self.by_name.get(name)
    }

    /// The model-facing JSON, `{"items":[{"name","description","parameters"} …]}`. The same
    /// bytes for the same set, whatever the order of registration: prompt caches depend on it.
    pub fn native(&self) -> &Bytes {
        &self.native
    }

    /// Strong entity tag of [`native`](Self::native), quotes included (RFC 9110, section 8.8.3).
    pub fn etag(&self) -> &str {
        &self.etag
    }

    /// Whether the two show the same definitions.
    pub(super) fn shows_same(&self, other: &Self) -> bool {
        let key = |tool: &Arc<Tool>| tool.hash();
        self.tools.iter().map(key).eq(other.tools.iter().map(key))
    }

    /// Up to three names that a caller may have meant by a name that is none, closest first.
    pub fn suggest(&self, name: &str) -> Vec<ToolName> {
        let meant = Letters::of(name);
        let mut close: Vec<(usize, &ToolName)> = self
            .tools
            .iter()
            .map(|tool| &tool.definition().name)
            .filter_map(|name| Some((meant.closeness(&Letters::of(name.as_str()))?, name)))
            .collect();
        close.sort_unstable();
        close
            .into_iter()
            .take(3)
            .map(|(_, name)| name.clone())
            .collect()
    }
}

/// A name's letters and digits, in lower case: `readFile` and `read_file` are the same.
struct Letters(Vec<u8>);

impl Letters {
    /// Of the first 64, more than any tool's name has.
    fn of(name: &str) -> Self {
        let letters = name.bytes().filter(u8::is_ascii_alphanumeric).take(64);
        Self(letters.map(|letter| letter.to_ascii_lowercase()).collect())
    }

    /// How far the other name is from this one, smaller is closer; nothing when it is another
    /// word altogether.
    fn closeness(&self, other: &Self) -> Option<usize> {
        let (one, other) = (self.0.as_slice(), other.0.as_slice());
        let (short, long) = if one.len() < other.len() {
            (one, other)
        } else {
            (other, one)
        };
        let within = short.len() >= 3 && long.windows(short.len()).any(|part| part == short);
        let distance = edits(one, other);
        let bearable = distance <= 1 + long.len() / 4;
        (within || bearable).then_some(distance)
    }
}

/// Least number of letters to put in, take out or replace (Levenshtein).
fn edits(one: &[u8], other: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (above, letter) in one.iter().enumerate() {
        let mut diagonal = above;
        let mut left = above + 1;
        for (slot, theirs) in row.iter_mut().skip(1).zip(other) {
            let up = *slot;
            left = (diagonal + usize::from(letter != theirs))
                .min(up + 1)
                .min(left + 1);
            diagonal = up;
            *slot = left;
        }
        if let Some(first) = row.first_mut() {
            *first = above + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}
