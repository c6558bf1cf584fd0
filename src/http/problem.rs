//! Refusals and faults as `application/problem+json` (RFC 9457; proto-docs/errors.md).
//!
//! Owns the one table of problem codes, their status and their retry advice, and the translation
//! of the errors of scheduler and journal into it. Imports `domain`, `journal`, `scheduler`. Must
//! not know routes. Outcomes of calls never come here: they are `200`.

use std::borrow::Cow;

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use crate::{
    domain::json::{DecodeError, ObjectWriter, ReadError},
    journal, registry, scheduler,
};

macro_rules! problem_codes {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $status:ident, $title:literal;)+) => {
        /// A code of a request that failed. Closed: clients may match on it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ProblemCode {
            $($(#[$doc])* $variant,)+
        }

        impl ProblemCode {
            /// Every code, by status.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The wire word.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code),+ }
            }

            /// The status that goes with it.
            pub fn status(self) -> StatusCode {
                match self { $(Self::$variant => StatusCode::$status),+ }
            }

            /// The short sentence that does not change from one occurrence to the next.
            pub fn title(self) -> &'static str {
                match self { $(Self::$variant => $title),+ }
            }
        }
    };
}

problem_codes! {
    /// The body is not JSON, or holds JSON that cannot be kept exactly.
    BadJson = "BAD_JSON", BAD_REQUEST, "The body is not JSON";
    /// A member or parameter is unknown, missing or of the wrong kind.
    InvalidRequest = "INVALID_REQUEST", BAD_REQUEST, "The request is not valid";
    /// A tool definition that breaks the rules.
    InvalidDefinition = "INVALID_DEFINITION", BAD_REQUEST, "The definition is not valid";
    /// No credentials, or unknown ones.
    Unauthenticated = "UNAUTHENTICATED", UNAUTHORIZED, "A token is needed";
    /// Known, but not allowed; or a browser page that may not talk to this daemon.
    Forbidden = "FORBIDDEN", FORBIDDEN, "This is not allowed";
    /// No such thing, or one that belongs to another agent.
    NotFound = "NOT_FOUND", NOT_FOUND, "There is no such thing";
    /// The path exists, the method does not.
    MethodNotAllowed = "METHOD_NOT_ALLOWED", METHOD_NOT_ALLOWED, "The method is not allowed here";
    /// `Accept` names nothing that can be made.
    NotAcceptable = "NOT_ACCEPTABLE", NOT_ACCEPTABLE, "No acceptable form of answer";
    /// The call id stands for another call.
    CallIdConflict = "CALL_ID_CONFLICT", CONFLICT, "The call id is taken by another call";
    /// The session id is taken.
    SessionExists = "SESSION_EXISTS", CONFLICT, "The session exists";
    /// A tool of that name is registered in that layer.
    ToolConflict = "TOOL_CONFLICT", CONFLICT, "The tool name is taken";
    /// The approval has another decision.
    AlreadyDecided = "ALREADY_DECIDED", CONFLICT, "The approval is decided";
    /// The decision names other arguments than the approval.
    DigestMismatch = "DIGEST_MISMATCH", CONFLICT, "The digest does not match";
    /// The session's log has ended.
    SessionEnded = "SESSION_ENDED", CONFLICT, "The session has ended";
    /// The call has its result.
    CallSettled = "CALL_SETTLED", CONFLICT, "The call has its result";
    /// The execution has its result; its token is dead.
    ExecutionSettled = "EXECUTION_SETTLED", GONE, "The execution has its result";
    /// Nobody answered in time.
    ApprovalExpired = "APPROVAL_EXPIRED", GONE, "The approval has expired";
    /// The spilled content is no longer kept.
    SpillExpired = "SPILL_EXPIRED", GONE, "The spilled content is no longer kept";
    /// The result is no longer kept.
    ResultExpired = "RESULT_EXPIRED", GONE, "The result is no longer kept";
    /// The body is over the limit.
    TooLarge = "TOO_LARGE", PAYLOAD_TOO_LARGE, "The body is too large";
    /// The body is not `application/json`.
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE", UNSUPPORTED_MEDIA_TYPE,
        "The body must be application/json";
    /// The range lies outside the content.
    RangeNotSatisfiable = "RANGE_NOT_SATISFIABLE", RANGE_NOT_SATISFIABLE,
        "The range is outside the content";
    /// A budget is used up.
    RateLimited = "RATE_LIMITED", TOO_MANY_REQUESTS, "The budget is used up";
    /// The header is over the limit.
    HeadersTooLarge = "HEADERS_TOO_LARGE", REQUEST_HEADER_FIELDS_TOO_LARGE,
        "The header is too large";
    /// The fault is ours.
    Internal = "INTERNAL", INTERNAL_SERVER_ERROR, "Internal fault";
    /// Not available in this build.
    NotBuilt = "NOT_BUILT", NOT_IMPLEMENTED, "Not available in this version";
    /// More calls are under way than may be.
    Overloaded = "OVERLOADED", SERVICE_UNAVAILABLE, "Too many calls are under way";
    /// The daemon is stopping.
    Draining = "DRAINING", SERVICE_UNAVAILABLE, "The daemon is stopping";
    /// The store cannot write or read now.
    StoreUnavailable = "STORE_UNAVAILABLE", SERVICE_UNAVAILABLE, "The store is not available";
}

