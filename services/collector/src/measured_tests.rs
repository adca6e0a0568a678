use super::*;
use crate::measured::part::part;
use hopwatch_analysis::{Budget, Dataset, RunInfo, report};
use hopwatch_folder::Gathering;
use hopwatch_model::Ledger;
use serde_json::json;

const MS: Ns = 1_000_000;

/// A gateway on a clock, and all that it told.
struct Gateway {
    clock: String,
    number: u64,
    missed: u64,
    records_dropped: u64,
    open: u64,
    lines: Vec<String>,
}

impl Gateway {
    fn on(clock: &str) -> Self {
        let clock = clock.to_owned();
        Self { clock, number: 0, missed: 0, records_dropped: 0, open: 0, lines: Vec::new() }
    }

    fn tell(&mut self, measured: &mut Measured, mut record: serde_json::Value) {
        self.number += 1;
        record["source"] = json!("g");
        record["number"] = json!(self.number);
        record["lane"] = json!("l");
        let line = record.to_string();
        measured.observe(&Told::read(&line).unwrap());
        self.lines.push(line);
    }

    fn trace(&mut self, measured: &mut Measured, sequence: u64, taken: Ns) {
        let stamps = json!({ &self.clock: { "taken": taken.to_string() } });
        let trace = json!({
            "kind": "trace", "trace_id": format!("{sequence:032x}"), "robot_id": "r",
            "sequence": sequence, "message_id": sequence.to_string(),
            "publisher": format!("{:032x}", 1), "publication_sequence": sequence,
            "outcome": "ai failed", "stamps": stamps, "wall_half_width_ns": 40,
        });
        self.tell(measured, trace);
    }

    fn counters(&mut self, measured: &mut Measured) {
        let counters = json!({
            "kind": "gateway", "started_ms": 1, "taken": 0, "queue_dropped": 0, "queued": 0,
            "working": self.open, "finished": 0, "missed": self.missed, "message_lost": 0,
            "records_dropped": self.records_dropped, "last": false,
        });
        self.tell(measured, counters);
    }

    fn lane(&mut self, measured: &mut Measured) {
        let lane = json!({
            "kind": "lane", "topic": "/t", "qos": "BEST_EFFORT VOLATILE KEEP_LAST 1",
            "transport": "http1", "workers": 4, "clock": self.clock,
        });
        self.tell(measured, lane);
    }

    fn gathered(&self) -> Dataset {
        let mut gathering = Gathering::default();
        self.lines.iter().for_each(|line| gathering.take(line).unwrap());
        gathering.end().data
    }
}

/// A run with what the gateway tells before, during and after it.
fn measure(measured: &mut Measured, gateway: &mut Gateway) -> (Dataset, Ledger) {
    let data = part(gateway.gathered(), measured.settled().unwrap()).data;
    let info = RunInfo::default();
    let report = report(&data, info, BTreeMap::new(), &Budget::default());
    let ledger = report.lanes[0].ledger.clone();
    assert_eq!(ledger.accounted(), ledger.published, "{ledger:?}");
    (data, ledger)
}

#[test]
fn messages_belong_to_a_run_by_their_take() {
    for clock in [clock_id().as_str(), "elsewhere"] {
        let (mut measured, mut gateway) = (Measured::new(), Gateway::on(clock));
        let m = &mut measured;
        let now = mono_ns();
        gateway.lane(m);
        gateway.counters(m);
        gateway.trace(m, 1, now - 9 * MS);
        gateway.trace(m, 2, now - 8 * MS);
        let began = m.start().unwrap();
        assert_eq!(began.state, MeasuredState::Running);
        // It was on its way when the run began.
        gateway.trace(m, 3, if clock == "elsewhere" { now - 8 * MS } else { now - 7 * MS });
        let start = mono_ns();
        gateway.trace(m, 4, start);
        gateway.trace(m, 5, start + 1);
        // 6 and 7 were lost, as the tap noticed at 8.
        gateway.missed = 2;
        let mut late = mono_ns();
        gateway.trace(m, 8, late);
        if clock != "elsewhere" {
            late = mono_ns();
        }
        let stopped = m.stop().unwrap();
        assert_eq!((stopped.state, &stopped.name), (MeasuredState::Writing, &began.name));
        // Taken in it, though it is told later; and one that isn't.
        gateway.trace(m, 9, late);
        gateway.trace(m, 10, mono_ns() + 1_000_000 * MS);
        gateway.counters(m);
        assert!(!m.is_settled(Duration::ZERO));
        assert!(!m.is_settled(UNDER_WAY), "no counters since");
        gateway.counters(m);
        assert!(m.is_settled(UNDER_WAY));
        let (data, ledger) = measure(m, &mut gateway);
        let numbers: Vec<i32> = data.traces.iter().map(|trace| trace.sequence).collect();
        assert_eq!(numbers, [4, 5, 8, 9], "{clock}");
        assert_eq!((ledger.published, ledger.lost_in_ros, ledger.outcome_unknown), (6, 2, 0));
        assert!(ledger.reconciles, "{ledger:?}");
        assert!(data.events.iter().any(|event| event.kind == "measured_run"), "{data:?}");
    }
}

