//! `hopwatch report`: a run reported again, from what it left.
#![allow(clippy::unwrap_used, reason = "tests")]

use hopwatch_e2e::{Ended, World, legs_add_up};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What a report consists of.
const FILES: [&str; 5] = ["report.json", "report.html", "report.md", "traces.csv", "glass.csv"];

fn report_files(folder: &Path) -> BTreeMap<&'static str, String> {
    let read =
        |name| fs::read_to_string(folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    FILES.into_iter().map(|name| (name, read(name))).collect()
}

/// The folder's run and records at another place, without its report.
fn copy(ended: &Ended, to: &Path) {
    fs::create_dir(to).unwrap();
    for name in ["run.json", "records.db"] {
        fs::copy(ended.out.join(name), to.join(name)).unwrap();
    }
}

/// Rows in another order: as if everything had arrived differently.
fn shuffle(database: &Path) {
    let connection = rusqlite::Connection::open(database).unwrap();
    let n: i64 =
        connection.query_row("SELECT count(*) FROM entries", [], |row| row.get(0)).unwrap();
    assert!(n > 50, "{n}");
    connection
        .execute_batch(
            "PRAGMA foreign_keys = OFF;
             CREATE TABLE other AS SELECT source, number, slot, line FROM entries ORDER BY random();
             DELETE FROM entries;
             INSERT INTO entries (source, number, slot, line) SELECT * FROM other;
             DROP TABLE other;
             UPDATE sources SET id = id + 100;
             UPDATE entries SET source = source + 100;
             VACUUM;",
        )
        .unwrap();
}

#[test]
fn a_finished_run_is_reported_again_byte_for_byte() {
    let world = World::new();
    let words = "run --for 3s --rate 20 --ai-ms 20 --qos reliable --budget-delivered 0.999";
    let ended = world.hopwatch(words).end();
    world.is_empty_now();
    ended.has_code(0).report().ledger().all_delivered(60);
    let first = report_files(&ended.out);
    let left: Vec<_> = fs::read_dir(&ended.out).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), FILES.len() + 3, "records, run, logs and no more: {left:?}");

    // In its own place, over the report that is there.
    let again = world.report(&ended.out).end();
    assert_eq!(again.has_code(0).stdout, ended.stdout);
    assert_eq!(report_files(&ended.out), first);

    let elsewhere = world.path("elsewhere");
    copy(&ended, &elsewhere);
    let again = world.report(&elsewhere).end();
    assert_eq!(again.has_code(0).stdout, ended.stdout);
    assert_eq!(report_files(&elsewhere), first);

    let shuffled = world.path("shuffled");
    copy(&ended, &shuffled);
    shuffle(&shuffled.join("records.db"));
    assert_eq!(world.report(&shuffled).end().has_code(0).stdout, ended.stdout);
    assert_eq!(report_files(&shuffled), first);

    // The records themselves: all messages, each with who told it.
    let traces = ended.records("trace");
    assert_eq!(traces.len(), 60);
    assert!(traces.iter().all(|trace| trace["source"].as_str().unwrap().starts_with("gateway-")));
    assert!(ended.records("census").iter().any(|census| census["last"] == true));
}

/// The code is part of what is reported.
#[test]
fn a_missed_budget_is_missed_again() {
    let world = World::new();
    let ended = world.hopwatch("run --for 1s --rate 20 --ai-ms 30 --budget-total-ms 5").end();
    ended.has_code(1);
    assert_eq!(world.report(&ended.out).end().has_code(1).stdout, ended.stdout);
    world.is_empty_now();
}

/// Nobody was left to write a report.
#[test]
fn of_a_killed_run_is_reported_what_was_stored() {
    let world = World::new();
    let mut running = world.hopwatch("run --for 60s --rate 20 --ai-ms 10").start();
    running.delivered(30);
    // One after the other and without a word: also the collector has no time to tidy up.
    let collector = world.child_of(running.pid(), "hopwatch-collector");
    running.pid().kill();
    collector.kill();
    let killed = running.end();
    world.is_empty_within(std::time::Duration::from_secs(10));
    assert!(!killed.out.join("report.json").exists());
    let again = world.report(&killed.out).end();
    again.says(&["not ended properly"]);
    let report = again.report();
    let why = report.run.interrupted.as_deref().unwrap();
    assert!(why.contains("not ended properly"), "{why}");
    assert!(report.ledger().delivered >= 30, "{:?}", report.ledger());
    legs_add_up(&again.traces());
    assert!(again.markdown().contains("not ended properly"));
    // The folder is taken all the same.
    let words = format!("run --for 1s --out {}", killed.out.display());
    world.bare(&words).end().has_code(2).says(&["hopwatch report", "another --out"]);
}

#[test]
fn what_is_no_run_is_refused_with_what_is_missing() {
    let world = World::new();
    let refused = |folder: &Path, said: &[&str]| {
        world.report(folder).end().has_code(2).says(said);
        assert!(!folder.join("report.json").exists());
    };
    world.bare("report").end().has_code(2).says(&["<DIR>", "--help"]);
    refused(&world.path("nowhere"), &["nowhere", "no folder"]);
    let file = world.file("file", "");
    refused(&file, &["file", "no folder"]);
    let folder = world.path("folder");
    fs::create_dir(&folder).unwrap();
    refused(&folder, &["run.json", "folder of a run"]);

    let ended = world.hopwatch("run --for 1s --rate 20 --ai-ms 10").end();
    ended.has_code(0);
    let run = fs::read(ended.out.join("run.json")).unwrap();
    fs::write(folder.join("run.json"), &run).unwrap();
    refused(&folder, &["records.db", "there is no"]);
    let whole = fs::read(ended.out.join("records.db")).unwrap();
    let database = folder.join("records.db");
    fs::write(&database, &whole[..whole.len() / 2]).unwrap();
    refused(&folder, &["records.db", "damaged"]);
    fs::write(&database, "a,b\n".repeat(2000)).unwrap();
    refused(&folder, &["records.db", "no archive of Hopwatch"]);
    fs::write(&database, &whole).unwrap();
    let newer = rusqlite::Connection::open(&database).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    drop(newer);
    refused(&folder, &["records.db", "newer Hopwatch"]);
    fs::write(&database, &whole).unwrap();
    let text = String::from_utf8(run).unwrap().replace("hopwatch.run/1", "hopwatch.run/9");
    fs::write(folder.join("run.json"), text).unwrap();
    refused(&folder, &["run.json", "hopwatch.run/9"]);
    world.is_empty_now();
}
