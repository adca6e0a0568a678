//! Reading back.

use crate::ArchiveError;
use crate::forget::accounts;
use crate::schema::{self, BUSY, Owner};
use hopwatch_wire::record::{Entry, GoneRecord, Record};
use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};

/// An archive as it was at one moment. Nothing is changed, not even by what a killed process
/// left beside the file.
#[derive(Debug)]
pub struct Reader {
    connection: Connection,
    path: PathBuf,
    run_id: String,
}

impl Reader {
    /// Opens the file; somebody may be appending to it.
    pub fn open(path: &Path) -> Result<Self, ArchiveError> {
        if !path.is_file() {
            return Err(ArchiveError::Missing { path: path.to_owned() });
        }
        let of = |error| ArchiveError::of(path, error);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(of)?;
        connection.busy_timeout(BUSY).map_err(of)?;
        // One transaction for all that is read: one moment.
        connection.execute_batch("BEGIN").map_err(of)?;
        if schema::check(&connection, path)? == Owner::Nobody {
            return Err(ArchiveError::damaged(path, "nothing is in it"));
        }
        let run_id = schema::run_id(&connection, path)?;
        Ok(Self { connection, path: path.to_owned(), run_id })
    }

    /// The run that the archive is of.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// Gives each line to `take`: first the accounts of messages that are gone, then the entries
    /// by the name of their source and their number, whatever order they came in.
    pub fn by_source<E>(&self, take: impl FnMut(&str) -> Result<(), E>) -> Result<(), E>
    where
        E: From<ArchiveError>,
    {
        self.lines(
            "SELECT line FROM sources JOIN entries ON entries.source = sources.id \
             WHERE line IS NOT NULL ORDER BY sources.name, entries.number",
            take,
        )
    }

    /// The same in the order of arrival.
    pub fn by_arrival<E>(&self, take: impl FnMut(&str) -> Result<(), E>) -> Result<(), E>
    where
        E: From<ArchiveError>,
    {
        self.lines("SELECT line FROM entries WHERE line IS NOT NULL ORDER BY id", take)
    }

    fn lines<E>(&self, query: &str, mut take: impl FnMut(&str) -> Result<(), E>) -> Result<(), E>
    where
        E: From<ArchiveError>,
    {
        let of = |error| E::from(ArchiveError::of(&self.path, error));
        for (number, (lane, account)) in (1..).zip(accounts(&self.connection, &self.path)?) {
            let record = Record::Gone(GoneRecord { lane, account });
            let entry = Entry { source: format!("archive-{}", self.run_id), number, record };
            let line = serde_json::to_string(&entry);
            take(&line.map_err(|error| ArchiveError::damaged(&self.path, error))?)?;
        }
        let mut all = self.connection.prepare(query).map_err(of)?;
        let mut rows = all.query([]).map_err(of)?;
        while let Some(row) = rows.next().map_err(of)? {
            take(row.get_ref(0).and_then(|text| Ok(text.as_str()?)).map_err(of)?)?;
        }
        Ok(())
    }
}
