use super::*;
use crate::{APPLICATION_ID, Reader, SCHEMA, slot};
use hopwatch_analysis::LedgerBuilder;
use hopwatch_model::Trace;
use hopwatch_wire::record::{Entry, Record};
use std::fs;
use tempfile::TempDir;

/// The entry `number` of `source`: message `sequence`.
fn trace(source: &str, number: u64, sequence: u64) -> String {
    format!(
        r#"{{"source":"{source}","number":{number},"kind":"trace","lane":"l","trace_id":"{sequence:032x}","robot_id":"r","sequence":{sequence},"message_id":"","publisher":"{:032x}","publication_sequence":{sequence},"outcome":"delivered","stamps":{{}},"wall_half_width_ns":40}}"#,
        1
    )
}

/// The gateway's counters.
fn counters(source: &str, number: u64, taken: u64) -> String {
    format!(
        r#"{{"source":"{source}","number":{number},"kind":"gateway","lane":"l","taken":{taken},"queue_dropped":0,"queued":0,"working":0,"finished":{taken},"message_lost":0,"records_dropped":0,"last":false}}"#
    )
}

fn append(archive: &mut Archive, lines: &[String]) -> Vec<bool> {
    try_append(archive, lines).unwrap()
}

fn try_append(archive: &mut Archive, lines: &[String]) -> Result<Vec<bool>, ArchiveError> {
    let entries: Vec<Entry> =
        lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let slots: Vec<Option<String>> = entries.iter().map(|entry| slot(&entry.record)).collect();
    let new = entries.iter().zip(&slots).zip(lines).map(|((entry, slot), line)| NewEntry {
        source: &entry.source,
        number: entry.number,
        slot: slot.as_deref(),
        line,
    });
    archive.append(&new.collect::<Vec<_>>())
}

fn lines(path: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let read = |line: &str| {
        lines.push(line.to_owned());
        Ok::<(), ArchiveError>(())
    };
    Reader::open(path).unwrap().by_source(read).unwrap();
    lines
}

fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.db");
    (folder, path)
}

#[test]
fn an_entry_is_stored_once_and_as_it_came() {
    let (_folder, path) = place();
    let mut archive = Archive::open(&path, 100, "run-1").unwrap();
    let odd = trace("g", 2, 2).replace(r#","kind""#, r#" , "new_field":"é\u0000", "kind""#);
    let first = [trace("g", 1, 1), odd.clone()];
    assert_eq!(append(&mut archive, &first), [true, true]);
    // The same again, in one batch twice, and the same number of somebody else.
    let again = [odd.clone(), trace("g", 3, 3), trace("g", 3, 3), trace("h", 2, 4)];
    assert_eq!(append(&mut archive, &again), [false, true, false, true]);
    let all = [trace("g", 1, 1), odd, trace("g", 3, 3), trace("h", 2, 4)];
    assert_eq!(lines(&path), all, "while it is appended to");
    archive.close().unwrap();
    assert_eq!(lines(&path), all);
}

#[test]
fn numbers_may_come_in_any_order_and_are_read_in_theirs() {
    let (_folder, path) = place();
    let mut archive = Archive::open(&path, 100, "run").unwrap();
    for number in [3, 1, 12, 2] {
        assert_eq!(append(&mut archive, &[trace("g", number, number)]), [true]);
    }
    let in_order: Vec<String> = [1, 2, 3, 12].iter().map(|n| trace("g", *n, *n)).collect();
    assert_eq!(lines(&path), in_order);
    let mut arrived = Vec::new();
    let read = |line: &str| {
        arrived.push(line.to_owned());
        Ok::<(), ArchiveError>(())
    };
    Reader::open(&path).unwrap().by_arrival(read).unwrap();
    assert_eq!(arrived[0], trace("g", 3, 3));
    assert_eq!(arrived.len(), 4);
}

#[test]
fn a_number_that_is_no_number_stores_nothing_of_its_batch() {
    let (_folder, path) = place();
    let mut archive = Archive::open(&path, 100, "run").unwrap();
    let batch = [trace("g", 1, 1), trace("g", u64::MAX, 2)];
    let error = try_append(&mut archive, &batch).unwrap_err();
    assert!(matches!(error, ArchiveError::NumberTooLarge { .. }), "{error}");
    assert!(lines(&path).is_empty());
}

#[test]
fn a_full_disk_stores_no_part_and_is_no_fault_of_the_file() {
    let (_folder, path) = place();
    let mut archive = Archive::open(&path, 10_000, "run").unwrap();
    append(&mut archive, &[trace("g", 1, 1)]);
    let pages = |archive: &Archive, most: i64| {
        archive.connection.pragma_update(None, "max_page_count", most).unwrap();
    };
    pages(&archive, 1);
    let batch: Vec<String> = (2..=2_000).map(|n| trace("g", n, n)).collect();
    let error = try_append(&mut archive, &batch).unwrap_err();
    assert!(!error.is_of_the_file() && error.to_string().contains("full"), "{error}");
    assert_eq!(lines(&path).len(), 1);
    pages(&archive, 1_000_000);
    assert!(append(&mut archive, &batch).iter().all(|new| *new));
    assert_eq!(lines(&path).len(), 2_000);
}

#[test]
fn it_goes_on_where_it_was() {
    let (folder, path) = place();
    let mut archive = Archive::open(&path, 100, "run-1").unwrap();
    append(&mut archive, &[trace("g", 1, 1)]);
    archive.close().unwrap();
    let left: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["records.db"], "one file");
    let mut archive = Archive::open(&path, 100, "run-2").unwrap();
    assert_eq!(archive.run_id(), "run-1");
    assert_eq!(append(&mut archive, &[trace("g", 1, 1), trace("g", 2, 2)]), [false, true]);
    assert_eq!(Reader::open(&path).unwrap().run_id(), "run-1");
}

