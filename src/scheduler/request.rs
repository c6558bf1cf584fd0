//! What is asked of the scheduler: a session, a call; and the freezing of a call's arguments.

use std::sync::Arc;

use bytes::Bytes;

use super::submit::Slot;
use crate::{
    domain::{
        AgentName, ApprovalPolicy, CallId, Digest, Json, Object, SessionId,
        json::{Limits, ObjectWriter, ReadError},
    },
    tasks::HEAVY,
};

/// A session to open.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// Its id; the daemon makes one when none is given.
    pub id: Option<SessionId>,
    /// The agent that owns it.
    pub agent: AgentName,
    /// A directory inside the workspace root; the root itself when none is given.
    pub workspace: Option<String>,
    /// Its own approval policy; the configured one when none is given.
    pub approval_policy: Option<ApprovalPolicy>,
    /// What the client keeps with it.
    pub metadata: Object,
    /// Who opens it.
    pub principal: Arc<str>,
}

/// A call to submit.
#[derive(Debug)]
pub struct CallRequest {
    /// Its session.
    pub session: SessionId,
    /// The model's id; the daemon makes one when none is given.
    pub call_id: Option<CallId>,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The raw JSON text of the `arguments` member, if there was one.
    pub arguments: Option<Bytes>,
    /// The client's turn.
    pub turn: Option<u64>,
    /// The client's step.
    pub step: Option<u64>,
    /// Who submits it.
    pub principal: Arc<str>,
    /// Whether the call is cancelled when its submission is dropped before it is answered.
    pub tied: bool,
    /// Its place among the calls under way, where it was reserved.
    pub place: Option<Reserved>,
}

/// A place among the calls under way, taken before the call is there; dropping it gives it back.
#[derive(Debug)]
pub struct Reserved(pub(super) Slot);

/// A call's arguments, frozen: read losslessly, or kept as they came with the reason.
#[derive(Debug, Clone)]
pub(super) struct FrozenArguments {
    /// What the body will get; empty when unreadable.
    pub(super) object: Arc<Object>,
    /// Why they could not be read, and the text.
    pub(super) unreadable: Option<(ReadError, String)>,
    /// Digest of name and arguments.
    pub(super) digest: Digest,
}

impl FrozenArguments {
    /// Reads the raw member.
    pub(super) fn read(name: &str, raw: Option<&[u8]>) -> Self {
        match Json::read_arguments(raw, &Limits::default()) {
            Ok(object) => Self::of(name, object),
            Err(error) => {
                let text = raw_text(raw.unwrap_or_default());
                let mut canonical = Vec::with_capacity(text.len() + 64);
                let mut w = ObjectWriter::new(&mut canonical);
                w.string("name", name).string("raw_arguments", &text);
                w.end();
                Self {
                    object: Arc::default(),
                    digest: Digest::of_bytes(&canonical),
                    unreadable: Some((error, text)),
                }
            }
        }
    }

    /// Whether working on them takes long.
    pub(super) fn is_heavy(&self) -> bool {
        let heavy = |value: &Json| value.is_heavier_than(HEAVY);
        self.object.len() > HEAVY || self.object.values().any(heavy)
    }

    /// Arguments that are an object already.
    pub(super) fn of(name: &str, object: Object) -> Self {
        let digest = Digest::of_call(name, &object);
        Self {
            object: Arc::new(object),
            unreadable: None,
            digest,
        }
    }
}

/// What the model wrote: the content of a JSON string, or the JSON text itself.
fn raw_text(raw: &[u8]) -> String {
    match Json::read(raw, &Limits::default()) {
        Ok(Json::String(text)) => text,
        Ok(_) | Err(_) => String::from_utf8_lossy(raw).into_owned(),
    }
}
