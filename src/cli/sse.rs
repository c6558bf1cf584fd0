//! The reading side of `text/event-stream`, fed piece by piece (HTML Living Standard, section
//! 9.2.6 "Interpreting an event stream").
//!
//! Imports nothing of ours. Knows nothing of what the events mean.

/// Longest line or event, in bytes: a stream without ends of line would fill memory.
const MAX_BYTES: usize = 64 << 20;

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    /// Its type; `message` when the stream names none.
    pub(super) kind: String,
    /// Its data, lines joined.
    pub(super) data: String,
}

/// The stream sent a line or an event over the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is longer than {MAX_BYTES} bytes")]
pub(super) struct TooLong;

/// Where in the stream the parser stands. Feeding it other pieces of the same bytes gives the same
/// messages.
#[derive(Debug, Default)]
pub(super) struct Parser {
    line: Vec<u8>,
    after_return: bool,
    past_start: bool,
    kind: String,
    data: String,
    id: Option<String>,
    last_id: Option<String>,
}

impl Parser {
    /// The id that a reconnect names: that of the last event which came whole, kept over events
    /// that have none.
    pub(super) fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref().filter(|id| !id.is_empty())
    }

    /// Begins a new stream that goes on behind the last id: what was cut off is forgotten.
    pub(super) fn reconnect(&mut self) {
        let last_id = self.last_id.take();
        *self = Self {
            id: last_id.clone(),
            last_id,
            ..Self::default()
        };
    }

    /// Takes the next bytes and gives the messages that they complete.
    ///
    /// # Errors
    /// When a line or an event is over the bound; the stream is of no use then.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Message>, TooLong> {
        let mut messages = Vec::new();
        for piece in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let (text, end) = match piece.split_last() {
                Some((end @ (b'\n' | b'\r'), text)) => (text, Some(*end)),
                Some(_) | None => (piece, None),
            };
            let completes_return = self.after_return && end == Some(b'\n') && text.is_empty();
            self.after_return = end == Some(b'\r');
            if completes_return {
                continue;
            }
            self.line.extend_from_slice(text);
            if self.line.len() + self.data.len() > MAX_BYTES {
                return Err(TooLong);
            }
            if end.is_some() {
                messages.extend(self.end_of_line());
            }
        }
        Ok(messages)
    }

    fn end_of_line(&mut self) -> Option<Message> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let line = if self.past_start {
            &*line
        } else {
            line.trim_start_matches('\u{feff}')
        };
        self.past_start = true;
        if line.is_empty() {
            return self.dispatch();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.kind),
            "data" => {
                self.data.push_str(value);
                self.data.push('\n');
            }
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            // Comments have an empty name; `retry` is ours to choose; the rest means nothing.
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<Message> {
        self.last_id.clone_from(&self.id);
        let kind = std::mem::take(&mut self.kind);
        let mut data = std::mem::take(&mut self.data);
        data.pop()?;
        let kind = if kind.is_empty() {
            "message".to_owned()
        } else {
            kind
        };
        Some(Message { kind, data })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> (Vec<(String, String)>, Option<String>) {
        let mut parser = Parser::default();
        let messages = parser.feed(text.as_bytes()).unwrap();
        let pairs = messages
            .into_iter()
            .map(|message| (message.kind, message.data))
            .collect();
        (pairs, parser.last_id().map(str::to_owned))
    }

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)], last_id: Option<&str>) {
        let (messages, id) = parse(text);
        let messages: Vec<_> = messages
            .iter()
            .map(|(k, d)| (k.as_str(), d.as_str()))
            .collect();
        assert_eq!(messages, expected, "{text:?}");
        assert_eq!(id.as_deref(), last_id, "{text:?}");
    }

    #[test]
    fn fields_are_read_as_the_standard_says() {
        check(
            "id: 7\nevent: tool/call\ndata: {}\n\n",
            &[("tool/call", "{}")],
            Some("7"),
        );
        check("data: a\ndata: b\n\n", &[("message", "a\nb")], None);
        check(
            "data\n\ndata:\n\n",
            &[("message", ""), ("message", "")],
            None,
        );
        check("data:  two\n\n", &[("message", " two")], None);
        check(": heartbeat\n\n", &[], None);
        check("event: x\n\ndata: a\n\n", &[("message", "a")], None);
        check("data: unfinished\n", &[], None);
        check("\u{feff}data: a\n\n", &[("message", "a")], None);
        check("data: a\n\n\u{feff}data: b\n\n", &[("message", "a")], None);
        check(
            "retry: 5\nunknown: x\ndata: a:b\n\n",
            &[("message", "a:b")],
            None,
        );
    }

    #[test]
    fn ids_stay_until_they_are_replaced_and_an_empty_one_removes_them() {
        check(
            "id: 7\ndata: a\n\ndata: b\n\n",
            &[("message", "a"), ("message", "b")],
            Some("7"),
        );
        check("id: 7\n\nid: a\0b\n\n", &[], Some("7"));
        check("id: 7\n\nid\n\n", &[], None);
        check("id: 7\n\nid: 8\ndata: cut off\n", &[], Some("7"));
    }

    #[test]
    fn every_end_of_line_counts_once() {
        for end in ["\n", "\r", "\r\n"] {
            let text = ["event: x", "data: a", "data: b", "", "data: c", "", ""].join(end);
            check(&text, &[("x", "a\nb"), ("message", "c")], None);
        }
    }

    #[test]
    fn a_stream_without_ends_of_line_is_refused() {
        let mut parser = Parser::default();
        let piece = vec![b'x'; 16 << 20];
        let fed = (0..5)
            .map(|_| parser.feed(&piece))
            .collect::<Result<Vec<_>, _>>();
        assert_eq!(fed, Err(TooLong));
    }

    fn streams() -> impl Strategy<Value = String> {
        let word = prop::sample::select(vec![
            "data", "event", "id", "retry", ":", ": ", "a", "é", "\u{feff}", "\0", " ", "{}",
        ]);
        let end = prop::sample::select(vec!["\n", "\r", "\r\n", ""]);
        let line =
            (prop::collection::vec(word, 0..4), end).prop_map(|(words, end)| words.concat() + end);
        prop::collection::vec(line, 0..40).prop_map(|lines| lines.concat())
    }

    proptest! {
        #[test]
        fn how_a_stream_is_cut_does_not_matter(
            text in streams(),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();

            let mut pieces = Parser::default();
            let mut messages = Vec::new();
            for window in cuts.windows(2) {
                messages.extend(pieces.feed(&bytes[window[0]..window[1]]).unwrap());
            }
            let mut whole = Parser::default();
            prop_assert_eq!(&messages, &whole.feed(bytes).unwrap());
            prop_assert_eq!(pieces.last_id(), whole.last_id());

            let mut single = Parser::default();
            let by_bytes: Vec<_> =
                bytes.iter().flat_map(|byte| single.feed(&[*byte]).unwrap()).collect();
            prop_assert_eq!(&messages, &by_bytes);
        }
    }
}