/// Of messages beyond the limit there is an account; what stands of the rest stays.
#[test]
fn beyond_its_limit_the_oldest_messages_become_an_account() {
    let (_folder, path) = place();
    let mut archive = Archive::open(&path, 20, "run").unwrap();
    let mut whole = LedgerBuilder::new();
    let mut number = 0;
    for round in 1..=10_u64 {
        let mut batch = Vec::new();
        for of_round in 1..=10 {
            number += 1;
            // Each tenth message is missing, each fifth comes twice.
            let sequence = match of_round {
                5 => (round - 1) * 11 + 4,
                n => (round - 1) * 11 + n,
            };
            batch.push(trace("g", number, sequence));
        }
        number += 1;
        batch.push(counters("g", number, number));
        if round == 1 {
            number += 1;
            batch.push(counters("h", number, 7));
        }
        for line in &batch {
            let entry: Entry = serde_json::from_str(line).unwrap();
            if let Record::Trace(record) = entry.record {
                whole.observe_trace(&Trace::try_from(*record).unwrap());
            }
        }
        assert!(append(&mut archive, &batch).iter().all(|new| *new));
        // What is gone is known all the same.
        assert!(append(&mut archive, &batch).iter().all(|new| !*new));
        // The counters stand beyond the limit: there are two of them.
        assert!(lines(&path).len() <= 20 + 2 + 1, "{}", lines(&path).len());
    }
    assert_eq!(append(&mut archive, &[trace("g", 1, 1)]), [false]);
    archive.close().unwrap();

    let mut again = LedgerBuilder::new();
    let (mut messages, mut counts) = (0, Vec::new());
    for line in lines(&path) {
        let entry: Entry = serde_json::from_str(&line).unwrap();
        match entry.record {
            Record::Gone(record) => {
                messages += record.account.messages();
                again.observe_account(&record.account);
            }
            Record::Trace(record) => {
                messages += 1;
                again.observe_trace(&Trace::try_from(*record).unwrap());
            }
            Record::Gateway(counters) => counts.push((entry.source, counters.taken)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(messages, 100);
    assert_eq!(again.ledger(false), whole.ledger(false));
    assert_eq!(again.ledger(false).duplicates, 10);
    assert!(counts.contains(&("h".to_owned(), 7)), "nothing replaced it: {counts:?}");
    assert!(counts.contains(&("g".to_owned(), number)), "{counts:?}");
}

/// Numbers that come late, or never, beyond the limit, too: each is taken once, none is taken for
/// one that was.
#[test]
fn what_is_forgotten_is_known_by_its_own_number_only() {
    let (_folder, path) = place();
    let mut archive = Archive::open(&path, 20, "run").unwrap();
    // Far ahead; and 1 and 7 are missing.
    let mut order = vec![1_000, 5, 4, 3, 2];
    order.extend(8..200);
    for number in &order {
        assert_eq!(append(&mut archive, &[trace("g", *number, *number)]), [true], "{number}");
    }
    for number in &order {
        assert_eq!(append(&mut archive, &[trace("g", *number, *number)]), [false], "{number}");
    }
    for number in [7, 1, 6, 999] {
        assert_eq!(append(&mut archive, &[trace("g", number, number)]), [true], "{number}");
        assert_eq!(append(&mut archive, &[trace("g", number, number)]), [false], "{number}");
    }
    // Once there is no gap, numbers cost nothing any more.
    for number in 200..300 {
        append(&mut archive, &[trace("g", number, number)]);
    }
    let rows = "SELECT count(*) FROM entries";
    let rows: i64 = archive.connection.query_row(rows, [], |row| row.get(0)).unwrap();
    assert!(rows <= 20 + 2, "{rows}");
}

/// More words that stand than the limit: messages go all the same.
#[test]
fn what_stands_does_not_keep_messages_from_leaving() {
    let (_folder, path) = place();
    let mut archive = Archive::open(&path, 20, "run").unwrap();
    for number in 1..=50 {
        append(&mut archive, &[counters(&format!("g{number}"), 1, 1)]);
    }
    for number in 1..=50 {
        append(&mut archive, &[trace("g", number, number)]);
    }
    let traces = lines(&path).iter().filter(|line| line.contains(r#""kind":"trace""#)).count();
    assert!(traces <= 1, "{traces}");
    assert_eq!(lines(&path).iter().filter(|line| line.contains(r#""kind":"gateway""#)).count(), 50);
}

#[test]
fn files_of_others_are_refused_and_stay_as_they_are() {
    let (folder, path) = place();
    let says = |words: &str| {
        let before = fs::read(&path).unwrap();
        let errors = [
            Archive::open(&path, 9, "r").map(drop).unwrap_err().to_string(),
            Reader::open(&path).map(drop).unwrap_err().to_string(),
        ];
        for error in errors {
            assert!(error.contains(words) && error.contains("records.db"), "{error}");
        }
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    };
    fs::write(&path, "source,number\n".repeat(100)).unwrap();
    says("no archive of Hopwatch");
    fs::remove_file(&path).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE precious (x)").unwrap();
    drop(other);
    says("no archive of Hopwatch");
    fs::remove_file(&path).unwrap();
    let newer = Connection::open(&path).unwrap();
    newer.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
    newer.pragma_update(None, "user_version", SCHEMA + 1).unwrap();
    drop(newer);
    says("newer Hopwatch");
}

#[test]
fn what_is_not_there_is_not_made_by_reading() {
    let (folder, path) = place();
    let error = Reader::open(&path).unwrap_err();
    assert!(matches!(error, ArchiveError::Missing { .. }), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    // Killed before the first table: the next start makes them, and there is nothing to read.
    fs::write(&path, "").unwrap();
    assert!(matches!(Reader::open(&path), Err(ArchiveError::Damaged { .. })));
    let mut archive = Archive::open(&path, 9, "r").unwrap();
    append(&mut archive, &[trace("g", 1, 1)]);
}

/// Cut anywhere, or with anything in it: an error or what is there, never a panic.
#[test]
fn a_damaged_file_is_an_error() {
    let (folder, path) = place();
    let mut archive = Archive::open(&path, 1_000, "run").unwrap();
    let all: Vec<String> = (1..=200).map(|n| trace("g", n, n)).collect();
    append(&mut archive, &all);
    archive.close().unwrap();
    let whole = fs::read(&path).unwrap();
    let read = |bytes: &[u8]| {
        let path = folder.path().join("damaged.db");
        fs::write(&path, bytes).unwrap();
        let mut n = 0;
        let count = |_: &str| {
            n += 1;
            Ok::<(), ArchiveError>(())
        };
        let result = Reader::open(&path).and_then(|reader| reader.by_source(count));
        let open = Archive::open(&path, 1_000, "run").map(drop);
        result.map(|()| n).and_then(|n| open.map(|()| n))
    };
    assert_eq!(read(&whole).unwrap(), 200);
    for eighth in 1..8 {
        let error = read(&whole[..whole.len() * eighth / 8]).unwrap_err();
        assert!(error.is_of_the_file(), "{error}");
        assert!(error.to_string().contains("damaged.db"), "{error}");
    }
    let mut noted = 0;
    for page in 0..whole.len() / 4096 {
        let mut bytes = whole.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(0xa5);
        match read(&bytes) {
            Ok(n) => assert_eq!(n, 200, "page {page} was of no consequence"),
            Err(error) => {
                assert!(error.is_of_the_file(), "{error}");
                noted += 1;
            }
        }
    }
    assert!(noted * 2 > whole.len() / 4096, "{noted}");
}
