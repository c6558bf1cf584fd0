//! The schema and its versions.
//!
//! Owns `user_version` and `application_id` of the file. A version is a script that is never
//! changed once released; a store moves forward by running those it lacks.

use std::path::Path;

use rusqlite::{Connection, ErrorCode};

use crate::store::error::Error;

/// Marks the file as a store of ours: "tool" in ASCII.
const APPLICATION: u32 = 0x746f_6f6c;

/// Script `n` leads from version `n` to `n + 1`.
const MIGRATIONS: &[&str] = &[include_str!("../migrations/0001_journal.sql")];

/// Makes the schema the newest, or says why the file cannot be used. One transaction: a file is
/// migrated or as it was.
///
/// # Errors
/// [`Error::Foreign`], [`Error::Newer`], [`Error::Damaged`] or [`Error::Database`].
pub(super) fn migrate(connection: &Connection, path: &Path) -> Result<(), Error> {
    let found = version(connection, path)?;
    let known = u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX);
    if found > known {
        return Err(Error::Newer {
            path: path.to_owned(),
            found,
            known,
        });
    }
    let missing = MIGRATIONS
        .iter()
        .skip(usize::try_from(found).unwrap_or(usize::MAX));
    let script: String = missing.copied().collect();
    if script.is_empty() {
        return Ok(());
    }
    let script = format!(
        "BEGIN IMMEDIATE; {script}
         PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {known}; COMMIT"
    );
    connection
        .execute_batch(&script)
        .map_err(|e| fault(path, "migrating the schema", e))
}

/// The schema version of a file of ours, 0 for an empty one.
fn version(connection: &Connection, path: &Path) -> Result<u32, Error> {
    let number = |sql: &str| -> Result<u32, Error> {
        let found = connection.query_row(sql, [], |row| row.get(0));
        found.map_err(|e| fault(path, "reading the schema", e))
    };
    let application = number("PRAGMA application_id")?;
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
    if application == APPLICATION || (application == 0 && tables == 0) {
        return number("PRAGMA user_version");
    }
    Err(Error::Foreign {
        path: path.to_owned(),
    })
}

/// The error of a failed database operation on opening.
pub(super) fn fault(path: &Path, context: &'static str, source: rusqlite::Error) -> Error {
    let path = path.to_owned();
    let code = source.sqlite_error_code();
    match code {
        Some(ErrorCode::NotADatabase) => Error::Foreign { path },
        Some(ErrorCode::DatabaseCorrupt) => Error::Damaged {
            path,
            what: format!("{context}: {source}"),
        },
        _ => Error::Database {
            path,
            context,
            source,
        },
    }
}
