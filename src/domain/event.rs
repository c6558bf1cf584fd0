//! Events: their types, the envelope and its one encoding (proto-docs/events.md).
//!
//! Imports domain only. An event is encoded once, as the complete SSE frame; the envelope and the
//! data are slices of that frame, so replay, live delivery, pages and answers are the same bytes.

use bytes::Bytes;

use super::{
    clock::Timestamp,
    execution::Execution,
    id::{AgentName, CallId, ExecutionId, SessionId},
    json::ObjectWriter,
};

macro_rules! event_types {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $durable:literal;)+) => {
        /// The type of an event, as `event:` and `type` say it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum EventType {
            $($(#[$doc])* $variant,)+
        }

        impl EventType {
            /// Every type that this version emits.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The wire word.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// Whether it is written to the journal; the others are live only.
            pub fn is_durable(self) -> bool {
                match self { $(Self::$variant => $durable),+ }
            }

            /// The type of a wire word.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|t| t.as_str() == text)
            }
        }
    };
}

event_types! {
    /// A session begins.
    SessionStart = "session/start", true;
    /// A session's settings changed.
    SessionUpdated = "session/updated", true;
    /// A session ended; its log takes no more calls.
    SessionEnd = "session/end", true;
    /// A call was accepted.
    ToolCall = "tool/call", true;
    /// A layer denied, asked, blocked or replaced.
    ToolDecision = "tool/decision", true;
    /// The body is about to run.
    ToolStarted = "tool/started", true;
    /// The frozen result.
    ToolResult = "tool/result", true;
    /// A file was read; its digest is what later writes are checked against.
    FsObserved = "fs/observed", true;
    /// A file is about to be written.
    FsWriteIntent = "fs/write-intent", true;
    /// A file is about to be edited.
    FsEditIntent = "fs/edit-intent", true;
    /// A call moved to another stage.
    ToolState = "tool/state", false;
    /// A body's progress report.
    ToolProgress = "tool/progress", false;
    /// A body's live output.
    ToolOutput = "tool/output", false;
    /// The set of visible tools of an agent changed.
    ToolsChange = "tools/change", false;
}

/// What an event is about; the members of the envelope that name things.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subject {
    /// Session, when it belongs to one.
    pub session: Option<SessionId>,
    /// Agent, when it belongs to one.
    pub agent: Option<AgentName>,
    /// Call, when it belongs to one.
    pub call_id: Option<CallId>,
    /// The call's top-level call.
    pub root_call_id: Option<CallId>,
    /// Execution, when it belongs to one.
    pub execution: Option<ExecutionId>,
    /// The execution that made a nested one.
    pub parent: Option<ExecutionId>,
}

impl Subject {
    /// An event of a session as a whole.
    pub fn session(session: &SessionId, agent: &AgentName) -> Self {
        Self {
            session: Some(session.clone()),
            agent: Some(agent.clone()),
            ..Self::default()
        }
    }

    /// An event of an agent that belongs to no session.
    pub fn agent(agent: &AgentName) -> Self {
        Self {
            agent: Some(agent.clone()),
            ..Self::default()
        }
    }

    /// An event of an execution.
    pub fn execution(execution: &Execution) -> Self {
        Self {
            session: Some(execution.session.clone()),
            agent: Some(execution.agent.clone()),
            call_id: Some(execution.call_id.clone()),
            root_call_id: Some(execution.root_call_id.clone()),
            execution: Some(execution.id),
            parent: execution.parent,
        }
    }
}

/// An event that has not been recorded yet: no id, no seq, no time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventDraft {
    /// Its type.
    pub kind: EventType,
    /// What it is about.
    pub subject: Subject,
    /// Its data: one line of JSON, already encoded.
    pub data: Bytes,
}

