//! A bounded unified diff of two texts, for people and models to read.
//!
//! Imports nothing of ours. The work is bounded too: beyond some thousand changed lines it no
//! longer looks for what the two sides share. It never fails; what does not fit is cut, and says
//! so.

use std::{fmt::Write, ops::Range};

use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};

/// Most bytes of diff text.
const MAX_TEXT: usize = 8 * 1024;
/// Most bytes of one line in it.
const MAX_LINE: usize = 400;
/// Lines of context around a change.
const CONTEXT: usize = 3;
/// Most lines on either side of a region that is searched for common lines.
const MAX_SEARCHED: usize = 2_000;

/// A unified diff without file headers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Diff {
    /// Hunks with their line numbers; empty when the texts are equal.
    pub(super) text: String,
    /// Whether something was cut.
    pub(super) truncated: bool,
}

impl Diff {
    /// Compares line by line.
    pub(super) fn between(old: &str, new: &str) -> Self {
        let mut diff = Self::default();
        if old == new {
            return diff;
        }
        let changed = Region::changed(old, new);
        let fits = match changed.with_context(old, new).searchable() {
            Some((old, new, line)) => diff.searched(&old, &new, line),
            None => diff.replaced(&changed),
        };
        diff.truncated |= !fits;
        diff
    }

    /// Appends what a search for common lines finds; false when it did not fit.
    fn searched(&mut self, old: &[&str], new: &[&str], line: usize) -> bool {
        let ops = capture_diff_slices(Algorithm::Myers, old, new);
        group_diff_ops(ops, CONTEXT)
            .iter()
            .all(|ops| self.hunk(ops, old, new, line))
    }

    fn hunk(&mut self, ops: &[DiffOp], old: &[&str], new: &[&str], line: usize) -> bool {
        let (Some(first), Some(last)) = (ops.first(), ops.last()) else {
            return true;
        };
        let old_side = side(
            line + first.old_range().start,
            first.old_range().start..last.old_range().end,
        );
        let new_side = side(
            line + first.new_range().start,
            first.new_range().start..last.new_range().end,
        );
        self.header(&old_side, &new_side) && ops.iter().all(|op| self.op(op, old, new))
    }

    fn op(&mut self, op: &DiffOp, old: &[&str], new: &[&str]) -> bool {
        let equal = matches!(op, DiffOp::Equal { .. });
        let gone = old.get(op.old_range()).unwrap_or_default();
        let come = new
            .get(op.new_range())
            .filter(|_| !equal)
            .unwrap_or_default();
        gone.iter()
            .all(|line| self.line(line, if equal { " " } else { "-" }))
            && come.iter().all(|line| self.line(line, "+"))
    }

    /// Appends a region as if nothing in it were common.
    fn replaced(&mut self, region: &Region<'_>) -> bool {
        let lines = |text: &str| 0..text.split_inclusive('\n').count();
        let old_side = side(region.line, lines(region.old));
        let new_side = side(region.line, lines(region.new));
        self.header(&old_side, &new_side)
            && region
                .old
                .split_inclusive('\n')
                .all(|line| self.line(line, "-"))
            && region
                .new
                .split_inclusive('\n')
                .all(|line| self.line(line, "+"))
    }

    fn header(&mut self, old_side: &str, new_side: &str) -> bool {
        self.line(&format!("@@ -{old_side} +{new_side} @@\n"), "")
    }

    /// Appends one line behind its mark; false when the text is full.
    fn line(&mut self, line: &str, mark: &str) -> bool {
        let (line, ended) = match line.strip_suffix('\n') {
            Some(line) => (line, true),
            None => (line, false),
        };
        let end = line.floor_char_boundary(MAX_LINE);
        let (shown, cut) = line.split_at(end);
        if self.text.len() + shown.len() > MAX_TEXT {
            return false;
        }
        self.truncated |= !cut.is_empty();
        let dots = if cut.is_empty() { "" } else { "…" };
        let tail = if ended {
            ""
        } else {
            "\\ No newline at end of file\n"
        };
        // writing to a string cannot fail
        writeln!(self.text, "{mark}{shown}{dots}")
            .and_then(|()| self.text.write_str(tail))
            .is_ok()
    }
}

/// The whole lines between what two texts begin and end with in common.
#[derive(Debug, Clone, Copy)]
struct Region<'a> {
    old: &'a str,
    new: &'a str,
    /// Lines in front of it.
    line: usize,
    /// Where it begins in both texts, and how many bytes follow it in both.
    around: (usize, usize),
}

impl<'a> Region<'a> {
    fn changed(old: &'a str, new: &'a str) -> Self {
        let pairs = old.bytes().zip(new.bytes());
        let same = pairs.take_while(|(old, new)| old == new).count();
        // back to the beginning of its line, which is one in both texts
        let start = old
            .as_bytes()
            .get(..same)
            .and_then(|head| head.iter().rposition(|byte| *byte == b'\n'));
        let start = start.map_or(0, |feed| feed + 1);
        let most = old.len().min(new.len()) - start;
        let pairs = old.bytes().rev().zip(new.bytes().rev()).take(most);
        let same = pairs.take_while(|(old, new)| old == new).count();
        let tail = old.as_bytes().get(old.len() - same..).unwrap_or_default();
        let end = tail
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(0, |feed| tail.len() - feed - 1);
        Self::between(old, new, (start, end))
    }

