//! Reads a real event stream, frame by frame.

use reqwest::Response;
use serde_json::Value;

/// One frame.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) kind: String,
    /// The text after `data: `, untouched.
    pub(crate) text: String,
}

impl Event {
    /// The envelope, or the data of a `stream/…` frame.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|e| panic!("{e} in {:?}", self.text))
    }

    /// The envelope's data.
    pub(crate) fn data(&self) -> Value {
        self.json()["data"].clone()
    }

    pub(crate) fn call_id(&self) -> String {
        self.json()["call_id"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    pub(crate) fn is_durable(&self) -> bool {
        self.id.is_some() && !self.kind.starts_with("stream/")
    }
}

/// An open stream.
pub(crate) struct Stream {
    pub(crate) response: Response,
    buffer: Vec<u8>,
    /// Comments seen.
    pub(crate) comments: usize,
}

impl Stream {
    pub(crate) fn new(response: Response) -> Self {
        assert_eq!(response.status(), 200, "the stream was refused");
        Self {
            response,
            buffer: Vec::new(),
            comments: 0,
        }
    }

    /// The next frame; `None` when the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|two| two == b"\n\n") {
                let frame: Vec<u8> = self.buffer.drain(..end + 2).collect();
                let frame = String::from_utf8(frame).expect("UTF-8");
                if let Some(event) = self.parse(&frame) {
                    return Some(event);
                }
                continue;
            }
            match self.response.chunk().await {
                Ok(Some(chunk)) => self.buffer.extend_from_slice(&chunk),
                Ok(None) | Err(_) => return None,
            }
        }
    }

    fn parse(&mut self, frame: &str) -> Option<Event> {
        let mut event = Event {
            id: None,
            kind: String::new(),
            text: String::new(),
        };
        for line in frame.lines() {
            match line.split_once(": ") {
                Some(("id", id)) => event.id = Some(id.to_owned()),
                Some(("event", kind)) => kind.clone_into(&mut event.kind),
                Some(("data", text)) => {
                    assert!(event.text.is_empty(), "data is one line: {frame:?}");
                    text.clone_into(&mut event.text);
                }
                _ if line.starts_with(':') => self.comments += 1,
                _ => assert!(line.is_empty(), "an unexpected line {line:?} in {frame:?}"),
            }
        }
        (!event.kind.is_empty()).then_some(event)
    }

    /// The next frame of this type, others passed over.
    pub(crate) async fn until(&mut self, kind: &str) -> Event {
        loop {
            let event = self.next().await;
            let event = event.unwrap_or_else(|| panic!("the stream ended before {kind}"));
            if event.kind == kind {
                return event;
            }
        }
    }

    /// Everything up to and including the first frame of this type.
    pub(crate) async fn collect(&mut self, kind: &str) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            let last = event.kind == kind;
            events.push(event);
            if last {
                return events;
            }
        }
        panic!("the stream ended before {kind}: {events:?}")
    }
}
