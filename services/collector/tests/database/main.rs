//! The collector with a database, as a process that is killed, or can't write.
#![allow(clippy::unwrap_used, reason = "tests")]

mod program;
mod reports;

use program::{Collector, post};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Kills in a run.
const KILLS: u32 = 15;
/// What takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// Entry `number` of a gateway: a message, and now and then its counters.
fn gateway(source: &str, number: u64) -> String {
    let head = format!(r#"{{"source":"{source}","number":{number}"#);
    let sequence = number - number / 10;
    match number % 10 {
        0 => format!(
            r#"{head},"kind":"gateway","lane":"l","taken":{sequence},"queue_dropped":0,"queued":0,"working":0,"finished":{sequence},"message_lost":0,"records_dropped":0,"last":false}}"#
        ),
        last => {
            let outcome = if last == 7 { "ai timed_out" } else { "delivered" };
            format!(
                r#"{head},"kind":"trace","lane":"l","trace_id":"{sequence:032x}","robot_id":"r","sequence":{sequence},"message_id":"","publisher":"{:032x}","publication_sequence":{sequence},"outcome":"{outcome}","stamps":{{"b/1":{{"taken":"{sequence}"}}}},"wall_half_width_ns":40}}"#,
                1
            )
        }
    }
}

/// Entry `number` of a broadcaster: its counters.
fn broadcaster(source: &str, number: u64) -> String {
    format!(
        r#"{{"source":"{source}","number":{number},"kind":"broadcaster","received":{number},"frames_sent":1,"frames_dropped":0,"acks":1,"rubbish":0,"clients":1,"records_dropped":0}}"#
    )
}

/// Sends batch after batch, each until it is acknowledged, as a service's spool does. Gives all
/// lines.
fn send(
    make: impl Fn(u64) -> String,
    batch: u64,
    address: &Mutex<SocketAddr>,
    over: &AtomicBool,
) -> String {
    let mut all = String::new();
    let mut next = 1;
    while !over.load(Ordering::Relaxed) {
        let lines: String = (next..next + batch).map(|number| make(number) + "\n").collect();
        let asked = Instant::now();
        loop {
            let to = *address.lock().unwrap();
            match post(to, &lines) {
                Ok((200, _)) => break,
                seen => assert!(asked.elapsed() < PATIENCE, "never acknowledged: {seen:?}"),
            }
        }
        all.push_str(&lines);
        next += batch;
    }
    all
}

#[test]
fn killed_at_any_moment_it_loses_nothing_that_it_acknowledged() {
    let seed = rand::random();
    println!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.db");
    let mut collector = Collector::start(Some(&path));
    let run = collector.status()["run_id"].clone();
    let address = Mutex::new(collector.address);
    let over = AtomicBool::new(false);
    let (messages, counters) = std::thread::scope(|scope| {
        let messages = scope.spawn(|| send(|n| gateway("g", n), 37, &address, &over));
        let counters = scope.spawn(|| send(|n| broadcaster("b", n), 3, &address, &over));
        for _ in 0..KILLS {
            // No waiting for anything: any moment will do.
            std::thread::sleep(Duration::from_millis(random.random_range(0..80)));
            collector.kill();
            collector = Collector::start(Some(&path));
            *address.lock().unwrap() = collector.address;
        }
        over.store(true, Ordering::Relaxed);
        (messages.join().unwrap(), counters.join().unwrap())
    });
    assert!(messages.lines().count() > 500, "too little was under way to lose anything");

    // One that was never killed, and got everything once.
    let whole = Collector::start(Some(&folder.path().join("whole.db")));
    for lines in [&messages, &counters] {
        assert_eq!(post(whole.address, lines).unwrap().0, 200);
    }
    let there = collector.dataset();
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    for line in there.lines() {
        *numbers.entry(line).or_default() += 1;
    }
    for line in messages.lines().chain(counters.lines()) {
        assert_eq!(numbers.get(line), Some(&1), "{line}");
    }
    assert_eq!(there, whole.dataset());
    let (status, expected) = (collector.status(), whole.status());
    assert_eq!(status["lanes"], expected["lanes"]);
    assert_eq!(status["records"], expected["records"]);
    assert_eq!(status["run_id"], run, "the same run");
}

/// As a full disk is: somebody else has the file for himself.
#[test]
fn what_cannot_be_stored_is_not_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.db");
    let collector = Collector::start(Some(&path));
    let batch = |from: u64| (from..from + 20).map(|n| gateway("g", n) + "\n").collect::<String>();
    assert_eq!(post(collector.address, &batch(1)).unwrap().0, 200);
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    for _ in 0..2 {
        let (code, text) = post(collector.address, &batch(21)).unwrap();
        assert_eq!(code, 503, "{text}");
        assert!(text.contains("locked"), "{text}");
    }
    assert_eq!(collector.status()["records"], 20, "nothing of it is counted");
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(post(collector.address, &batch(21)).unwrap().0, 200);
    let kinds = |dataset: &str, kind: &str| dataset.matches(kind).count();
    let there = collector.dataset();
    assert_eq!(kinds(&there, r#""kind":"trace""#), 36);
    assert_eq!(kinds(&there, "archive_failed"), 1, "told once");
}

/// Most messages are an account only, in the file and in memory.
#[test]
fn what_is_no_longer_kept_is_counted_after_a_restart_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.db");
    let words = ["--archive-records", "50", "--keep-messages", "20"];
    let mut collector = Collector::start_with(Some(&path), &words);
    let memory = Collector::start(None);
    for from in (1..=600).step_by(30) {
        let batch: String = (from..from + 30).map(|n| gateway("g", n) + "\n").collect();
        for address in [collector.address, memory.address] {
            assert_eq!(post(address, &batch).unwrap().0, 200);
        }
    }
    let expected = memory.status()["lanes"].clone();
    assert_eq!(expected["l"]["published"], 540);
    assert_eq!(collector.status()["lanes"], expected);
    collector.kill();
    let again = Collector::start_with(Some(&path), &words);
    assert_eq!(again.status()["lanes"], expected);
    assert_eq!(again.status()["messages_not_kept"], 520);
    // Sent again: known, though it is gone.
    let (code, text) = post(again.address, &gateway("g", 1)).unwrap();
    assert!(code == 200 && text.contains(r#""taken":0"#), "{code} {text}");
    assert_eq!(again.status()["lanes"], expected);
    assert!(again.dataset().lines().count() <= 50 + 1 + 1);
}

#[test]
fn rubbish_is_refused_and_told_but_not_stored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.db");
    let collector = Collector::start(Some(&path));
    let bad_outcome = gateway("g", 2).replace("delivered", "eaten");
    let too_far = gateway("g", 3).replace(r#""number":3"#, r#""number":18446744073709551615"#);
    let batch = format!("{}\n{bad_outcome}\n{too_far}\nnothing\n", gateway("g", 1));
    let (code, text) = post(collector.address, &batch).unwrap();
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &answer["taken"], &answer["refused"]), (200, &1.into(), &3.into()), "{text}");
    assert_eq!(post(collector.address, "nothing\n").unwrap().0, 400);
    let there = collector.dataset();
    assert_eq!(there.lines().count(), 3, "{there}");
    assert_eq!(there.matches("bad_records").count(), 2, "{there}");
    // What was no record may still be told by a sender that was mended.
    assert_eq!(post(collector.address, &gateway("g", 2)).unwrap().0, 200);
    assert!(collector.dataset().contains(&gateway("g", 2)));
}

#[test]
fn without_a_database_a_new_start_knows_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut collector = Collector::start(None);
    assert_eq!(post(collector.address, &gateway("g", 1)).unwrap().0, 200);
    let there = collector.dataset();
    assert_eq!(there, gateway("g", 1) + "\n");
    collector.kill();
    let again = Collector::start(None);
    assert_eq!(again.status()["records"], 0);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_file_of_somebody_else_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    std::fs::write(&path, "precious\n".repeat(200)).unwrap();
    let ended = std::process::Command::new(env!("CARGO_BIN_EXE_hopwatch-collector"))
        .args(["--listen", "127.0.0.1:0", "--database"])
        .arg(&path)
        .env_clear()
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{said}");
    assert!(said.contains("no archive of Hopwatch") && said.contains("choose another"), "{said}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious\n".repeat(200));
}
