//! The desk: where an ask of policy becomes a person's decision.
//!
//! Imports `domain`, `journal`, `policy`, `registry`. In this version no answer channel exists, so
//! an ask ends at once: `rejected` where the approval policy is `never`, else `unavailable`.
//! Nothing is ever granted here.

use crate::domain::{ApprovalPolicy, ErrorCode, Vote};

/// How an ask ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskOutcome {
    /// Somebody said no, or the approval policy is `never`.
    Rejected,
    /// Nobody could answer.
    Unavailable,
}

impl AskOutcome {
    /// The wire word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rejected => "rejected",
            Self::Unavailable => "unavailable",
        }
    }

    /// The outcome code of a call that ends here.
    pub fn code(self) -> ErrorCode {
        match self {
            Self::Rejected => ErrorCode::ApprovalRejected,
            Self::Unavailable => ErrorCode::ApprovalUnavailable,
        }
    }

    /// What the model is told.
    pub fn message(self) -> &'static str {
        match self {
            Self::Rejected => "this call needs approval, and the approval policy is never to ask",
            Self::Unavailable => "this call needs approval, and nobody is there who could give it",
        }
    }
}

/// The desk. A cheap handle.
#[derive(Debug, Clone, Default)]
pub struct Desk;

impl Desk {
    /// Decides an ask without waiting: there is no channel to wait for.
    pub fn ask(&self, policy: ApprovalPolicy, asked_by: &[Vote]) -> AskOutcome {
        let outcome = match policy {
            ApprovalPolicy::Never => AskOutcome::Rejected,
            ApprovalPolicy::Ask => AskOutcome::Unavailable,
        };
        tracing::info!(
            outcome = outcome.as_str(),
            layers = asked_by.len(),
            "ask ended"
        );
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ask_is_never_granted_and_never_tells_unavailable_as_rejected() {
        let votes = [Vote::of("rules", "may hold secrets")];
        let code = |policy| Desk.ask(policy, &votes).code();
        assert_eq!(code(ApprovalPolicy::Ask), ErrorCode::ApprovalUnavailable);
        assert_eq!(code(ApprovalPolicy::Never), ErrorCode::ApprovalRejected);
    }
}
