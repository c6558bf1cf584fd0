//! What the layers of the pipeline may answer.
//!
//! Imports domain only. The answers carry no mechanism: who merges them and what follows is the
//! pipeline's business.

use super::{
    content::{Content, Context},
    json::Json,
};

/// Where in the pipeline a decision fell, as `tool/decision` says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The negotiable waterfall before the lane.
    PreExecute,
    /// The desk.
    Approval,
    /// Monotonic guards.
    Guard,
    /// The around stack.
    Execute,
    /// The waterfall over the result.
    PostExecute,
    /// The tool's own finalizer.
    Finalize,
}

impl Stage {
    /// The wire word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PreExecute => "pre-execute",
            Self::Approval => "approval",
            Self::Guard => "guard",
            Self::Execute => "execute",
            Self::PostExecute => "post-execute",
            Self::Finalize => "finalize",
        }
    }
}

/// One layer's say, as approvals and decision events name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vote {
    /// The layer's name.
    pub layer: String,
    /// The rule within the layer, when there is one.
    pub rule: Option<String>,
    /// Why, in words for the model and the approver.
    pub reason: Option<String>,
}

impl Vote {
    /// A vote of `layer` with a reason and no rule.
    pub fn of(layer: &str, reason: impl Into<String>) -> Self {
        Self {
            layer: layer.to_owned(),
            rule: None,
            reason: Some(reason.into()),
        }
    }
}

/// Answer of a pre-execute layer. Layers tighten: `Deny` > `Ask` > `Allow`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreDecision {
    /// Nothing against it.
    Allow,
    /// A person must decide; every layer that asks is listed.
    Ask(Vec<Vote>),
    /// No.
    Deny(Vote),
}

impl PreDecision {
    /// The stricter of two answers; asks of both are kept, the first denial wins.
    #[must_use]
    pub fn tighten(self, other: Self) -> Self {
        match (self, other) {
            (Self::Deny(vote), _) | (Self::Allow | Self::Ask(_), Self::Deny(vote)) => {
                Self::Deny(vote)
            }
            (Self::Ask(mut votes), Self::Ask(more)) => {
                votes.extend(more);
                Self::Ask(votes)
            }
            (Self::Ask(votes), Self::Allow) | (Self::Allow, Self::Ask(votes)) => Self::Ask(votes),
            (Self::Allow, Self::Allow) => Self::Allow,
        }
    }
}

/// What an accepting post-execute layer puts in place of the result's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replacement {
    /// Other content; value and meta stay.
    Content(Vec<Content>),
    /// Another value, validated and rendered again; never for a failure.
    Value(Json),
}

/// Answer of a post-execute layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PostDecision {
    /// The result stands, perhaps with one of its parts replaced. Content and value cannot both
    /// be replaced: there is one [`Replacement`].
    Accept {
        /// What is put in place.
        replace: Option<Replacement>,
        /// Messages for the model after the batch.
        contexts: Vec<Context>,
    },
    /// The result becomes a valueless failure whose content is the feedback.
    Block {
        /// What the model reads instead.
        feedback: Vec<Content>,
        /// The only contexts that remain.
        contexts: Vec<Context>,
    },
}

impl PostDecision {
    /// Accepts as is.
    pub fn accept() -> Self {
        Self::Accept {
            replace: None,
            contexts: Vec::new(),
        }
    }

    /// Blocks with one text.
    pub fn block(feedback: impl Into<String>) -> Self {
        Self::Block {
            feedback: vec![Content::text(feedback)],
            contexts: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deny_wins_over_ask_and_ask_over_allow_in_both_orders() {
        let deny = || PreDecision::Deny(Vote::of("a", "no"));
        let ask = || PreDecision::Ask(vec![Vote::of("b", "who")]);
        for (left, right, want) in [
            (deny(), ask(), deny()),
            (ask(), deny(), deny()),
            (deny(), PreDecision::Allow, deny()),
            (PreDecision::Allow, ask(), ask()),
            (ask(), PreDecision::Allow, ask()),
        ] {
            assert_eq!(left.tighten(right), want);
        }
    }
}
