//! Why a command did not do what it was asked to, and the exit status that says so.
//!
//! Imports nothing of ours. The display is the whole sentence for the user: what, where, what to
//! do.

use std::{
    io::{self, ErrorKind},
    process::ExitCode,
};

/// Why a command did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// What was typed cannot be meant.
    #[error("{0}")]
    Usage(String),
    /// No daemon answers, or none that could help.
    #[error("{0}")]
    Unreachable(String),
    /// The daemon said no.
    #[error("{message}")]
    Refused {
        /// Its code, such as `NOT_FOUND`, and its sentence.
        message: String,
        /// Whether another attempt may do better: the fault is the daemon's, for now.
        passing: bool,
    },
    /// The answer cannot be read.
    #[error("{0}")]
    Answer(String),
    /// Nobody takes the output.
    #[error("the output cannot be written: {0}")]
    Output(#[from] io::Error),
    /// This machine cannot do it.
    #[error("{0}")]
    Machine(String),
}

impl Error {
    /// Whether the reader of the output has left, as `head` does: no error to speak of.
    pub(super) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == ErrorKind::BrokenPipe)
    }

    /// The exit status that goes with it.
    pub(super) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) => ExitCode::from(2),
            Self::Unreachable(_) | Self::Refused { .. } | Self::Answer(_) => ExitCode::from(3),
            Self::Output(_) | Self::Machine(_) => ExitCode::from(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_left_is_no_error() {
        let broken = Error::Output(io::Error::from(ErrorKind::BrokenPipe));
        assert!(broken.is_broken_pipe());
        assert!(!Error::Output(io::Error::from(ErrorKind::StorageFull)).is_broken_pipe());
    }
}
