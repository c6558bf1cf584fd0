//! The closed set of outcome codes (proto-docs/errors.md) beside a tool's own.
//!
//! Imports nothing. HTTP problem codes are another set and live in `http`.

use std::fmt;

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $name:literal, $retryable:literal;)+) => {
        /// An outcome code of the daemon's own.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($(#[$doc])* $variant,)+
        }

        impl ErrorCode {
            /// Every code, in the order of the outcome table.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The wire word.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code),+ }
            }

            /// The error's class name on the wire (`error.name`).
            pub fn class_name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// Whether the same call may be worth repeating, when the tool says nothing of itself.
            pub fn retryable(self) -> bool {
                match self { $(Self::$variant => $retryable),+ }
            }
        }
    };
}

codes! {
    /// Arguments are not lossless JSON, or violate the tool's schema.
    InvalidArgs = "INVALID_ARGS", "ToolArgsError", false;
    /// No such tool for this agent.
    UnknownTool = "UNKNOWN_TOOL", "UnknownToolError", false;
    /// A pre-execute layer said no.
    Denied = "DENIED", "DeniedError", false;
    /// A person, or the policy `never`, said no.
    ApprovalRejected = "APPROVAL_REJECTED", "ApprovalRejectedError", false;
    /// Nobody could be asked.
    ApprovalUnavailable = "APPROVAL_UNAVAILABLE", "ApprovalUnavailableError", true;
    /// Nobody answered in time.
    ApprovalExpired = "APPROVAL_EXPIRED", "ApprovalExpiredError", true;
    /// The ask was withdrawn.
    ApprovalCancelled = "APPROVAL_CANCELLED", "ApprovalCancelledError", false;
    /// A guard said no.
    GuardDenied = "GUARD_DENIED", "GuardDeniedError", false;
    /// Cancelled before the body.
    AbortedBeforeDispatch = "ABORTED_BEFORE_DISPATCH", "AbortedError", false;
    /// The pipeline itself failed.
    PipelineError = "PIPELINE_ERROR", "PipelineError", true;
    /// The body failed without a code of its own.
    ToolError = "TOOL_ERROR", "ToolError", false;
    /// The tool's own deadline won.
    ToolTimeout = "TOOL_TIMEOUT", "ToolTimeoutError", true;
    /// The body's output broke its contract.
    InvalidToolOutput = "INVALID_TOOL_OUTPUT", "ToolOutputError", false;
    /// Cancelled after the body started.
    Aborted = "ABORTED", "AbortedError", false;
    /// A budget is used up.
    RateLimited = "RATE_LIMITED", "RateLimitedError", true;
    /// The tool's source is gone, or its breaker open.
    ToolUnavailable = "TOOL_UNAVAILABLE", "ToolUnavailableError", true;
    /// A post-execute layer withheld the result.
    Blocked = "BLOCKED", "BlockedError", false;
    /// The daemon or the tool's source died while the body ran.
    ToolOutcomeUnknown = "TOOL_OUTCOME_UNKNOWN", "ToolOutcomeUnknownError", false;
}

/// The code of a failure: ours, or the tool's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Code {
    /// One of the closed set.
    Ours(ErrorCode),
    /// A tool's own, kept as it is.
    Tool(String),
}

impl Code {
    /// A tool's own code; one that equals ours becomes `TOOL_ERROR`, as does one
    /// that is not `^[A-Z][A-Z0-9_]{0,63}$`.
    pub fn of_tool(code: &str) -> Self {
        let fits = code.len() <= 64
            && code.starts_with(|c: char| c.is_ascii_uppercase())
            && code
                .chars()
                .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        if fits && !ErrorCode::ALL.iter().any(|ours| ours.as_str() == code) {
            Self::Tool(code.to_owned())
        } else {
            Self::Ours(ErrorCode::ToolError)
        }
    }

    /// The wire word.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Ours(code) => code.as_str(),
            Self::Tool(code) => code,
        }
    }

    /// The error's class name on the wire.
    pub fn class_name(&self) -> &'static str {
        match self {
            Self::Ours(code) => code.class_name(),
            Self::Tool(_) => ErrorCode::ToolError.class_name(),
        }
    }
}

impl From<ErrorCode> for Code {
    fn from(code: ErrorCode) -> Self {
        Self::Ours(code)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_cannot_wear_one_of_our_codes() {
        assert_eq!(
            Code::of_tool("FS_NOT_FOUND"),
            Code::Tool("FS_NOT_FOUND".to_owned())
        );
        for ours in ErrorCode::ALL {
            assert_eq!(
                Code::of_tool(ours.as_str()),
                Code::Ours(ErrorCode::ToolError)
            );
        }
        assert_eq!(
            Code::of_tool("lower case"),
            Code::Ours(ErrorCode::ToolError)
        );
    }
}
