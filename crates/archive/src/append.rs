//! Storing.

use crate::ArchiveError;
use crate::schema::{self, BUSY, Owner};
use hopwatch_analysis::{Account, LedgerBuilder};
use hopwatch_model::Trace;
use hopwatch_wire::record::{Entry, Record};
use rusqlite::{
    Connection, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// At most so many entries leave at once: it is done while a sender waits.
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
        let count = "SELECT count(*) FROM entries";
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
            held -= forget(&store, leave, path)?;
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

/// Lets the oldest `count` entries go: messages become an account, words that were replaced
/// vanish, and what stands stays. Gives how many went.
fn forget(store: &Transaction<'_>, count: u64, path: &Path) -> Result<u64, ArchiveError> {
    let of = |error| ArchiveError::of(path, error);
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let last: Option<i64> = store
        .query_row(
            "SELECT max(id) FROM (SELECT id FROM entries ORDER BY id LIMIT ?1)",
            [count],
            |row| row.get(0),
        )
        .map_err(of)?;
    let Some(last) = last else { return Ok(0) };
    account(store, last, path)?;
    store
        .execute(
            "UPDATE sources SET forgotten = max(forgotten, ifnull((SELECT max(number) FROM entries \
             WHERE entries.source = sources.id AND entries.id <= ?1), 0))",
            [last],
        )
        .map_err(of)?;
    let gone = store
        .execute(
            "DELETE FROM entries WHERE id <= ?1 AND (slot IS NULL OR EXISTS (SELECT 1 FROM entries \
             AS later WHERE later.source = entries.source AND later.slot = entries.slot AND \
             later.number > entries.number))",
            [last],
        )
        .map_err(of)?;
    Ok(u64::try_from(gone).unwrap_or(0))
}

/// Adds the messages up to the entry `last` to the accounts of their lanes.
fn account(store: &Transaction<'_>, last: i64, path: &Path) -> Result<(), ArchiveError> {
    let of = |error| ArchiveError::of(path, error);
    let mut lanes: BTreeMap<String, LedgerBuilder> = BTreeMap::new();
    for (lane, account) in accounts(store, path)? {
        lanes.entry(lane).or_default().observe_account(&account);
    }
    let mut leaving = store
        .prepare("SELECT line FROM entries WHERE id <= ?1 AND slot IS NULL ORDER BY id")
        .map_err(of)?;
    let mut rows = leaving.query([last]).map_err(of)?;
    while let Some(row) = rows.next().map_err(of)? {
        let line = row.get_ref(0).and_then(|text| Ok(text.as_str()?)).map_err(of)?;
        let damaged = |what: &dyn std::fmt::Display| ArchiveError::damaged(path, what);
        let entry: Entry = serde_json::from_str(line).map_err(|error| damaged(&error))?;
        if let Record::Trace(record) = entry.record {
            let trace = Trace::try_from(*record).map_err(|error| damaged(&error))?;
            lanes.entry(trace.lane.clone()).or_default().observe_trace(&trace);
        }
    }
    let mut put = store
        .prepare(
            "INSERT INTO accounts (lane, account) VALUES (?1, ?2) \
             ON CONFLICT (lane) DO UPDATE SET account = excluded.account",
        )
        .map_err(of)?;
    for (lane, ledger) in lanes {
        let account = serde_json::to_string(&ledger.account());
        let account = account.map_err(|error| ArchiveError::damaged(path, error))?;
        put.execute([lane, account]).map_err(of)?;
    }
    Ok(())
}

/// The accounts of the messages that are gone, by lane.
pub(crate) fn accounts(
    connection: &Connection,
    path: &Path,
) -> Result<Vec<(String, Account)>, ArchiveError> {
    let of = |error| ArchiveError::of(path, error);
    let mut all =
        connection.prepare("SELECT lane, account FROM accounts ORDER BY lane").map_err(of)?;
    let rows = all.query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?))).map_err(of)?;
    rows.map(|row| {
        let (lane, account) = row.map_err(of)?;
        let account = serde_json::from_str(&account);
        Ok((lane, account.map_err(|error| ArchiveError::damaged(path, error))?))
    })
    .collect()
}

#[cfg(test)]
#[path = "append_tests.rs"]
mod tests;