/// What is missing without a gap at the tap was taken: nobody may call it lost in ROS.
#[test]
fn what_no_tap_missed_is_not_lost_in_ros() {
    let (mut measured, mut gateway) = (Measured::new(), Gateway::on(clock_id().as_str()));
    let m = &mut measured;
    gateway.lane(m);
    gateway.counters(m);
    m.start().unwrap();
    for sequence in [1, 2, 4, 5] {
        gateway.trace(m, sequence, mono_ns());
    }
    m.stop().unwrap();
    assert!(!m.is_settled(UNDER_WAY));
    gateway.open = 1;
    gateway.counters(m);
    gateway.trace(m, 6, mono_ns());
    assert!(!m.is_settled(UNDER_WAY), "3 may still come");
    assert!(m.is_settled(PATIENCE));
    let (_, ledger) = measure(m, &mut gateway);
    assert_eq!((ledger.published, ledger.lost_in_ros, ledger.outcome_unknown), (5, 0, 1));
    assert!(!ledger.reconciles, "{ledger:?}");
}

/// Gaps are counted for longer than the run goes on: they could be those of other numbers.
#[test]
fn what_is_missing_where_records_were_dropped_is_unknown() {
    let (mut measured, mut gateway) = (Measured::new(), Gateway::on(clock_id().as_str()));
    let m = &mut measured;
    gateway.lane(m);
    gateway.records_dropped = 3;
    gateway.counters(m);
    m.start().unwrap();
    for sequence in [1, 2, 5] {
        gateway.trace(m, sequence, mono_ns());
    }
    m.stop().unwrap();
    assert!(!m.is_settled(UNDER_WAY));
    // Records of 3 and 4 were dropped, and 6 and 7 were lost after the stop.
    (gateway.records_dropped, gateway.missed) = (5, 2);
    gateway.counters(m);
    assert!(m.is_settled(UNDER_WAY));
    let (data, ledger) = measure(m, &mut gateway);
    assert_eq!((ledger.published, ledger.lost_in_ros, ledger.outcome_unknown), (5, 0, 2));
    assert!(!ledger.reconciles, "{ledger:?}");
    assert_eq!(data.counters[0].records_dropped, 2);
    let rule = data.events.iter().find(|event| event.kind == "measured_run").unwrap();
    assert!(rule.text.contains("0.7 s or more after"), "{rule:?}");
}

#[test]
fn messages_that_are_no_longer_kept_are_counted() {
    let (mut measured, mut gateway) = (Measured::new(), Gateway::on(clock_id().as_str()));
    let m = &mut measured;
    gateway.lane(m);
    m.start().unwrap();
    for sequence in 1..=5 {
        gateway.trace(m, sequence, mono_ns());
    }
    gateway.counters(m);
    m.stop().unwrap();
    assert!(m.is_settled(PATIENCE));
    // The oldest two.
    gateway.lines.drain(1..=2);
    let part = part(gateway.gathered(), m.settled().unwrap());
    assert_eq!((part.data.traces.len(), part.messages_not_kept), (3, 2));
    let told = part.data.events.iter().find(|event| event.kind == "not_kept").unwrap();
    assert!(told.text.starts_with("2 of the run's 5"), "{told:?}");
}

/// A gateway that was killed took something with it.
#[test]
fn a_gateway_that_says_nothing_more_ended_without_a_word() {
    let (mut measured, mut gateway) = (Measured::new(), Gateway::on(clock_id().as_str()));
    let m = &mut measured;
    gateway.lane(m);
    gateway.counters(m);
    m.start().unwrap();
    for sequence in [1, 3] {
        gateway.trace(m, sequence, mono_ns());
    }
    gateway.open = 1;
    gateway.counters(m);
    m.stop().unwrap();
    assert!(!m.is_settled(PATIENCE / 2) && m.is_settled(PATIENCE));
    let (_, ledger) = measure(m, &mut gateway);
    assert_eq!((ledger.lost_in_ros, ledger.outcome_unknown), (0, 1));
    assert!(ledger.notes.iter().any(|note| note.contains("without a word")), "{ledger:?}");
}

