//! Rejections and faults of the scheduler. A call that ends badly is an outcome, not one of these.

use crate::{domain::IdError, journal};

/// Why a request was not accepted; nothing was recorded.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// No such session, or not one that the caller may see.
    #[error("there is no such session")]
    UnknownSession,
    /// No such call in the session.
    #[error("there is no such call in this session")]
    UnknownCall,
    /// No such agent.
    #[error("there is no agent of that name; configure it or register it first")]
    UnknownAgent,
    /// The session id is taken.
    #[error("a session with this id exists already; use it, or choose another id")]
    SessionExists,
    /// The session has ended, or is ending.
    #[error("the session was ended and takes no more calls; make a new one")]
    SessionEnded,
    /// The call id is taken by something else.
    #[error(
        "this call id was used for another call (other name, arguments, turn or step); give each call its own id"
    )]
    CallIdConflict,
    /// The call has its result.
    #[error("the call has its result already; read it at its id")]
    CallSettled,
    /// The session's directory.
    #[error("the session's workspace {0}")]
    Workspace(String),
    /// A session may only tighten.
    #[error("a session may only tighten its approval policy, from ask to never")]
    PolicyLoosened,
    /// Too many calls are under way.
    #[error("too many calls are under way; try again shortly")]
    Overloaded,
    /// The daemon is stopping.
    #[error("the daemon is stopping; try again when it is back")]
    Draining,
    /// The call's task ended by a fault of ours; what became of it is recorded at its id.
    #[error("the daemon failed on this call; its end is recorded at its id")]
    Faulted,
    /// An id that is none.
    #[error(transparent)]
    BadId(#[from] IdError),
    /// The store's fault.
    #[error(transparent)]
    Store(#[from] journal::Error),
}
