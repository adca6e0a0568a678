//! Letting the oldest entries go, without losing count.

use crate::ArchiveError;
use hopwatch_analysis::{Account, LedgerBuilder};
use hopwatch_model::Trace;
use hopwatch_wire::record::{Entry, Record};
use rusqlite::{Connection, Transaction, params};
use std::collections::BTreeMap;
use std::path::Path;

/// So many numbers of a source are known one by one; then a gap before them is taken for good.
const OUT_OF_ORDER: i64 = 100_000;

/// Lets the oldest `count` messages go, or as many other entries: messages become an account,
/// words that were replaced vanish, and what stands stays. Gives how many went.
pub(crate) fn oldest(
    store: &Transaction<'_>,
    count: u64,
    path: &Path,
) -> Result<u64, ArchiveError> {
    let of = |error| ArchiveError::of(path, error);
    let Some(last) = last_to_go(store, count).map_err(of)? else { return Ok(0) };
    account(store, last, path)?;
    let gone = store
        .execute(
            "UPDATE entries SET line = NULL, slot = NULL WHERE id <= ?1 AND line IS NOT NULL AND \
             (slot IS NULL OR EXISTS (SELECT 1 FROM entries AS later WHERE \
             later.source = entries.source AND later.slot = entries.slot AND \
             later.number > entries.number))",
            [last],
        )
        .map_err(of)?;
    forget_numbers(store).map_err(of)?;
    Ok(u64::try_from(gone).unwrap_or(0))
}

/// The newest entry that goes. Of what stands there may be more than `count`, so messages are
/// counted apart.
fn last_to_go(store: &Transaction<'_>, count: u64) -> rusqlite::Result<Option<i64>> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    store.query_row(
        "SELECT max(id) FROM (
             SELECT * FROM (SELECT id FROM entries WHERE line IS NOT NULL ORDER BY id LIMIT ?1)
             UNION ALL
             SELECT * FROM (SELECT id FROM entries WHERE line IS NOT NULL AND slot IS NULL
                            ORDER BY id LIMIT ?1))",
        [count],
        |row| row.get(0),
    )
}

/// Takes away the rows that only say that a number is known, where all up to it are.
fn forget_numbers(store: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut all = store.prepare_cached("SELECT id, forgotten FROM sources")?;
    let sources: Vec<(i64, i64)> =
        all.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    let mut first_and_count = store.prepare_cached(
        "SELECT min(number), max(number), count(*) FROM entries WHERE source = ?1 AND line IS NULL",
    )?;
    let mut taken = store.prepare_cached(
        "SELECT number FROM entries WHERE source = ?1 AND number > ?2 AND number <= ?3 \
         ORDER BY number",
    )?;
    for (source, before) in sources {
        let blanks: (Option<i64>, Option<i64>, i64) = first_and_count
            .query_row([source], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let (Some(first), Some(last), count) = blanks else { continue };
        let mut forgotten = if count > OUT_OF_ORDER { first } else { before };
        let mut rows = taken.query([source, forgotten, last])?;
        while let Some(row) = rows.next()? {
            if row.get::<_, i64>(0)? != forgotten + 1 {
                break;
            }
            forgotten += 1;
        }
        if forgotten > before {
            store.execute(
                "UPDATE sources SET forgotten = ?2 WHERE id = ?1",
                params![source, forgotten],
            )?;
            store.execute(
                "DELETE FROM entries WHERE source = ?1 AND number <= ?2 AND line IS NULL",
                params![source, forgotten],
            )?;
        }
    }
    Ok(())
}

/// Adds the messages up to the entry `last` to the accounts of their lanes.
fn account(store: &Transaction<'_>, last: i64, path: &Path) -> Result<(), ArchiveError> {
    let of = |error| ArchiveError::of(path, error);
    let mut lanes: BTreeMap<String, LedgerBuilder> = BTreeMap::new();
    for (lane, account) in accounts(store, path)? {
        lanes.entry(lane).or_default().observe_account(&account);
    }
    let mut leaving = store
        .prepare("SELECT line FROM entries WHERE id <= ?1 AND slot IS NULL AND line IS NOT NULL ORDER BY id")
        .map_err(of)?;
    let mut rows = leaving.query([last]).map_err(of)?;
    while let Some(row) = rows.next().map_err(of)? {
        let line = row.get_ref(0).and_then(|text| Ok(text.as_str()?)).map_err(of)?;
        let damaged = |what: &dyn std::fmt::Display| ArchiveError::damaged(path, what);
        let entry: Entry = serde_json::from_str(line).map_err(|error| damaged(&error))?;
        if let Record::Trace(record) = entry.record {
            let trace = Trace::try_from(*record).map_err(|error| damaged(&error))?;
            let trace = Trace { gateway: entry.source, ..trace };
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