    fn between(old: &'a str, new: &'a str, around: (usize, usize)) -> Self {
        let (start, end) = around;
        let line = old.get(..start).unwrap_or_default().matches('\n').count();
        let cut = |text: &'a str| text.get(start..text.len() - end).unwrap_or_default();
        Self {
            old: cut(old),
            new: cut(new),
            line,
            around,
        }
    }

    /// The same with some common lines before and behind it.
    fn with_context(self, old: &'a str, new: &'a str) -> Self {
        let (start, end) = self.around;
        let before = old.get(..start).unwrap_or_default().split_inclusive('\n');
        let behind = old
            .get(old.len() - end..)
            .unwrap_or_default()
            .split_inclusive('\n');
        let before: usize = before.rev().take(CONTEXT).map(str::len).sum();
        let behind: usize = behind.take(CONTEXT).map(str::len).sum();
        Self::between(old, new, (start - before, end - behind))
    }

    /// The lines of both sides, when they are few enough to be searched.
    fn searchable(self) -> Option<(Vec<&'a str>, Vec<&'a str>, usize)> {
        let lines = |text: &'a str| -> Option<Vec<&'a str>> {
            let lines: Vec<&str> = text.split_inclusive('\n').take(MAX_SEARCHED + 1).collect();
            (lines.len() <= MAX_SEARCHED).then_some(lines)
        };
        Some((lines(self.old)?, lines(self.new)?, self.line))
    }
}

/// One side of a hunk header: first line and length, the line before when it is empty.
fn side(before: usize, lines: Range<usize>) -> String {
    match lines.len() {
        0 => format!("{before},0"),
        1 => format!("{}", before + 1),
        len => format!("{},{len}", before + 1),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hunks_carry_line_numbers_context_and_the_missing_line_feed() {
        let old: String = (1..=20).map(|n| n.to_string() + "\n").collect();
        let new = old.replace("10\n", "ten\n").replace("20\n", "20");
        let expected = "@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n\
                        @@ -17,4 +17,4 @@\n 17\n 18\n 19\n-20\n+20\n\\ No newline at end of file\n";
        assert_eq!(Diff::between(&old, &new).text, expected);
        assert_eq!(Diff::between("", "a\n").text, "@@ -0,0 +1 @@\n+a\n");
        assert_eq!(Diff::between("a\n", "").text, "@@ -1 +0,0 @@\n-a\n");
        assert_eq!(Diff::between(&old, &old), Diff::default());
    }

    #[test]
    fn a_huge_change_costs_little_and_says_that_it_is_cut() {
        let side = |letter: &str| {
            let lines = (0..200_000).map(|n: u32| letter.to_owned() + &n.to_string() + "\n");
            lines.collect::<String>()
        };
        let diff = Diff::between(&side("a"), &side("b"));
        assert!(diff.truncated);
        assert!(diff.text.len() <= MAX_TEXT + 64, "{}", diff.text.len());
        let long = Diff::between("", &"é".repeat(10_000));
        assert!(
            long.truncated && long.text.len() < 2 * MAX_LINE,
            "{}",
            long.text.len()
        );
    }

    /// Applies a whole diff by its own line numbers.
    fn apply(old: &str, diff: &str) -> String {
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let (mut new, mut at) = (String::new(), 0);
        for line in diff
            .replace("\n\\ No newline at end of file\n", "\u{1}")
            .split_inclusive(['\n', '\u{1}'])
        {
            let (mark, text) = line.split_at(1);
            let text = text.strip_suffix('\u{1}').unwrap_or(text);
            match mark {
                "@" => {
                    let from = text
                        .split(['-', ',', ' '])
                        .nth(2)
                        .unwrap()
                        .parse::<usize>()
                        .unwrap();
                    let start = if text.contains(",0 +") {
                        from
                    } else {
                        from - 1
                    };
                    new.extend(old[at..start].iter().copied());
                    at = start;
                }
                "-" => at += 1,
                "+" => new.push_str(text),
                _ => {
                    new.push_str(text);
                    at += 1;
                }
            }
        }
        new.extend(old[at..].iter().copied());
        new
    }

    proptest! {
        #[test]
        fn a_diff_that_is_not_cut_leads_from_the_old_text_to_the_new(
            old in "([abc]{0,2}\n){0,30}[ab]?", new in "([abc]{0,2}\n){0,30}[ab]?",
        ) {
            let diff = Diff::between(&old, &new);
            prop_assert!(!diff.truncated);
            prop_assert_eq!(apply(&old, &diff.text), new.clone());
            let mut coarse = Diff::default();
            prop_assert!(old == new || coarse.replaced(&Region::changed(&old, &new)));
            prop_assert_eq!(apply(&old, &coarse.text), new);
        }
    }
}
