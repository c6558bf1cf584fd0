//! Standard output and error: text that cannot take a terminal over, colours where they are
//! wanted, and the end of a pipe.
//!
//! Imports `error`. Every command writes through it.

use std::io::{self, IsTerminal, Write};

use super::error::Error;

/// How text may look where it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// A file or a pipe: bytes as they are.
    Raw,
    /// A terminal without colours.
    Plain,
    /// A terminal with colours.
    Colour,
}

/// A colour of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Colour {
    /// What matters less.
    Dim,
    /// What went well.
    Green,
    /// What failed.
    Red,
    /// What to look at.
    Yellow,
    /// Names.
    Cyan,
}

impl Style {
    /// The text in a colour, where there are colours.
    pub(super) fn paint(self, colour: Colour, text: &str) -> String {
        let code = match colour {
            Colour::Dim => 2,
            Colour::Green => 32,
            Colour::Red => 31,
            Colour::Yellow => 33,
            Colour::Cyan => 36,
        };
        match self {
            Self::Colour => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            Self::Raw | Self::Plain => text.to_owned(),
        }
    }

    /// The text as it may be shown: on a terminal, what would move the cursor, recolour, hide or
    /// reorder is written out. Ends of line and tabs stay.
    pub(super) fn lines(self, text: &str) -> String {
        match self {
            Self::Raw => text.to_owned(),
            Self::Plain | Self::Colour => escaped(text, |c| matches!(c, '\n' | '\t')),
        }
    }
}

/// The text on one line, with everything that is not to be seen written out.
pub(super) fn one_line(text: &str) -> String {
    escaped(text, |_| false)
}

fn escaped(text: &str, keep: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if keep(c) || !(c.is_control() || is_invisible(c)) {
            out.push(c);
        } else {
            out.extend(c.escape_default());
        }
    }
    out
}

/// Characters that reorder or hide what stands around them.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// The first characters of a text, and whether there were more.
pub(super) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Rows with their columns aligned, the last one ragged.
pub(super) fn table(rows: &[[String; 2]]) -> String {
    let width = rows
        .iter()
        .map(|[first, _]| first.chars().count())
        .max()
        .unwrap_or_default();
    let mut text = String::new();
    for [first, second] in rows {
        text.push_str(first);
        text.extend(std::iter::repeat_n(
            ' ',
            width.saturating_sub(first.chars().count()) + 2,
        ));
        text.push_str(second);
        text.push('\n');
    }
    text
}

/// What the user said about colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColourWish {
    /// Nothing.
    Open,
    /// None, please.
    Declined,
}

/// Where a command writes.
pub(super) struct Screen {
    out: Box<dyn Write>,
    style: Style,
    err: Box<dyn Write>,
    note_style: Style,
}

impl Screen {
    /// The process's standard output and error.
    pub(super) fn of_process(colours: ColourWish) -> Self {
        let (out, err) = (io::stdout(), io::stderr());
        let style = |is_terminal| match (is_terminal, colours) {
            (false, _) => Style::Raw,
            (true, ColourWish::Declined) => Style::Plain,
            (true, ColourWish::Open) => Style::Colour,
        };
        let styles = [out.is_terminal(), err.is_terminal()].map(style);
        Self::new(out, err, styles)
    }

    /// A screen of two writers, with the looks of output and of what is said beside it.
    pub(super) fn new(
        out: impl Write + 'static,
        err: impl Write + 'static,
        [style, note_style]: [Style; 2],
    ) -> Self {
        Self {
            out: Box::new(out),
            style,
            err: Box::new(err),
            note_style,
        }
    }

    /// How standard output may look.
    pub(super) fn style(&self) -> Style {
        self.style
    }

    /// How standard error may look.
    pub(super) fn note_style(&self) -> Style {
        self.note_style
    }

    /// Writes to standard output, now.
    ///
    /// # Errors
    /// When nobody takes it.
    pub(super) fn print(&mut self, text: &[u8]) -> Result<(), Error> {
        self.out.write_all(text)?;
        Ok(self.out.flush()?)
    }

    /// Writes a line to standard output, now.
    ///
    /// # Errors
    /// When nobody takes it.
    pub(super) fn line(&mut self, text: &str) -> Result<(), Error> {
        self.print(format!("{text}\n").as_bytes())
    }

    /// Says something beside the output, on standard error. That nobody hears it is no failure.
    pub(super) fn note(&mut self, text: &str) {
        let _unheard = self.err.write_all(format!("{text}\n").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_take_a_terminal_over() {
        let text = "a\u{1b}[2J\tb\r\n\u{202e}c\u{9b}1m";
        assert_eq!(Style::Raw.lines(text), text);
        assert_eq!(
            Style::Plain.lines(text),
            "a\\u{1b}[2J\tb\\r\n\\u{202e}c\\u{9b}1m"
        );
        assert_eq!(one_line("a\nb\tc\0"), "a\\nb\\tc\\u{0}");
        assert_eq!(one_line("é → 語"), "é → 語");
    }

    #[test]
    fn colours_are_for_terminals() {
        assert_eq!(
            Style::Colour.paint(Colour::Red, "x"),
            "\u{1b}[31mx\u{1b}[0m"
        );
        assert_eq!(Style::Plain.paint(Colour::Red, "x"), "x");
    }

    #[test]
    fn shortened_text_says_so() {
        assert_eq!(shortened("äöü", 3), "äöü");
        assert_eq!(shortened("äöü", 2), "äö…");
    }

    #[test]
    fn columns_are_aligned() {
        let rows = [["a", "1"], ["bé", "2"]].map(|row| row.map(str::to_owned));
        assert_eq!(table(&rows), "a   1\nbé  2\n");
    }
}
