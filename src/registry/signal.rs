//! Cancellation as it travels: one signal per execution, children for wrappers.
//!
//! Imports nothing of ours. A signal only asks; quiescence is the business of who holds it
//! (pipeline, "Cancellation").

use std::sync::{Arc, OnceLock};

use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

/// Why an execution was asked to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// Somebody cancelled: the client, the parent call, the session's end, a shutdown.
    Cancelled {
        /// In words for the model, when given.
        reason: Option<String>,
    },
    /// A wrapper's deadline.
    Timeout,
}

#[derive(Debug)]
struct Inner {
    token: CancellationToken,
    cause: OnceLock<Cause>,
    parent: Option<Signal>,
}

/// A cancellation signal with its cause. Cloning shares it; a child is stopped by its parent and
/// cannot stop it.
#[derive(Debug, Clone)]
pub struct Signal(Arc<Inner>);

impl Signal {
    /// A signal of its own.
    pub fn root() -> Self {
        Self(Arc::new(Inner {
            token: CancellationToken::new(),
            cause: OnceLock::new(),
            parent: None,
        }))
    }

    /// A signal that also follows this one.
    #[must_use]
    pub fn child(&self) -> Self {
        Self(Arc::new(Inner {
            token: self.0.token.child_token(),
            cause: OnceLock::new(),
            parent: Some(self.clone()),
        }))
    }

    /// Asks to stop; the first cause counts. Returns whether this was the first.
    pub fn cancel(&self, cause: Cause) -> bool {
        if self.is_cancelled() {
            return false;
        }
        let first = self.0.cause.set(cause).is_ok();
        self.0.token.cancel();
        first
    }

    /// Whether it was asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.token.is_cancelled()
    }

    /// Waits until it is asked to stop. Cancellation-safe.
    pub fn cancelled(&self) -> WaitForCancellationFuture<'_> {
        self.0.token.cancelled()
    }

    /// Why, once it was asked to stop: its own cause, else its parent's.
    pub fn cause(&self) -> Option<Cause> {
        if let Some(cause) = self.0.cause.get() {
            return Some(cause.clone());
        }
        self.0.parent.as_ref().and_then(Self::cause)
    }

    /// Whether this is `other` or one of its descendants, so that stopping `other` stops it.
    pub fn descends_from(&self, other: &Self) -> bool {
        let mut signal = Some(self);
        while let Some(this) = signal {
            if Arc::ptr_eq(&this.0, &other.0) {
                return true;
            }
            signal = this.0.parent.as_ref();
        }
        false
    }

    /// The token, for libraries that take one. Cancelling it leaves no cause, so it is a child.
    pub fn token(&self) -> CancellationToken {
        self.0.token.child_token()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_follows_its_parent_and_never_stops_it() {
        let parent = Signal::root();
        let child = parent.child();
        assert!(child.cancel(Cause::Timeout));
        assert!(!parent.is_cancelled());
        let other = parent.child();
        assert!(parent.cancel(Cause::Cancelled {
            reason: Some("enough".to_owned())
        }));
        assert!(other.is_cancelled() && other.descends_from(&parent));
        assert!(!parent.descends_from(&other));
        assert_eq!(
            other.cause(),
            Some(Cause::Cancelled {
                reason: Some("enough".to_owned())
            })
        );
        assert_eq!(child.cause(), Some(Cause::Timeout), "the first cause stays");
        assert!(!parent.cancel(Cause::Timeout));
    }
}
