//! Which form of an answer a client wants: `Accept` (RFC 9110 §12.5.1).
//!
//! Pure; imports nothing of ours.

use axum::http::{HeaderMap, header};

use super::lists;

/// A form that an answer can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `application/json`.
    Json,
    /// `text/event-stream`.
    Events,
    /// Whatever the route makes; `Accept` is not asked, because scrapers and probes send odd ones.
    Plain,
}

impl Form {
    /// The media type.
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Events => "text/event-stream",
            Self::Plain => "text/plain",
        }
    }
}

/// Chooses among the forms that a route offers, the route's own favourite first. Nothing when the
/// client takes none of them.
pub(crate) fn choose(headers: &HeaderMap, offered: &[Form]) -> Option<Form> {
    let favourite = *offered.first()?;
    let mut ranges = Vec::new();
    for header in headers.get_all(header::ACCEPT) {
        // What is not text names nothing that we make.
        ranges.extend(lists::split(header.to_str().unwrap_or("?"), ','));
    }
    if ranges.is_empty() || favourite == Form::Plain {
        return Some(favourite);
    }
    let mut best = None;
    for form in offered {
        let quality = quality_of(form.media_type(), &ranges);
        if quality > best.map_or(0, |(_, quality)| quality) {
            best = Some((*form, quality));
        }
    }
    best.map(|(form, _)| form)
}

/// The weight, in thousandths, that the most specific range gives to a media type.
fn quality_of(media_type: &str, ranges: &[&str]) -> u16 {
    let mut found = (0, 0);
    for range in ranges {
        let mut parts = lists::split(range, ';');
        let specific = specificity(parts.next().unwrap_or_default(), media_type);
        let weight = parts
            .map(lists::pair)
            .find(|(name, _)| name.eq_ignore_ascii_case("q"));
        let quality = weight.map_or(1000, |(_, value)| thousandths(value));
        if specific > 0 {
            found = found.max((specific, quality));
        }
    }
    found.1
}

fn specificity(range: &str, media_type: &str) -> u8 {
    if range.eq_ignore_ascii_case(media_type) {
        return 3;
    }
    let family = |family: &str| {
        let prefix = media_type.get(..family.len());
        prefix.is_some_and(|p| p.eq_ignore_ascii_case(family))
            && media_type.as_bytes().get(family.len()) == Some(&b'/')
    };
    match range {
        "*/*" => 1,
        _ if range.strip_suffix("/*").is_some_and(family) => 2,
        _ => 0,
    }
}

/// `qvalue`; one that is malformed counts as not wanted.
fn thousandths(value: &str) -> u16 {
    let quality = value
        .parse::<f32>()
        .ok()
        .filter(|q| (0.0..=1.0).contains(q))
        .unwrap_or(0.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and 1000"
    )]
    let thousandths = (quality * 1000.0).round() as u16;
    thousandths
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn ask(accept: Option<&str>, offered: &[Form]) -> Option<Form> {
        let mut headers = HeaderMap::new();
        if let Some(accept) = accept {
            headers.insert(header::ACCEPT, HeaderValue::from_str(accept).unwrap());
        }
        choose(&headers, offered)
    }

    #[test]
    fn a_call_answers_json_unless_events_are_wanted_more() {
        let offered = [Form::Json, Form::Events];
        for (accept, want) in [
            (None, Some(Form::Json)),
            (Some(""), Some(Form::Json)),
            (Some("*/*"), Some(Form::Json)),
            (Some("application/*"), Some(Form::Json)),
            (Some("application/json; charset=utf-8"), Some(Form::Json)),
            (Some("text/event-stream"), Some(Form::Events)),
            (Some("TEXT/Event-Stream"), Some(Form::Events)),
            (Some("text/*"), Some(Form::Events)),
            (
                Some("application/json, text/event-stream"),
                Some(Form::Json),
            ),
            (Some("text/event-stream, */*;q=0.1"), Some(Form::Events)),
            (
                Some("text/event-stream;q=0.5, application/json;q=0.6"),
                Some(Form::Json),
            ),
            (Some("*/*, application/json;q=0"), Some(Form::Events)),
            (Some("text/html"), None),
            (Some("application/json;q=0"), None),
            (Some("application/jsonx, application, /json"), None),
            (Some("application/json;q=2"), None),
        ] {
            assert_eq!(ask(accept, &offered), want, "{accept:?}");
        }
    }

    #[test]
    fn a_stream_is_the_favourite_where_the_route_says_so() {
        let offered = [Form::Events, Form::Json];
        assert_eq!(ask(Some("*/*"), &offered), Some(Form::Events));
        assert_eq!(ask(Some("application/json"), &offered), Some(Form::Json));
    }

    #[test]
    fn scrapers_may_ask_for_anything() {
        assert_eq!(
            ask(Some("application/openmetrics-text"), &[Form::Plain]),
            Some(Form::Plain)
        );
    }

    proptest! {
        #[test]
        fn what_is_chosen_was_offered(accept in "[ -~]{0,60}") {
            let offered = [Form::Json, Form::Events];
            let chosen = ask(Some(&accept), &offered);
            prop_assert!(chosen.is_none_or(|form| offered.contains(&form)));
        }
    }
}
