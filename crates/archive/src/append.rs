//! Storing.

use crate::schema::{self, BUSY, Owner};
use crate::{ArchiveError, forget};
use rusqlite::{
    Connection, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// About so many entries leave at once, at most: it is done while a sender waits.
const LEAVE_AT_ONCE: u64 = 5_000;

/// An archive that is appended to.
#[derive(Debug)]
pub struct Archive {
    connection: Connection,
    path: PathBuf,
    limit: u64,
    entries: u64,
    run_id: String,
}

/// An entry to be stored.
#[derive(Clone, Debug)]
pub struct NewEntry<'a> {
    /// This start of the process that tells it.
    pub source: &'a str,
    /// Its number at that source.
    pub number: u64,
    /// Its [slot](crate::slot()).
    pub slot: Option<&'a str>,
    /// The line that it was read from, which is stored as it is.
    pub line: &'a str,
}

impl Archive {
    /// Opens the file, or makes it: then it is of the run `run_id`. Of more than `limit` entries,
    /// the oldest messages become an account.
    pub fn open(path: &Path, limit: u64, run_id: &str) -> Result<Self, ArchiveError> {
        let of = |error| ArchiveError::of(path, error);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags).map_err(of)?;
        connection.busy_timeout(BUSY).map_err(of)?;
        // Before anything is written: a file of somebody else stays as it is.
        let owner = schema::check(&connection, path)?;
        connection.pragma_update(None, "journal_mode", "WAL").map_err(of)?;
        connection.pragma_update(None, "synchronous", "NORMAL").map_err(of)?;
        if owner == Owner::Nobody {
            schema::create(&mut connection, run_id).map_err(of)?;
        }
        let run_id = schema::run_id(&connection, path)?;
        let count = "SELECT count(*) FROM entries WHERE line IS NOT NULL";
        let entries: i64 = connection.query_row(count, [], |row| row.get(0)).map_err(of)?;
        let entries = u64::try_from(entries).unwrap_or(0);
        Ok(Self { connection, path: path.to_owned(), limit, entries, run_id })
    }

    /// The run that the archive is of: that of whoever made the file.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// Stores entries, all or none, and says of each whether it was new.
    pub fn append(&mut self, entries: &[NewEntry<'_>]) -> Result<Vec<bool>, ArchiveError> {
        if let Some(new) = entries.iter().find(|new| i64::try_from(new.number).is_err()) {
            return Err(ArchiveError::NumberTooLarge { number: new.number });
        }
        let path = &self.path;
        let of = |error| ArchiveError::of(path, error);
        let store = Transaction::new(&mut self.connection, TransactionBehavior::Immediate);
        let store = store.map_err(of)?;
        let fresh = insert(&store, entries).map_err(of)?;
        let taken = fresh.iter().filter(|fresh| **fresh).count();
        let mut held = self.entries + u64::try_from(taken).unwrap_or(u64::MAX);
        if held > self.limit {
            let leave = (held - self.limit).max((self.limit / 20).min(LEAVE_AT_ONCE));
            held = held.saturating_sub(forget::oldest(&store, leave, path)?);
        }
        store.commit().map_err(of)?;
        self.entries = held;
        Ok(fresh)
    }

    /// Closes the archive: it is one file afterwards, without others beside it, unless somebody
    /// reads it just now.
    pub fn close(self) -> Result<(), ArchiveError> {
        let of = |error| ArchiveError::of(&self.path, error);
        self.connection.pragma_update(None, "journal_mode", "DELETE").map_err(of)?;
        self.connection.close().map_err(|(_, error)| of(error))
    }
}

fn insert(store: &Transaction<'_>, entries: &[NewEntry<'_>]) -> rusqlite::Result<Vec<bool>> {
    let mut find = store.prepare_cached("SELECT id, forgotten FROM sources WHERE name = ?1")?;
    let mut found = store.prepare_cached("INSERT INTO sources (name) VALUES (?1)")?;
    let mut put = store.prepare_cached(
        "INSERT OR IGNORE INTO entries (source, number, slot, line) VALUES (?1, ?2, ?3, ?4)",
    )?;
    let mut known: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    let mut fresh = Vec::with_capacity(entries.len());
    for new in entries {
        let (source, forgotten) = if let Some(source) = known.get(new.source) {
            *source
        } else {
            let there = find.query_row([new.source], |row| Ok((row.get(0)?, row.get(1)?)));
            let source = match there.optional()? {
                Some(source) => source,
                None => (found.insert([new.source])?, 0),
            };
            *known.entry(new.source).or_insert(source)
        };
        let number = i64::try_from(new.number).unwrap_or(i64::MAX);
        fresh.push(
            number > forgotten && put.execute(params![source, number, new.slot, new.line])? == 1,
        );
    }
    Ok(fresh)
}

#[cfg(test)]
#[path = "append_tests.rs"]
mod tests;
