//! Opening and closing the file: directory, lock, connection, schema, where the ids go on.
//!
//! Owns the promise that no id is used twice: what a start needs to know for that is synced to
//! the disk before the first event, whatever the durability.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, MAIN_DB, OpenFlags, OptionalExtension as _, wal::CheckpointMode};
use rustix::fs::{FlockOperation, flock};
use uuid::Uuid;

use super::schema::{fault, migrate};
use crate::{
    config::Durability,
    domain::{IdSource, Timestamp},
    store::{
        counters::{Counters, first_id},
        error::Error,
    },
};

/// How long another process may hold the database before a statement fails.
const BUSY: Duration = Duration::from_secs(5);

/// A file that is ready for its writer.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) connection: Connection,
    pub(super) log_id: Uuid,
    pub(super) counters: Counters,
    /// Held as long as the store is open.
    pub(super) lock: File,
}

/// Opens the store's file, making it when it is not there.
///
/// # Errors
/// As [`Error`] tells.
pub(super) fn open(
    path: &Path,
    durability: Durability,
    ids: &dyn IdSource,
    now: Timestamp,
) -> Result<Opened, Error> {
    make_directory(path)?;
    let lock = lock(path)?;
    make_file(path)?;
    let connection = connect(path, durability)?;
    migrate(&connection, path)?;
    let (log_id, counters) = begin(&connection, durability, ids, now)
        .map_err(|e| fault(path, "reading the journal", e))?;
    // whatever happens to the log from here on, the main file knows schema and identity
    checkpoint(&connection, CheckpointMode::PASSIVE);
    Ok(Opened {
        connection,
        log_id,
        counters,
        lock,
    })
}

/// Opens a connection with the settings that all of ours have.
///
/// # Errors
/// [`Error::Database`], [`Error::Foreign`].
pub(super) fn connect(path: &Path, durability: Durability) -> Result<Connection, Error> {
    let connect = || {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY)?;
        let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |r| r.get(0))?;
        if mode != "wal" {
            tracing::warn!(mode, "the file system allows no write-ahead log");
        }
        // `process` still syncs when the log is copied into the file, so that a loss of power
        // costs the newest records and never the file
        connection.execute_batch(&format!(
            "PRAGMA synchronous = {}; PRAGMA wal_autocheckpoint = 0; PRAGMA temp_store = MEMORY;
             PRAGMA journal_size_limit = 134217728",
            synchronous(durability)
        ))?;
        Ok(connection)
    };
    connect().map_err(|e| fault(path, "connecting", e))
}

fn synchronous(durability: Durability) -> &'static str {
    match durability {
        Durability::Process => "NORMAL",
        Durability::Power => "FULL",
    }
}

/// Folds the log into the file, synced.
///
/// # Errors
/// As the database's.
pub(super) fn finish(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("PRAGMA synchronous = FULL")?;
    checkpoint(connection, CheckpointMode::TRUNCATE);
    Ok(())
}

fn checkpoint(connection: &Connection, mode: CheckpointMode) {
    if let Err(error) = connection.wal_checkpoint_v2(Some(MAIN_DB), mode) {
        // another process is reading; the log keeps what could not be copied
        tracing::debug!(%error, "checkpoint left to later");
    }
}

/// Reads where the log stands and notes, synced, where this run's ids begin.
fn begin(
    connection: &Connection,
    durability: Durability,
    ids: &dyn IdSource,
    now: Timestamp,
) -> rusqlite::Result<(Uuid, Counters)> {
    let known: Option<[u8; 16]> = get(connection, "log_id")?;
    let log_id = known.map_or_else(|| ids.uuid(), Uuid::from_bytes);
    let newest = connection
        .query_row(
            "SELECT id, time FROM events ORDER BY id DESC LIMIT 1",
            [],
            |row| {
                Ok((
                    row.get::<_, i64>(0)?.cast_unsigned(),
                    row.get::<_, i64>(1)?.cast_unsigned(),
                ))
            },
        )
        .optional()?;
    let (newest, time) = newest.unwrap_or_default();
    let floor = get::<i64>(connection, "first_id")?
        .unwrap_or(0)
        .cast_unsigned();
    let born = get::<i64>(connection, "born")?
        .map_or(now, |micros| Timestamp::from_micros(micros.cast_unsigned()));
    let next = match known {
        Some(_) => first_id(newest.max(floor), born, now),
        None => 1,
    };
    connection.execute_batch("PRAGMA synchronous = FULL; BEGIN IMMEDIATE")?;
    set(connection, "log_id", log_id.as_bytes())?;
    set(connection, "first_id", super::rows::sql_id(next))?;
    set(connection, "born", super::rows::sql_id(born.as_micros()))?;
    connection.execute_batch("COMMIT")?;
    connection.pragma_update(None, "synchronous", synchronous(durability))?;
    Ok((log_id, Counters::new(next, Timestamp::from_micros(time))))
}

fn get<T: rusqlite::types::FromSql>(
    connection: &Connection,
    key: &str,
) -> rusqlite::Result<Option<T>> {
    let sql = "SELECT value FROM meta WHERE key = ?";
    connection
        .query_row(sql, [key], |row| row.get(0))
        .optional()
}

fn set(connection: &Connection, key: &str, value: impl rusqlite::ToSql) -> rusqlite::Result<usize> {
    connection.execute(
        "INSERT OR REPLACE INTO meta VALUES (?, ?)",
        rusqlite::params![key, value],
    )
}

fn file_error<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + 'a {
    move |source| Error::File {
        action,
        path: path.to_owned(),
        source,
    }
}

fn make_directory(path: &Path) -> Result<(), Error> {
    let Some(directory) = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
    else {
        return Ok(());
    };
    let make = DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory);
    make.map_err(file_error("create", directory))
}

/// Only its owner may read the file; the log beside it gets the same mode from `SQLite`.
fn make_file(path: &Path) -> Result<(), Error> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600);
    options
        .open(path)
        .map(drop)
        .map_err(file_error("open", path))
}

/// One daemon at a time. Readers of other processes need no lock of ours.
fn lock(path: &Path) -> Result<File, Error> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let name = PathBuf::from(name);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(&name).map_err(file_error("open", &name))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(Error::InUse {
            path: path.to_owned(),
        }),
        Err(errno) => Err(file_error("lock", &name)(errno.into())),
    }
}
