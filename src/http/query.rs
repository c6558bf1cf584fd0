//! Query parameters, as strict as bodies: what a route does not declare is refused.
//!
//! Imports nothing of ours but `problem`. A parameter is declared with its form once, in the
//! table of routes; the check, the documents and the reading all follow that declaration.

use axum::{extract::Query as Pairs, http::Uri};

use super::problem::{Problem, ProblemCode};

/// Rows of a page when `limit` is not given.
const PAGE: usize = 100;
/// Most rows of a page.
const MOST: u64 = 1000;

/// A parameter that a route takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Param {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it looks like.
    pub(crate) form: ParamForm,
    /// What it does.
    pub(crate) about: &'static str,
}

/// What a parameter looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParamForm {
    /// Any text; the handler says what it may be.
    Text,
    /// A whole number between the two, bounds included.
    Number(u64, u64),
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
}

impl Param {
    /// A text.
    pub(crate) const fn text(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            form: ParamForm::Text,
            about,
        }
    }

    /// One of some words.
    pub(crate) const fn word(
        name: &'static str,
        words: &'static [&'static str],
        about: &'static str,
    ) -> Self {
        Self {
            name,
            form: ParamForm::Word(words),
            about,
        }
    }

    /// `true` or `false`.
    pub(crate) const fn flag(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            form: ParamForm::Flag,
            about,
        }
    }

    /// Seconds.
    pub(crate) const fn seconds(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            form: ParamForm::Number(0, u64::MAX),
            about,
        }
    }

    /// A cursor of events.
    pub(crate) const fn cursor(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            form: ParamForm::Number(0, u64::MAX),
            about,
        }
    }

    /// The size of a page.
    pub(crate) const LIMIT: Self = Self {
        name: "limit",
        form: ParamForm::Number(1, MOST),
        about: "Rows of the page; 100 when it is not given.",
    };

    /// Where a page starts.
    pub(crate) const CURSOR: Self = Self {
        name: "cursor",
        form: ParamForm::Number(0, u64::MAX),
        about: "`next_cursor` of the page before.",
    };

    /// Where a page of named things starts.
    pub(crate) const NAME_CURSOR: Self = Self::text("cursor", Self::CURSOR.about);

    /// The size of a page of a list that is whole otherwise.
    pub(crate) const OWN_LIMIT: Self = Self {
        about: "Rows of the page; all when it is not given.",
        ..Self::LIMIT
    };

    fn check(&self, value: &str) -> Result<(), Problem> {
        let fits = match self.form {
            ParamForm::Text => true,
            ParamForm::Flag => matches!(value, "true" | "false"),
            ParamForm::Word(words) => words.contains(&value),
            ParamForm::Number(least, most) => {
                number(value).is_some_and(|n| (least..=most).contains(&n))
            }
        };
        if fits {
            return Ok(());
        }
        let found = value.chars().take(80).collect::<String>();
        let detail = format!(
            "the parameter `{}` must be {}, this is {found:?}",
            self.name,
            self.form.expected()
        );
        Err(Problem::new(ProblemCode::InvalidRequest, detail))
    }
}

impl ParamForm {
    fn expected(self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::Flag => "`true` or `false`".to_owned(),
            Self::Word(words) => format!("one of `{}`", words.join("`, `")),
            Self::Number(least, u64::MAX) => format!("a whole number from {least}"),
            Self::Number(least, most) => format!("a whole number from {least} to {most}"),
        }
    }
}

/// Digits alone; what is too large for us is the largest.
pub(crate) fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

