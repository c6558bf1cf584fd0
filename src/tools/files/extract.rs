//! Cutting lines out of a file of any size with bounded memory, and judging that they are text.
//!
//! Imports `registry`'s signal and siblings. A line ends with a line feed, which belongs to it, as
//! does a carriage return before it; what follows the last line feed is a line when it is not
//! empty.

use std::{fs::File, ops::ControlFlow};

use sha2::{Digest as _, Sha256};

use super::{
    error::Error,
    version::{Stamp, Version, WHOLE, digest, scan},
};
use crate::registry::Signal;

/// Most bytes of content that one read returns.
pub(super) const MAX_CONTENT: usize = 1024 * 1024;

/// What to cut out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// Everything, or nothing when it is over the bound.
    Whole,
    /// Lines from `first`, counted from 1, at most `count`, and only as many whole lines as fit
    /// the bound.
    Lines {
        /// The first line.
        first: u64,
        /// At most this many.
        count: u64,
    },
}

/// What was cut out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Extract {
    /// The text.
    pub(super) text: String,
    /// Lines of the whole file; unknown when its end was not reached.
    pub(super) line_count: Option<u64>,
    /// Whether the file goes on behind the text.
    pub(super) truncated: bool,
    /// The state of the file.
    pub(super) version: Version,
}

impl Extract {
    /// Reads `file` from its beginning. A file up to [`WHOLE`] bytes is always read to its end; a
    /// larger one only as far as the cut needs.
    pub(super) fn of(file: &mut File, cut: Cut, signal: &Signal) -> Result<Self, Error> {
        let stamp = Stamp::of(&file.metadata()?);
        let mut hash = (!stamp.is_large()).then(Sha256::new);
        let mut cutter = Cutter::new(cut);
        let mut seen = 0_usize;
        let ended = scan(file, signal, |piece| {
            seen = seen.saturating_add(piece.len());
            // grown while it was read
            hash = hash.take().filter(|_| seen <= WHOLE);
            if let Some(hash) = &mut hash {
                hash.update(piece);
            }
            cutter.feed(piece);
            let is_enough = cutter.knows_all() && (hash.is_none() || cut == Cut::Whole);
            if is_enough {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        if cut == Cut::Whole && cutter.state == State::Over {
            let found = file.metadata()?.len().max(seen as u64);
            let does = "one read returns; read a part of it with offset and limit";
            return Err(Error::TooLarge {
                found,
                bound: MAX_CONTENT,
                does,
            });
        }
        let version = match hash.filter(|_| ended) {
            Some(hash) => Version::Digest(digest(hash)),
            None => Version::Stamp(stamp),
        };
        cutter.finish(ended, version)
    }
}

/// Takes the wanted lines out of pieces that end anywhere.
#[derive(Debug)]
struct Cutter {
    cut: Cut,
    state: State,
    kept: Vec<u8>,
    /// Bytes of `kept` up to its last line feed.
    whole: usize,
    /// Offset in the file of the first byte kept.
    start: u64,
    /// Bytes fed so far.
    fed: u64,
    /// Line feeds fed so far.
    feeds: u64,
    /// Whether the last byte fed was not a line feed.
    inside: bool,
}

/// How far a cut has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// More is wanted.
    Open,
    /// All that was wanted is kept; nothing is known of what follows.
    Full,
    /// All that was wanted is kept, and the file goes on.
    Followed,
    /// The bound ended it.
    Over,
}

impl Cutter {
    fn new(cut: Cut) -> Self {
        let state = match cut {
            Cut::Lines { count: 0, .. } => State::Full,
            Cut::Whole | Cut::Lines { .. } => State::Open,
        };
        let (kept, whole, start) = (Vec::new(), 0, 0);
        Self {
            cut,
            state,
            kept,
            whole,
            start,
            fed: 0,
            feeds: 0,
            inside: false,
        }
    }

    fn first(&self) -> u64 {
        match self.cut {
            Cut::Whole => 1,
            Cut::Lines { first, .. } => first,
        }
    }

    /// Whether further bytes can change nothing but the count of lines.
    fn knows_all(&self) -> bool {
        matches!(self.state, State::Followed | State::Over)
    }

    fn feed(&mut self, piece: &[u8]) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            let line = self.feeds.saturating_add(1);
            if line >= self.first() {
                self.keep(part);
            }
            self.fed += part.len() as u64;
            self.inside = !part.ends_with(b"\n");
            self.feeds += u64::from(!self.inside);
        }
    }

    /// A line, or a part of one, that may be wanted.
    fn keep(&mut self, part: &[u8]) {
        match self.state {
            State::Open => {}
            State::Full | State::Followed => {
                self.state = State::Followed;
                return;
            }
            State::Over => return,
        }
        if self.kept.len() + part.len() > MAX_CONTENT {
            self.state = State::Over;
            self.kept.truncate(self.whole);
            return;
        }
        if self.kept.is_empty() {
            self.start = self.fed;
        }
        self.kept.extend_from_slice(part);
        if part.ends_with(b"\n") {
            self.whole = self.kept.len();
            let taken = self.feeds.saturating_add(2).saturating_sub(self.first());
            if matches!(self.cut, Cut::Lines { count, .. } if taken >= count) {
                self.state = State::Full;
            }
        }
    }

    fn finish(self, ended: bool, version: Version) -> Result<Extract, Error> {
        let first = self.first();
        if self.state == State::Over && self.kept.is_empty() {
            return Err(Error::LongLine {
                line: first,
                bound: MAX_CONTENT,
            });
        }
        let truncated = self.knows_all();
        let text = text(self.kept, self.start, first)?;
        let lines = self.feeds + u64::from(self.inside);
        Ok(Extract {
            text,
            line_count: ended.then_some(lines),
            truncated,
            version,
        })
    }
}

/// The bytes as text. `start` and `first_line` say where in the file they begin.
///
/// # Errors
/// [`Error::NotText`] at the first byte that is not UTF-8, or is NUL: a file with NUL is binary for
/// every tool that shows lines.
pub(super) fn text(bytes: Vec<u8>, start: u64, first_line: u64) -> Result<String, Error> {
    let nul = bytes.iter().position(|byte| *byte == 0);
    let valid = str::from_utf8(&bytes).map_or_else(|error| error.valid_up_to(), str::len);
    let (at, what) = match (nul, bytes.get(valid)) {
        (Some(nul), _) if nul < valid => (nul, "a NUL character".to_owned()),
        (_, Some(bad)) => (valid, format!("invalid UTF-8 (0x{bad:02x})")),
        (_, None) => return Ok(String::from_utf8(bytes).unwrap_or_default()),
    };
    let before = bytes.get(..at).unwrap_or_default();
    let line = first_line + before.split(|byte| *byte == b'\n').count() as u64 - 1;
    Err(Error::NotText {
        what,
        at: start + at as u64,
        line,
    })
}
