//! Faults of the store. A refusal of an append is not a fault: see [`super::Refusal`].

use std::sync::Arc;

/// Why the store could not do it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The store cannot write or read now; nothing of the request was recorded.
    #[error("the store is not available: {context}")]
    Unavailable {
        /// What was being done.
        context: &'static str,
        /// The cause, for the log only.
        #[source]
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// What was read breaks an invariant of the journal; it is not served.
    #[error(
        "the store holds a damaged record ({what}); run `toold check` and restore from a backup"
    )]
    Damaged {
        /// Which record.
        what: String,
    },
}
