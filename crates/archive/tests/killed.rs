//! A process that is killed while it stores loses nothing that it had stored.
#![allow(clippy::unwrap_used, reason = "tests")]

use hopwatch_archive::{Archive, ArchiveError, NewEntry, Reader};
use hopwatch_wire::record::Entry;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// The variable that makes a process of this test the one to be killed.
const FILE: &str = "HOPWATCH_TEST_ARCHIVE";

fn line(number: u64) -> String {
    // Long enough that transactions are of several pages, and the WAL is taken over often.
    let text = "x".repeat(900);
    format!(
        r#"{{"source":"s","number":{number},"kind":"event","event":"e{number}","text":"{text}"}}"#
    )
}

fn numbers(path: &Path) -> Vec<u64> {
    let mut all = Vec::new();
    let read = |line: &str| {
        all.push(serde_json::from_str::<Entry>(line).unwrap().number);
        Ok::<(), ArchiveError>(())
    };
    Reader::open(path).unwrap().by_source(read).unwrap();
    all
}

/// Not a test: what [`nothing_stored_is_lost`] starts and kills.
#[test]
fn appends_until_killed() {
    let Some(path) = std::env::var_os(FILE) else { return };
    let path = Path::new(&path);
    let mut archive = Archive::open(path, 1_000_000, "run").unwrap();
    let mut next = numbers(path).last().map_or(1, |last| last + 1);
    let mut stdout = std::io::stdout();
    loop {
        let lines: Vec<String> = (next..next + 7).map(line).collect();
        let slots: Vec<String> = (next..next + 7).map(|number| format!("e{number}")).collect();
        let new: Vec<_> = (next..)
            .zip(lines.iter().zip(&slots))
            .map(|(number, (line, slot))| NewEntry { source: "s", number, slot: Some(slot), line })
            .collect();
        assert!(archive.append(&new).unwrap().iter().all(|new| *new));
        next += 7;
        writeln!(stdout, "stored {}", next - 1).unwrap();
    }
}

#[test]
fn nothing_stored_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.db");
    for round in 0..12 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "appends_until_killed", "--nocapture"])
            .env(FILE, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut told = stdout.lines().map_while(Result::ok).filter_map(|line| {
            let (_, number) = line.rsplit_once("stored ")?;
            number.parse::<u64>().ok()
        });
        let mut last = 0;
        for _ in 0..=round * 5 {
            last = told.next().unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // What it told before it died, and we had not read yet.
        last = told.last().unwrap_or(last);
        if round % 3 == 2 {
            // The index of the WAL is made anew.
            let _gone = std::fs::remove_file(folder.path().join("records.db-shm"));
        }
        let there = numbers(&path);
        assert!(there.last().is_some_and(|there| *there >= last), "{last} was stored: {there:?}");
        assert_eq!(there, (1..=there.len() as u64).collect::<Vec<_>>(), "each once");
        assert_eq!(there.len() % 7, 0, "no part of a batch");
    }
}
