//! What file tools may meet, and the code under which a call says so.
//!
//! Imports `domain` and `registry`. A sentence here speaks of the path as the model wrote it,
//! which is put in front by [`Error::told`]; no host path and no descriptor ever appears in one.

use std::{fmt, io};

use rustix::io::Errno;

use super::place::Kind;
use crate::{
    domain::json::DecodeError,
    registry::{HostError, ToolError},
};

/// How much of a path a message repeats, in characters.
const SHOWN_CHARS: usize = 200;

/// Why a file tool did not do what was asked. The display is for the model.
///
/// What a boundary said no to (outside the root, deny lists, the daemon's own files) is a denial
/// and ends the call as `GUARD_DENIED` (configuration: `[workspace]`); what the operating system or
/// the path itself rules out is the tools' own `FS_DENIED`.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The text is not a path that these tools take.
    #[error("{0}")]
    Path(&'static str),
    /// The root, or a link on the way, would be left.
    #[error(
        "leads outside the workspace; only what lies inside can be used: \
         write the path relative to the workspace"
    )]
    Outside,
    /// A loop of links, or a link that the system makes (`/proc/self/root`).
    #[error(
        "leads through a loop of links or through a link that the system makes; \
         write the path of the file itself"
    )]
    Links,
    /// A deny list, or the fence around the daemon's own files.
    #[error("{0}")]
    Fenced(String),
    /// Nothing there.
    #[error("there is no such file or directory; list_dir shows what is there")]
    NotFound,
    /// A part of the path that should be a directory is none.
    #[error("a part of this path is not a directory; list_dir shows what is there")]
    NotADirectory,
    /// A link without a target, as the target of a write.
    #[error("is a link whose target does not exist; write to the path of the target itself")]
    Dangling,
    /// Not what the tool works on.
    #[error("is {found}; {wanted}")]
    WrongKind {
        /// What is there.
        found: Kind,
        /// What the tool works on, and which tool takes the other.
        wanted: &'static str,
    },
    /// Bytes that are not UTF-8, or a NUL character.
    #[error("not text: {what} at byte {at} (line {line}); these tools take UTF-8 without NUL")]
    NotText {
        /// What was found.
        what: String,
        /// Offset of the first bad byte in the file, from 0.
        at: u64,
        /// Line that holds it, from 1.
        line: u64,
    },
    /// Over a bound.
    #[error("has {found} bytes, over the {bound} that {does}")]
    TooLarge {
        /// Size in bytes.
        found: u64,
        /// The bound in bytes.
        bound: usize,
        /// What is bounded, and what to do instead.
        does: &'static str,
    },
    /// One line alone is over the bound of a read.
    #[error("line {line} alone is longer than the {bound} bytes that one read returns")]
    LongLine {
        /// The line, from 1.
        line: u64,
        /// The bound in bytes.
        bound: usize,
    },
    /// Exists, and this session has not read it.
    #[error(
        "exists and was not read in this session; read it with read_file first, \
         so that nothing unseen is overwritten"
    )]
    NotObserved,
    /// Not what was read.
    #[error("{0}; read it again with read_file and repeat the change on what is there now")]
    Stale(&'static str),
    /// `old_text` is not in the file.
    #[error("old_text does not occur in the file; {hint}")]
    EditNotFound {
        /// What may be wrong.
        hint: &'static str,
    },
    /// `old_text` is in the file more than once.
    #[error(
        "old_text occurs {count} times (lines {lines}); \
         add surrounding lines until it is unique, or set replace_all"
    )]
    EditAmbiguous {
        /// How often.
        count: usize,
        /// Numbers of the first lines on which it begins.
        lines: String,
    },
    /// An edit that cannot mean anything.
    #[error("{0}")]
    Pointless(&'static str),
    /// The operating system refused.
    #[error("the operating system refuses this: {0}")]
    Forbidden(io::Error),
    /// The operating system failed.
    #[error("the file system failed: {0}")]
    Io(io::Error),
    /// What the path leads to changed under every attempt.
    #[error("the path kept changing while it was followed; try again")]
    Unsteady,
    /// The arguments do not have the declared form.
    #[error("the arguments cannot be read: {0}")]
    Arguments(#[from] DecodeError),
    /// The session's log cannot be read or written.
    #[error("{0}, so nothing was changed; try again later")]
    Journal(HostError),
    /// The file was written, and its new state could not be noted.
    #[error("the file was written, but {0}; read it before the next change")]
    Unnoted(HostError),
    /// The work itself broke down.
    #[error("the work on the file broke down")]
    BrokeDown,
    /// Asked to stop.
    #[error("stopped as asked")]
    Interrupted,
}

impl Error {
    /// The failure of a call that named `path`.
    pub(super) fn told(self, path: &str) -> ToolError {
        let message = format!("{}: {self}", shown(path));
        match self {
            Self::Outside | Self::Links | Self::Fenced(_) => ToolError::Denied { reason: message },
            Self::Interrupted => ToolError::Interrupted,
            Self::Path(_) | Self::Dangling | Self::WrongKind { .. } | Self::Forbidden(_) => {
                ToolError::coded("FS_DENIED", message)
            }
            Self::NotFound | Self::NotADirectory => ToolError::coded("FS_NOT_FOUND", message),
            Self::NotText { .. } => ToolError::coded("FS_NOT_TEXT", message),
            Self::TooLarge { .. } | Self::LongLine { .. } => {
                ToolError::coded("FS_TOO_LARGE", message)
            }
            Self::NotObserved => ToolError::coded("FS_NOT_OBSERVED", message),
            Self::Stale(_) => ToolError::coded("FS_STALE", message),
            Self::EditNotFound { .. } => ToolError::coded("FS_EDIT_NOT_FOUND", message),
            Self::EditAmbiguous { .. } => ToolError::coded("FS_EDIT_AMBIGUOUS", message),
            Self::Io(_) => ToolError::coded("FS_IO", message),
            Self::Unsteady => retryable(Some("FS_IO"), message),
            Self::Journal(_) => retryable(None, message),
            Self::Unnoted(_) | Self::Pointless(_) | Self::Arguments(_) | Self::BrokeDown => {
                ToolError::failed(message)
            }
        }
    }
}

fn retryable(code: Option<&str>, message: String) -> ToolError {
    ToolError::Failed {
        code: code.map(str::to_owned),
        message,
        retryable: true,
    }
}

/// The path for a message: quoted, with control and invisible characters escaped, cut when long.
fn shown(path: &str) -> impl fmt::Display {
    let start: String = path.chars().take(SHOWN_CHARS).collect();
    let more = if start.len() < path.len() { "…" } else { "" };
    format!("{start:?}{more}")
}

impl From<Errno> for Error {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT => Self::NotFound,
            Errno::NOTDIR => Self::NotADirectory,
            Errno::XDEV => Self::Outside,
            Errno::LOOP => Self::Links,
            Errno::ACCESS | Errno::PERM | Errno::ROFS => Self::Forbidden(errno.into()),
            Errno::AGAIN => Self::Unsteady,
            _ => Self::Io(errno.into()),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match Errno::from_io_error(&error) {
            Some(errno) => errno.into(),
            None => Self::Io(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_repeats_the_path_escaped_and_bounded() {
        let ToolError::Failed { code, message, .. } = Error::NotFound.told("a\u{202e}\nb") else {
            panic!("a missing file is a failure");
        };
        assert_eq!(code.as_deref(), Some("FS_NOT_FOUND"));
        assert!(
            message.starts_with(r#""a\u{202e}\nb": there is no such file"#),
            "{message}"
        );
        let ToolError::Denied { reason } = Error::Outside.told(&"x/".repeat(10_000)) else {
            panic!("a way out is a denial");
        };
        assert!(reason.len() < 500, "{}", reason.len());
    }

    #[test]
    fn what_the_system_says_becomes_a_code() {
        for (errno, expected) in [
            (Errno::NOENT, Some("FS_NOT_FOUND")),
            (Errno::NOTDIR, Some("FS_NOT_FOUND")),
            (Errno::ACCESS, Some("FS_DENIED")),
            (Errno::ROFS, Some("FS_DENIED")),
            (Errno::NOSPC, Some("FS_IO")),
            (Errno::AGAIN, Some("FS_IO")),
            (Errno::XDEV, None),
            (Errno::LOOP, None),
        ] {
            let found = match Error::from(io::Error::from(errno)).told("a") {
                ToolError::Failed { code, .. } => code,
                ToolError::Denied { .. } => None,
                ToolError::Interrupted => panic!("{errno}: nobody asked to stop"),
            };
            assert_eq!(found.as_deref(), expected, "{errno}");
        }
    }
}