impl EventDraft {
    /// A draft whose data is an object that `write` fills.
    pub fn new(
        kind: EventType,
        subject: Subject,
        write: impl FnOnce(&mut ObjectWriter<'_>),
    ) -> Self {
        let mut data = Vec::with_capacity(128);
        let mut w = ObjectWriter::new(&mut data);
        write(&mut w);
        w.end();
        Self {
            kind,
            subject,
            data: data.into(),
        }
    }

    /// Encodes the SSE frame. Durable events have `id` and, within a session, `seq`; live ones
    /// have neither and pass `None`.
    pub fn frame(&self, id: Option<u64>, seq: Option<u64>, time: Timestamp) -> Frame {
        let mut out = Vec::with_capacity(self.data.len() + 420);
        if let Some(id) = id {
            out.extend_from_slice(b"id: ");
            out.extend_from_slice(id.to_string().as_bytes());
            out.push(b'\n');
        }
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(self.kind.as_str().as_bytes());
        out.extend_from_slice(b"\ndata: ");
        let envelope = out.len();
        let mut w = ObjectWriter::new(&mut out);
        if let Some(id) = id {
            w.string("id", &id.to_string());
        }
        if let Some(seq) = seq {
            w.number("seq", seq);
        }
        w.string("time", &time.to_string())
            .string("type", self.kind.as_str());
        self.subject.write(&mut w);
        w.raw("data", &self.data);
        w.end();
        let data = out.len().saturating_sub(1 + self.data.len());
        out.extend_from_slice(b"\n\n");
        Frame {
            bytes: out.into(),
            envelope,
            data,
        }
    }
}

impl Subject {
    fn write(&self, w: &mut ObjectWriter<'_>) {
        w.string_opt("session_id", self.session.as_ref().map(SessionId::as_str))
            .string_opt("agent", self.agent.as_ref().map(AgentName::as_str))
            .string_opt("call_id", self.call_id.as_ref().map(CallId::as_str))
            .string_opt(
                "root_call_id",
                self.root_call_id.as_ref().map(CallId::as_str),
            );
        for (key, id) in [
            ("execution_id", self.execution),
            ("parent_execution_id", self.parent),
        ] {
            if let Some(id) = id {
                id.with_text(|text| {
                    w.string(key, text);
                });
            }
        }
    }
}

/// The one encoding of an event: a complete SSE frame, with the places of envelope and data in it.
/// Cloning shares the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    bytes: Bytes,
    envelope: usize,
    data: usize,
}

impl Frame {
    /// A frame that the store kept: its bytes and the offsets it was made with. `None` when the
    /// offsets do not lie inside the bytes in order.
    pub fn from_parts(bytes: Bytes, envelope: usize, data: usize) -> Option<Self> {
        (envelope <= data && data + 3 <= bytes.len()).then_some(Self {
            bytes,
            envelope,
            data,
        })
    }

    /// The whole SSE frame, final blank line included.
    pub fn sse(&self) -> Bytes {
        self.bytes.clone()
    }

    /// The envelope: one line of JSON.
    pub fn envelope(&self) -> Bytes {
        self.bytes
            .slice(self.envelope..self.bytes.len().saturating_sub(2))
    }

    /// The event's data: one line of JSON, the last member of the envelope.
    pub fn data(&self) -> Bytes {
        self.bytes
            .slice(self.data..self.bytes.len().saturating_sub(3))
    }

    /// Offsets of envelope and data, as the store keeps them.
    pub fn offsets(&self) -> (usize, usize) {
        (self.envelope, self.data)
    }

    /// Size of the whole frame in bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Never true: a frame holds at least its type.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_envelope_and_data_are_slices_of_one_encoding() {
        let session = SessionId::parse("s").unwrap();
        let subject = Subject::session(&session, &AgentName::default_agent());
        let draft = EventDraft::new(EventType::SessionEnd, subject, |w| {
            w.string(
                "reason",
                "a\r\nevent: approval/decided\r\nid: 999999\r\n\r\nb",
            );
        });
        let frame = draft.frame(Some(7), Some(3), Timestamp::from_micros(0));
        let text = String::from_utf8(frame.sse().to_vec()).unwrap();
        let envelope = String::from_utf8(frame.envelope().to_vec()).unwrap();
        assert_eq!(
            text,
            format!("id: 7\nevent: session/end\ndata: {envelope}\n\n")
        );
        assert_eq!(frame.data(), draft.data);
        assert_eq!(
            text.lines().count(),
            4,
            "a frame is three lines and a blank one"
        );
        assert!(envelope.starts_with(r#"{"id":"7","seq":3,"time":"1970-01-01T00:00:00.000000Z""#));
    }

    #[test]
    fn every_type_is_found_by_its_wire_word() {
        for kind in EventType::ALL {
            assert_eq!(EventType::parse(kind.as_str()), Some(*kind));
        }
        assert_eq!(EventType::parse("stream/hello"), None);
    }
}
