//! The tables, and how a file is known to have them.

use crate::ArchiveError;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};
use std::path::Path;
use std::time::Duration;

/// SQLite's `application_id` of an archive: "HpWt".
pub const APPLICATION_ID: i64 = 0x4870_5774;

/// The version of the tables, SQLite's `user_version`.
pub const SCHEMA: i64 = 1;

/// How long to wait for somebody else's transaction.
pub(crate) const BUSY: Duration = Duration::from_secs(2);

/// `entries.id` is the order of arrival; `entries.line` is NULL once the entry is no longer kept,
/// so that its number stays known. `sources.forgotten`: all numbers of the source up to this one
/// have been taken, and those without a row are no longer kept. `accounts` holds what is known of
/// messages whose traces are gone.
const TABLES: &str = "
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    CREATE TABLE sources (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        forgotten INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE TABLE entries (
        id INTEGER PRIMARY KEY,
        source INTEGER NOT NULL REFERENCES sources (id),
        number INTEGER NOT NULL,
        slot TEXT,
        line TEXT,
        UNIQUE (source, number)
    ) STRICT;
    CREATE INDEX slots ON entries (source, slot, number) WHERE slot IS NOT NULL;
    CREATE INDEX blanks ON entries (source, number) WHERE line IS NULL;
    CREATE TABLE accounts (lane TEXT PRIMARY KEY, account TEXT NOT NULL) STRICT;
";

/// Whose the file is, by its header.
pub(crate) fn check(connection: &Connection, path: &Path) -> Result<Owner, ArchiveError> {
    let of = |error| ArchiveError::of(path, error);
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let application = pragma("application_id").map_err(of)?;
    let found = pragma("user_version").map_err(of)?;
    if application == APPLICATION_ID {
        return match found {
            SCHEMA => Ok(Owner::Ours),
            newer if newer > SCHEMA => {
                Err(ArchiveError::Newer { path: path.to_owned(), found, known: SCHEMA })
            }
            _ => Err(ArchiveError::damaged(path, format!("it has schema {found}"))),
        };
    }
    let tables = connection
        .query_row("SELECT 1 FROM sqlite_schema LIMIT 1", [], |_| Ok(()))
        .optional()
        .map_err(of)?;
    // A process that was killed while it made the file leaves an empty one.
    if application == 0 && found == 0 && tables.is_none() {
        Ok(Owner::Nobody)
    } else {
        Err(ArchiveError::Foreign { path: path.to_owned() })
    }
}

/// Whose a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Ours,
    Nobody,
}

/// Makes the tables, all or none.
pub(crate) fn create(connection: &mut Connection, run_id: &str) -> rusqlite::Result<()> {
    let make = Transaction::new(connection, TransactionBehavior::Immediate)?;
    make.execute_batch(TABLES)?;
    make.pragma_update(None, "application_id", APPLICATION_ID)?;
    make.pragma_update(None, "user_version", SCHEMA)?;
    make.execute("INSERT INTO meta (key, value) VALUES ('run_id', ?1)", [run_id])?;
    make.commit()
}

/// The run that the archive is of.
pub(crate) fn run_id(connection: &Connection, path: &Path) -> Result<String, ArchiveError> {
    connection
        .query_row("SELECT value FROM meta WHERE key = 'run_id'", [], |row| row.get(0))
        .optional()
        .map_err(|error| ArchiveError::of(path, error))?
        .ok_or_else(|| ArchiveError::damaged(path, "it names no run"))
}