/// The parameters of one request, all of them declared and well formed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads and checks the query of a URI.
    ///
    /// # Errors
    /// `INVALID_REQUEST` that names the parameter: unknown, given twice, or of the wrong form.
    pub(crate) fn read(uri: &Uri, declared: &[Param]) -> Result<Self, Problem> {
        if uri.query().is_none_or(str::is_empty) {
            return Ok(Self::default());
        }
        let malformed = |_| Problem::new(ProblemCode::InvalidRequest, "the query is malformed");
        let Pairs(pairs) = Pairs::<Vec<(String, String)>>::try_from_uri(uri).map_err(malformed)?;
        for (at, (name, value)) in pairs.iter().enumerate() {
            let Some(param) = declared.iter().find(|param| param.name == name) else {
                return Err(unknown(name, declared));
            };
            if pairs.iter().take(at).any(|(earlier, _)| earlier == name) {
                let detail = format!("the parameter `{name}` stands twice");
                return Err(Problem::new(ProblemCode::InvalidRequest, detail));
            }
            param.check(value)?;
        }
        Ok(Self(pairs))
    }

    /// The text of a parameter.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(found, _)| found == name)
            .map(|(_, value)| value.as_str())
    }

    /// The number of a parameter.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.text(name).and_then(number)
    }

    /// Whether a flag is given and `true`.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.text(name) == Some("true")
    }

    /// The page of named things, sorted by their names, that the parameters ask for: behind
    /// `cursor`, at most `limit`. All when neither is given. With it the next page's cursor.
    pub(crate) fn page_of<'t, T>(
        &self,
        things: &'t [T],
        name: impl Fn(&'t T) -> &'t str,
    ) -> (&'t [T], Option<&'t str>) {
        let behind = |cursor| things.iter().position(|thing| name(thing) > cursor);
        let begun = match self.text("cursor") {
            Some(cursor) => behind(cursor).unwrap_or(things.len()),
            None => 0,
        };
        let left = things.get(begun..).unwrap_or_default();
        let rows = self.number("limit").map_or(left.len(), |limit| {
            usize::try_from(limit).unwrap_or(usize::MAX).min(left.len())
        });
        let (page, later) = left.split_at(rows);
        let next = page.last().filter(|_| !later.is_empty()).map(name);
        (page, next)
    }

    /// Rows of the page.
    pub(crate) fn limit(&self) -> usize {
        self.number("limit")
            .and_then(|n| usize::try_from(n).ok())
            .unwrap_or(PAGE)
    }
}

fn unknown(name: &str, declared: &[Param]) -> Problem {
    let name = name.chars().take(80).collect::<String>();
    let known = declared
        .iter()
        .map(|param| format!("`{}`", param.name))
        .collect::<Vec<_>>();
    let detail = if known.is_empty() {
        format!("unknown parameter {name:?}: this request takes none")
    } else {
        format!(
            "unknown parameter {name:?}: this request takes {}",
            known.join(", ")
        )
    };
    Problem::new(ProblemCode::InvalidRequest, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_named_things_begins_behind_a_name_even_one_that_is_gone() {
        let things = ["a", "c", "e"];
        for (query, page, next) in [
            ("", &["a", "c", "e"][..], None),
            ("limit=3", &["a", "c", "e"], None),
            ("limit=2", &["a", "c"], Some("c")),
            ("limit=1&cursor=a", &["c"], Some("c")),
            ("limit=9&cursor=b", &["c", "e"], None),
            ("cursor=e", &[], None),
        ] {
            let uri = format!("/?{query}").parse().unwrap();
            let read = Query::read(&uri, &[Param::NAME_CURSOR, Param::OWN_LIMIT]).unwrap();
            assert_eq!(
                read.page_of(&things, |thing| thing),
                (page, next),
                "{query}"
            );
        }
    }

    const DECLARED: &[Param] = &[
        Param::text("agent", ""),
        Param::LIMIT,
        Param::CURSOR,
        Param::flag("nested", ""),
        Param::word("format", &["native", "mcp"], ""),
    ];

    fn read(query: &str) -> Result<Query, String> {
        let uri = format!("/v1/x?{query}").parse::<Uri>().unwrap();
        Query::read(&uri, DECLARED).map_err(|problem| problem.detail().to_owned())
    }

    #[test]
    fn declared_parameters_are_read_and_decoded() {
        let query = read("agent=a%20b&limit=7&nested=true&cursor=18446744073709551616").unwrap();
        assert_eq!(query.text("agent"), Some("a b"));
        assert_eq!(query.limit(), 7);
        assert!(query.is_set("nested"));
        assert_eq!(query.number("cursor"), Some(u64::MAX));
        assert_eq!(read("").unwrap().limit(), 100);
    }

    #[test]
    fn anything_else_is_refused_by_name() {
        for (query, named) in [
            ("agnet=a", "unknown parameter \"agnet\""),
            ("token=secret", "unknown parameter \"token\""),
            ("agent=a&agent=b", "`agent` stands twice"),
            ("limit=0", "`limit` must be a whole number from 1 to 1000"),
            ("limit=1001", "`limit` must be"),
            ("limit=-1", "`limit` must be"),
            ("limit=", "`limit` must be"),
            ("limit=1.0", "`limit` must be"),
            ("nested=1", "`nested` must be `true` or `false`"),
            ("format=gemini", "`format` must be one of `native`, `mcp`"),
        ] {
            let said = read(query).unwrap_err();
            assert!(said.contains(named), "{query}: {said}");
        }
    }
}