impl ProblemCode {
    /// Seconds for `Retry-After`, for the codes that carry it.
    pub fn retry_after(self) -> Option<&'static str> {
        match self {
            Self::RateLimited | Self::Overloaded | Self::StoreUnavailable => Some("1"),
            Self::Draining => Some("5"),
            Self::BadJson
            | Self::InvalidRequest
            | Self::InvalidDefinition
            | Self::Unauthenticated
            | Self::Forbidden
            | Self::NotFound
            | Self::MethodNotAllowed
            | Self::NotAcceptable
            | Self::CallIdConflict
            | Self::SessionExists
            | Self::ToolConflict
            | Self::AlreadyDecided
            | Self::DigestMismatch
            | Self::SessionEnded
            | Self::CallSettled
            | Self::ExecutionSettled
            | Self::ApprovalExpired
            | Self::SpillExpired
            | Self::ResultExpired
            | Self::TooLarge
            | Self::UnsupportedMediaType
            | Self::RangeNotSatisfiable
            | Self::HeadersTooLarge
            | Self::Internal
            | Self::NotBuilt => None,
        }
    }
}

/// A request that failed: nothing was recorded in its name, calls that were accepted apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    code: ProblemCode,
    detail: Cow<'static, str>,
    pointer: Option<String>,
    allow: Option<String>,
}

impl Problem {
    /// A problem with its sentence: what, where, what to do.
    pub fn new(code: ProblemCode, detail: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            detail: detail.into(),
            pointer: None,
            allow: None,
        }
    }

    /// Says where in the body, as an RFC 6901 pointer.
    #[must_use]
    pub fn at(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = Some(pointer.into());
        self
    }

    /// The code.
    pub fn code(&self) -> ProblemCode {
        self.code
    }

    /// The sentence.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Where in the body.
    pub fn pointer(&self) -> Option<&str> {
        self.pointer.as_deref()
    }

    /// Nobody is known.
    pub fn unauthenticated(detail: &'static str) -> Self {
        Self::new(ProblemCode::Unauthenticated, detail)
    }

    /// No such session, or not one that the caller may know of.
    pub fn no_session() -> Self {
        Self::new(ProblemCode::NotFound, "there is no such session")
    }

    /// No such call in this session.
    pub fn no_call() -> Self {
        Self::new(
            ProblemCode::NotFound,
            "there is no such call in this session",
        )
    }

    /// No such agent, or not one that the caller may know of.
    pub fn no_agent() -> Self {
        Self::new(ProblemCode::NotFound, "there is no such agent")
    }

    /// A feature that this version does not have.
    pub fn not_built(what: &str) -> Self {
        let detail = format!("{what} not available in this version of toold");
        Self::new(ProblemCode::NotBuilt, detail)
    }

    /// A fault of ours: the cause goes to the log, never to the client.
    pub fn internal(cause: &(dyn std::error::Error + 'static)) -> Self {
        tracing::error!(error = cause, "request failed by a fault of the daemon");
        Self::new(
            ProblemCode::Internal,
            "the daemon met a fault of its own; its log says more",
        )
    }

    /// A method that the path does not have; `allow` lists those that it has.
    pub fn method_not_allowed(allow: String) -> Self {
        let detail = format!("this path takes {allow}");
        Self {
            allow: Some(allow),
            ..Self::new(ProblemCode::MethodNotAllowed, detail)
        }
    }

    fn body(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        let mut w = ObjectWriter::new(&mut out);
        w.string("type", &format!("urn:toold:problem:{}", self.code.as_str()))
            .string("title", self.code.title())
            .number("status", u64::from(self.code.status().as_u16()))
            .string("detail", &self.detail)
            .string("code", self.code.as_str())
            .string_opt("pointer", self.pointer.as_deref());
        w.end();
        out
    }

    fn more_headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        let mut more = Vec::new();
        if let Some(seconds) = self.code.retry_after() {
            more.push((header::RETRY_AFTER, HeaderValue::from_static(seconds)));
        }
        if self.code == ProblemCode::Unauthenticated {
            let challenge = HeaderValue::from_static("Bearer realm=\"toold\"");
            more.push((header::WWW_AUTHENTICATE, challenge));
        }
        if let Some(allow) = self
            .allow
            .as_deref()
            .and_then(|a| HeaderValue::from_str(a).ok())
        {
            more.push((header::ALLOW, allow));
        }
        more
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body()));
        *response.status_mut() = self.code.status();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.extend(self.more_headers());
        response
    }
}

impl From<ReadError> for Problem {
    /// A body that is not JSON, or that holds JSON which cannot be kept exactly.
    fn from(error: ReadError) -> Self {
        let problem = Self::new(ProblemCode::BadJson, error.to_string());
        if error.pointer.is_empty() {
            problem
        } else {
            problem.at(error.pointer)
        }
    }
}

