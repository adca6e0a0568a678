//! Several conditions at once in one pipeline: lanes.
#![allow(clippy::unwrap_used, reason = "tests")]

use hopwatch_e2e::{Ended, Report, Row, World, figures_are_of_the_traces, get, legs_add_up};
use std::collections::{BTreeMap, BTreeSet};

/// (robot, sequence) → row, of a lane.
fn messages<'a>(rows: &'a [Row], lane: &str) -> BTreeMap<(&'a str, i64), &'a Row> {
    let of_lane = rows.iter().filter(|row| row.text("lane") == lane);
    of_lane.map(|row| ((row.text("robot_id"), row.ns("sequence")), row)).collect()
}

/// lane → sequence → when the robot stamped it, of its wall clock.
fn published(ended: &Ended) -> BTreeMap<String, BTreeMap<i64, i64>> {
    let mut all: BTreeMap<String, BTreeMap<i64, i64>> = BTreeMap::new();
    for trace in ended.records("trace") {
        let ns = trace["stamps"]["wall"]["published"].as_str().unwrap().parse().unwrap();
        let lane = trace["lane"].as_str().unwrap().to_owned();
        all.entry(lane).or_default().insert(trace["sequence"].as_i64().unwrap(), ns);
    }
    all
}

/// lane → topic.
fn topics(ended: &Ended) -> BTreeMap<String, String> {
    let text = |record: &serde_json::Value, key: &str| record[key].as_str().unwrap().to_owned();
    let records = ended.records("lane");
    records.iter().map(|record| (text(record, "lane"), text(record, "topic"))).collect()
}

fn names(report: &Report) -> Vec<&str> {
    report.lanes.iter().map(|lane| lane.name.as_str()).collect()
}

/// Without a word, `up` compares both settings of QoS on the same messages.
#[test]
fn up_compares_best_effort_with_reliable() {
    let world = World::new();
    let mut running = world.hopwatch("up --any-ports --page-port 0 --rate 20 --ai-ms 10").start();
    running.wait_for("messages on both lanes", |running| {
        let collector = running.address("collector");
        let status = hopwatch_e2e::get_json(collector, "/v1/status")?;
        let delivered = |lane: &str| status["lanes"][lane]["delivered"].as_u64().unwrap_or(0);
        let enough = ["best-effort", "reliable"].iter().all(|lane| delivered(lane) >= 30);
        if enough { Ok(()) } else { Err(status.to_string()) }
    });
    running.interrupt();
    let ended = running.end();
    world.is_empty_now();
    let report = ended.has_code(0).report();
    assert_eq!(names(&report), ["best-effort", "reliable"]);
    assert_eq!(report.lanes[0].qos, "BEST_EFFORT VOLATILE KEEP_LAST 1");
    assert_eq!(report.lanes[1].qos, "RELIABLE VOLATILE KEEP_LAST 10");
    let counts = report.lanes.iter().map(|lane| {
        let ledger = lane.ledger.adds_up();
        assert_eq!(ledger.published_source, "census");
        ledger.published
    });
    // Each message is published on both, whenever the end comes.
    assert_eq!(counts.collect::<BTreeSet<_>>().len(), 1);
    assert!(report.events.is_empty(), "{:?}", report.events);
    let rows = ended.traces();
    legs_add_up(&rows);

    let published = published(&ended);
    let (first, second) = (&published["best-effort"], &published["reliable"]);
    let both = first.iter().filter_map(|(of, ns)| Some((of, ns.cmp(second.get(of)?))));
    let orders: Vec<_> = both.collect();
    assert!(orders.len() >= 30, "{published:?}");
    for (sequence, order) in orders {
        assert_eq!(order.is_lt(), sequence % 2 == 0, "message {sequence} came {order:?}");
    }
    let census = ended.records("census");
    for lane in &report.lanes {
        let last = census.iter().filter(|c| c["lane"] == *lane.name && c["last"] == true);
        let counts: Vec<_> = last.map(|census| census["published"].as_u64()).collect();
        assert_eq!(counts, [Some(lane.ledger.published)], "{census:?}");
    }
}

#[test]
fn lanes_with_the_same_messages_reconcile_each_by_itself() {
    let world = World::new();
    let words = "run --for 3s --rate 20 --robots 2 --ai-ms 5 --lane best-effort,depth=100 \
                 --lane reliable,payload=2000,depth=100";
    let ended = world.hopwatch(words).end();
    world.is_empty_now();
    let report = ended.has_code(0).report();
    assert_eq!(names(&report), ["best-effort", "reliable"]);
    let rows = ended.traces();
    legs_add_up(&rows);
    for lane in &report.lanes {
        lane.ledger.all_delivered(120);
        let own: Vec<Row> =
            rows.iter().filter(|row| row.text("lane") == lane.name).cloned().collect();
        figures_are_of_the_traces(lane, &own);
    }
    let [first, second] = ["best-effort", "reliable"].map(|lane| messages(&rows, lane));
    assert_eq!(first.len(), 120);
    assert!(first.keys().eq(second.keys()));
    for (key, row) in &first {
        let other = second[key];
        assert_eq!(row.text("message_id"), other.text("message_id"));
        for different in ["trace_id", "publisher", "taken_ns"] {
            assert_ne!(row.text(different), other.text(different), "{different}");
        }
    }
    let topics = topics(&ended);
    assert_eq!(topics["best-effort"], "/robot_messages");
    assert_eq!(topics["reliable"], "/robot_messages/reliable_depth_100_payload_2000");
    for of in ["best-effort: mean total", "reliable: P99 total"] {
        assert!(ended.stdout.contains(of), "{}", ended.stdout);
    }
}

/// What differs begins behind the take: it is one message, taken once.
#[test]
fn lanes_that_differ_in_the_link_get_the_very_same_message() {
    let world = World::new();
    let words = "run --for 3s --rate 10 --ai-ms 5 --lane reliable,link=http1 \
                 --lane reliable,http1-fresh";
    let ended = world.hopwatch(words).end();
    world.is_empty_now();
    let report = ended.has_code(0).report();
    assert_eq!(names(&report), ["reliable-http1", "reliable-http1-fresh"]);
    let (warm, fresh) = (&report.lanes[0], &report.lanes[1]);
    assert_eq!((&*warm.transport, &*fresh.transport), ("http1", "http1-fresh"));
    for lane in [warm, fresh] {
        lane.ledger.all_delivered(30);
    }
    assert_eq!(fresh.legs["ai_connect"].n, 30);
    assert!(warm.legs.get("ai_connect").is_none_or(|leg| leg.n < 30));
    assert_eq!(topics(&ended).into_values().collect::<BTreeSet<_>>().len(), 1);

    let rows = ended.traces();
    legs_add_up(&rows);
    let (warm, fresh) =
        (messages(&rows, "reliable-http1"), messages(&rows, "reliable-http1-fresh"));
    let mut first = [0, 0];
    for (key, row) in &warm {
        let other = fresh[key];
        for same in ["taken_ns", "publisher", "publication_sequence", "message_id", "ros_ns"] {
            assert_eq!(row.text(same), other.text(same), "{same}");
        }
        assert_ne!(row.text("trace_id"), other.text("trace_id"));
        first[usize::from(row.ns("queue_ns") > other.ns("queue_ns"))] += 1;
    }
    assert!(first.iter().all(|first| *first >= 5), "one was first too often: {first:?}");
}

/// A robot's count is of a topic: what it publishes elsewhere was never meant for a lane.
#[test]
fn robots_on_another_topic_do_not_count() {
    let world = World::new();
    let mut running = world.hopwatch("run --no-sim --for 60s --ai-ms 5 --qos reliable").start();
    running.address("gateway");
    let words = "--rate 100 --count 50 --topic /elsewhere --no-wait --linger 1h --end-with-parent";
    let elsewhere = world.robots(words).start();
    running.wait_for("census of the other topic", |running| {
        let (_, records) = get(running.address("collector"), "/v1/dataset")?;
        if records.contains("other_topic") { Ok(()) } else { Err(records) }
    });
    world.robots("--rate 20 --count 20 --qos reliable").end().has_code(0);
    running.delivered(20);
    running.interrupt();
    let ended = running.end();
    elsewhere.interrupt();
    elsewhere.end().has_code(0);
    world.is_empty_now();
    let report = ended.has_code(0).report();
    report.ledger().all_delivered(20);
    assert_eq!(report.ledger().published_source, "census");
    let told: Vec<&str> =
        report.events.iter().filter(|e| e.kind == "other_topic").map(|e| &*e.text).collect();
    assert_eq!(told.len(), 1, "{:?}", report.events);
    for word in ["robot_001", "/elsewhere", "/robot_messages"] {
        assert!(told[0].contains(word), "no {word} in {told:?}");
    }
}

#[test]
fn lanes_and_budgets_stand_in_the_file_too() {
    let world = World::new();
    let text = "[hopwatch]\nlanes = [\"name=a,reliable\", \"name=b,reliable,link=http1-fresh\"]\n\
                budget_p99_ms = 5\nbudget_delivered = 0.5\n[robot_sim]\nrate = 20\n";
    let config = world.file("hopwatch.toml", text);
    let ended =
        world.hopwatch(&format!("run --for 1s --ai-ms 20 --config {}", config.display())).end();
    let report = ended.has_code(1).report();
    assert_eq!(names(&report), ["a", "b"]);
    for lane in &report.lanes {
        lane.ledger.all_delivered(20);
    }
    assert!(!report.budget.passed && ended.stdout.contains("a: P99 total"), "{}", ended.stdout);
    assert!(ended.stdout.contains("b: delivered"), "{}", ended.stdout);
    world.is_empty_now();

    // Flags overrule it.
    let other = World::new();
    let words = format!(
        "run --for 1s --ai-ms 20 --config {} --lane reliable --budget-p99-ms 2000",
        config.display()
    );
    let ended = other.hopwatch(&words).end();
    other.is_empty_now();
    assert_eq!(names(&ended.has_code(0).report()), ["reliable"]);
}