/// A gateway with nothing to do tells nothing.
#[test]
fn a_quiet_gateway_lives() {
    let (mut measured, mut gateway) = (Measured::new(), Gateway::on(clock_id().as_str()));
    let m = &mut measured;
    gateway.lane(m);
    gateway.counters(m);
    m.start().unwrap();
    gateway.trace(m, 1, mono_ns());
    gateway.counters(m);
    m.stop().unwrap();
    assert!(!m.is_settled(UNDER_WAY) && m.is_settled(SILENCE));
    let (_, ledger) = measure(m, &mut gateway);
    assert!(ledger.reconciles && ledger.published == 1, "{ledger:?}");
}

#[test]
fn one_run_at_a_time() {
    let mut measured = Measured::new();
    assert!(measured.stop().unwrap_err().contains("start one first"));
    let first = measured.start().unwrap();
    assert!(measured.start().unwrap_err().contains(&first.name));
    assert!(matches!(measured.find(&first.name), Err((true, _))));
    measured.stop().unwrap();
    assert!(measured.stop().unwrap_err().contains("already"));
    assert!(measured.start().unwrap_err().contains("being made"));
    assert!(measured.is_settled(UNDER_WAY), "nothing is there to wait for");
    measured.end(&first.name, Err("no message was taken in it".to_owned()));
    let shown = measured.runs();
    assert_eq!(shown[0].state, MeasuredState::Failed);
    assert!(matches!(measured.find(&first.name), Err((false, why)) if why.contains("no message")));
    let second = measured.start().unwrap();
    assert_ne!(first.name, second.name);
    assert_eq!(measured.runs()[0].name, second.name, "newest first");
}

#[test]
fn runs_are_found_again_in_their_folder() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("measured");
    let begin = || {
        let mut measured = Measured::new();
        measured.keep_in(place.clone());
        measured
    };
    let mut measured = begin();
    assert!(measured.runs().is_empty());
    let done = measured.start().unwrap().name;
    let data = Dataset::default();
    let report = report(&data, RunInfo::default(), BTreeMap::new(), &Budget::default());
    let files = ReportFiles::of(&report, &data).unwrap();
    let made = Made { messages: 7, decision: "KEEP".to_owned(), files };
    let made = write(&place.join(&done), Ok(made));
    measured.end(&done, made);
    let broken = measured.start().unwrap().name;
    assert_ne!(done, broken, "within a second, too");
    std::fs::create_dir(place.join("somebody-else's")).unwrap();

    let mut again = begin();
    let shown = again.runs();
    let states: Vec<_> = shown.iter().map(|run| (run.name.as_str(), run.state)).collect();
    assert_eq!(
        states,
        [(broken.as_str(), MeasuredState::Failed), (done.as_str(), MeasuredState::Done)]
    );
    assert!(shown[0].trouble.as_deref().unwrap().contains("ended before"), "{shown:?}");
    assert_eq!((shown[1].messages, shown[1].decision.as_deref()), (Some(7), Some("KEEP")));
    assert!(matches!(again.find(&done), Ok(Place::Folder(of)) if of.join("report.md").is_file()));
    assert!(again.find("../measured").is_err() && again.find("somebody-else's").is_err());
    assert!(again.start().is_ok());
}

#[test]
fn without_a_folder_the_newest_few_are_kept() {
    let mut measured = Measured::new();
    let data = Dataset::default();
    let report = report(&data, RunInfo::default(), BTreeMap::new(), &Budget::default());
    let files = ReportFiles::of(&report, &data).unwrap();
    for _ in 0..=IN_MEMORY {
        let name = measured.start().unwrap().name;
        let made = Made { messages: 1, decision: "KEEP".to_owned(), files: files.clone() };
        measured.end(&name, Ok(made));
    }
    let shown = measured.runs();
    let done = shown.iter().filter(|run| run.state == MeasuredState::Done);
    assert_eq!(done.count(), IN_MEMORY);
    assert!(shown[IN_MEMORY].trouble.as_deref().unwrap().contains("database"), "{shown:?}");
}