impl From<DecodeError> for Problem {
    /// A body whose members are not those of the request.
    fn from(error: DecodeError) -> Self {
        Self::new(ProblemCode::InvalidRequest, error.message).at(error.pointer)
    }
}

impl From<journal::Error> for Problem {
    fn from(error: journal::Error) -> Self {
        match &error {
            journal::Error::Unavailable { .. } | journal::Error::Closed => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the store failed a request"
                );
                Self::new(
                    ProblemCode::StoreUnavailable,
                    "the store is not available; try again",
                )
            }
            journal::Error::Damaged { .. } => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "the store failed a request"
                );
                Self::new(
                    ProblemCode::StoreUnavailable,
                    "the store is damaged; its operator must restore it",
                )
            }
        }
    }
}

impl From<registry::Error> for Problem {
    fn from(error: registry::Error) -> Self {
        use ProblemCode as Code;
        use registry::Error;
        let detail = error.to_string();
        let of = |code| Self::new(code, detail.clone());
        match error {
            Error::UnknownAgent { .. } => Self::no_agent(),
            Error::UnknownTool { .. } => of(Code::NotFound),
            Error::Conflict { .. } => of(Code::ToolConflict),
            Error::Reserved { .. }
            | Error::NoDescription { .. }
            | Error::NoOutputSchema { .. }
            | Error::Schema { .. }
            | Error::Timeout { .. } => of(Code::InvalidDefinition),
            Error::Global | Error::Default | Error::HasChild { .. } => of(Code::InvalidRequest),
            Error::UnknownParent { .. } | Error::ParentCycle { .. } => {
                of(Code::InvalidRequest).at("/parent")
            }
            Error::EmptyRestrict { .. }
            | Error::Glob { .. }
            | Error::RestrictReserved { .. }
            | Error::RestrictOwn { .. }
            | Error::RestrictUnmatched { .. } => of(Code::InvalidRequest).at("/restrict"),
            Error::MaxParallel { .. } => of(Code::InvalidRequest).at("/max_parallel"),
            Error::ModeUnavailable { .. } => of(Code::NotBuilt).at("/mode"),
            Error::UnknownMode { .. } => of(Code::InvalidRequest).at("/mode"),
        }
    }
}

impl From<scheduler::Error> for Problem {
    fn from(error: scheduler::Error) -> Self {
        use ProblemCode as Code;
        use scheduler::Error;
        let detail = error.to_string();
        match error {
            Error::UnknownSession => Self::no_session(),
            Error::UnknownCall => Self::no_call(),
            Error::UnknownAgent => Self::no_agent(),
            Error::SessionExists => Self::new(Code::SessionExists, detail).at("/session_id"),
            Error::SessionEnded => Self::new(Code::SessionEnded, detail),
            Error::CallIdConflict => Self::new(Code::CallIdConflict, detail).at("/call_id"),
            Error::CallSettled => Self::new(Code::CallSettled, detail),
            Error::Workspace(_) => Self::new(Code::InvalidRequest, detail).at("/workspace"),
            Error::PolicyLoosened => Self::new(Code::Forbidden, detail).at("/approval_policy"),
            Error::Overloaded => Self::new(Code::Overloaded, detail),
            Error::Draining => Self::new(Code::Draining, detail),
            Error::Faulted => Self::new(Code::Internal, detail),
            Error::Store(error) => error.into(),
            Error::BadId(_) => Self::new(Code::InvalidRequest, detail),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_an_error_status_and_the_busy_ones_say_when_to_come_back() {
        for code in ProblemCode::ALL {
            let status = code.status();
            assert!(
                status.is_client_error() || status.is_server_error(),
                "{code:?}"
            );
            let busy = matches!(status.as_u16(), 429 | 503);
            assert_eq!(code.retry_after().is_some(), busy, "{code:?}");
        }
    }

    #[test]
    fn codes_are_in_the_order_of_their_status_so_that_the_table_reads_well() {
        assert!(ProblemCode::ALL.is_sorted_by_key(|code| code.status()));
    }

    #[test]
    fn a_problem_is_the_document_of_rfc_9457_with_code_and_pointer() {
        let problem = Problem::new(ProblemCode::InvalidRequest, "unknown member").at("/nmae");
        let text = String::from_utf8(problem.body()).unwrap();
        assert_eq!(
            text,
            r#"{"type":"urn:toold:problem:INVALID_REQUEST","title":"The request is not valid","status":400,"detail":"unknown member","code":"INVALID_REQUEST","pointer":"/nmae"}"#
        );
    }

    #[test]
    fn headers_follow_the_code() {
        let busy = Problem::new(ProblemCode::Overloaded, "x").into_response();
        assert_eq!(busy.headers()[header::RETRY_AFTER], "1");
        assert_eq!(
            busy.headers()[header::CONTENT_TYPE],
            "application/problem+json"
        );
        let nobody = Problem::new(ProblemCode::Unauthenticated, "x").into_response();
        assert!(nobody.headers().contains_key(header::WWW_AUTHENTICATE));
        let method = Problem::method_not_allowed("GET, POST".to_owned()).into_response();
        assert_eq!(method.headers()[header::ALLOW], "GET, POST");
    }
}
