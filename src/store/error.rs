//! Why a store could not be opened. Once open, faults are [`crate::journal::Error`].

use std::{io, path::PathBuf};

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another daemon has it.
    #[error(
        "{path} is in use by another daemon; stop that one, or give this one a `store.url` of its own"
    )]
    InUse {
        /// The database file.
        path: PathBuf,
    },
    /// It is some other database.
    #[error(
        "{path} is not a toold store, or its beginning is damaged; point `store.url` at another \
         file, or restore it from a backup"
    )]
    Foreign {
        /// The database file.
        path: PathBuf,
    },
    /// A newer toold wrote it.
    #[error(
        "{path} was written by a newer toold (schema {found}, this one knows {known}); run that version"
    )]
    Newer {
        /// The database file.
        path: PathBuf,
        /// Schema version of the file.
        found: u32,
        /// Newest schema version known here.
        known: u32,
    },
    /// What it holds breaks an invariant.
    #[error("{path} is damaged ({what}); restore it from a backup")]
    Damaged {
        /// The database file.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// A file operation failed.
    #[error("cannot {action} {path}: {source}")]
    File {
        /// What was being done.
        action: &'static str,
        /// To which file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The database could not be made ready.
    #[error("cannot open {path}: {context} failed")]
    Database {
        /// The database file.
        path: PathBuf,
        /// What was being done.
        context: &'static str,
        /// The cause.
        source: rusqlite::Error,
    },
    /// A thread could not be started.
    #[error("cannot start the store's threads")]
    Threads(#[source] io::Error),
}
