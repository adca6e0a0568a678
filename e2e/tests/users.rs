//! Cases from users' reports: bursts, a reader that is too slow, a link that loses packets.
#![allow(clippy::unwrap_used, reason = "tests")]

use hopwatch_e2e::{Hosts, Row, World, figures_are_of_the_traces, legs_add_up, within};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap()
}

/// How many rows have each outcome.
fn outcomes(rows: &[Row]) -> BTreeMap<&str, u64> {
    let mut outcomes = BTreeMap::new();
    for row in rows {
        *outcomes.entry(row.text("outcome")).or_default() += 1;
    }
    outcomes
}

/// What a robot that shares no code with Hopwatch logged: its messages in the order of their
/// publication.
fn logged(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const BURST: i64 = 12;

/// Messages a second, from the first burst to the last one: what comes at once in between can't
/// inflate it. `at` are (number from 0, ns).
#[expect(clippy::cast_precision_loss, reason = "a rate is a float")]
fn rate_hz(at: impl Iterator<Item = (i64, i64)>) -> f64 {
    let mut bursts: BTreeMap<i64, i64> = BTreeMap::new();
    for (number, ns) in at {
        let first = bursts.entry(number / BURST).or_insert(ns);
        *first = ns.min(*first);
    }
    let (first, last) = (bursts.first_key_value().unwrap(), bursts.last_key_value().unwrap());
    ((last.0 - first.0) * BURST) as f64 * 1e9 / (last.1 - first.1) as f64
}

/// 12 messages at once each 100 ms, against a gateway's history of `depth`; how many went the
/// whole way.
fn bursts(gateway: &str, qos: &str, depth: u64) -> u64 {
    let world = World::new();
    let words = format!("run --no-sim --for 60s --qos {qos} {gateway}");
    let mut run = world.hopwatch(&words);
    let mut running = run.env("HOPWATCH_GATEWAY_DEPTH", &depth.to_string()).start();
    let log = world.path("published.jsonl");
    let words = format!(
        "--qos {qos} --count 240 --rate 120 --burst {BURST} --depth 24 --log {}",
        log.display()
    );
    world.peer("publisher.py", &words).end().has_code(0);
    running.wait_for("rest", |running| {
        let account = running.account()?;
        if account["in_flight"] == 0 { Ok(()) } else { Err(account.to_string()) }
    });
    running.interrupt();
    let ended = running.end();
    world.is_empty_now();
    let logged = logged(&log);
    assert_eq!(logged.len(), 240);
    let (report, rows) = (ended.report(), ended.traces());
    legs_add_up(&rows);
    let ledger = report.ledger().adds_up();
    eprintln!("{qos} {gateway} depth {depth}: {ledger:?}");
    // Each message is the one that was sent under that number, once.
    let mut known = BTreeSet::new();
    for row in &rows {
        let number = row.ns("publication_sequence");
        let sent = &logged[usize::try_from(number - 1).unwrap()];
        assert_eq!(row.text("message_id"), sent["message_id"].as_str().unwrap());
        assert!(known.insert(number), "{number} is there twice");
    }
    // Of a robot without a census, what it sent after the last message taken is unknown. All
    // others are taken, or the loss is exact.
    let last = known.last().copied().unwrap_or(0);
    let first = known.first().copied().unwrap_or(0);
    assert_eq!(ledger.published, u64::try_from(last - first + 1).unwrap());
    assert_eq!(ledger.lost_in_ros, ledger.published - count(rows.len()), "{ledger:?}");
    assert!(first == 1 || ledger.notes.iter().any(|note| note.contains("not counted")));
    let outcomes = outcomes(&rows);
    assert_eq!(outcomes.get("delivered"), Some(&ledger.delivered));
    assert_eq!(outcomes.get("queue_dropped").copied().unwrap_or(0), ledger.queue_dropped);
    assert_eq!(ledger.delivered + ledger.queue_dropped, count(rows.len()), "{outcomes:?}");

    let number = |row: &Row| row.ns("publication_sequence") - 1;
    let stamps = ended.records("trace").into_iter().map(|trace| {
        let stamps = &trace["stamps"]["wall"];
        let ns: i64 = stamps["published"].as_str().unwrap().parse().unwrap();
        (trace["publication_sequence"].as_i64().unwrap() - 1, ns)
    });
    let wanted: BTreeSet<i64> = rows.iter().map(number).collect();
    let sent = (0..).zip(&logged).filter(|(number, _)| wanted.contains(number));
    let sent = rate_hz(sent.map(|(n, line)| (n, line["published_wall_ns"].as_i64().unwrap())));
    let told = rate_hz(stamps);
    eprintln!("published at {sent} Hz, by the traces {told} Hz");
    assert!((told / sent - 1.0).abs() < 1e-9, "{sent} Hz was sent, {told} Hz is told");
    ledger.delivered
}

/// Nothing in the way: both depths may take all.
#[test]
fn bursts_are_counted_exactly() {
    for depth in [5, 20] {
        bursts("--ai-ms 1", "best-effort", depth);
    }
}

/// One message after the other: a burst of 12 overruns a queue of 5, and not one of 20.
#[test]
fn bursts_overrun_a_short_queue_and_each_drop_is_counted() {
    let [short, long] = [5, 20].map(|depth| bursts("--serial --ai-ms 3", "reliable", depth));
    // Five in the queue and the one in work; some are done before the burst is over.
    assert!(short < 200 && long > short, "{short} of 240 at depth 5, {long} at depth 20");
}

/// 10 Hz into what takes at 2 Hz and keeps the last one.
#[test]
fn of_what_waits_the_newest_wins() {
    let world = World::new();
    let ended = world.hopwatch("run --serial --rate 10 --ai-ms 500 --for 6s").end();
    world.is_empty_now();
    let report = ended.has_code(3).report();
    let ledger = report.ledger().adds_up();
    eprintln!("{ledger:?}");
    assert_eq!(ledger.published, 60);
    assert!((5..=16).contains(&ledger.delivered), "500 ms each within 6 s: {ledger:?}");
    let rows = ended.traces();
    legs_add_up(&rows);
    let outcomes = outcomes(&rows);
    assert_eq!(outcomes["queue_dropped"], ledger.queue_dropped);
    assert_eq!(ledger.queue_dropped, 60 - ledger.delivered - ledger.lost_in_ros, "{ledger:?}");
    // When it was started, nothing newer was there: half a period is for what came just then.
    let moment = 50_000_000;
    for row in rows.iter().filter(|row| row.is_delivered()) {
        let (taken, started) = (row.ns("taken_ns"), row.ns("taken_ns") + row.ns("queue_ns"));
        let newer = rows
            .iter()
            .find(|other| other.ns("taken_ns") > taken && other.ns("taken_ns") + moment < started);
        assert!(newer.is_none(), "{row:?} was started although {newer:?} was there");
    }
}

/// 100 messages at 1 kHz while the AI service hangs: one is with it, and of the others the last.
#[test]
fn while_http_stalls_every_drop_is_counted() {
    let world = World::new();
    let mut run = world.hopwatch("run --no-sim --serial --for 60s --ai-ms 5 --qos reliable");
    let mut running = run.env("HOPWATCH_GATEWAY_DEPTH", "1").start();
    world.robots("--rate 20 --count 5 --qos reliable").end().has_code(0);
    running.delivered(5);
    let ai = world.child_of(running.pid(), "hopwatch-ai-mock");
    ai.hang();
    world
        .robots("--rate 1000 --count 100 --qos reliable --depth 100 --linger 500ms")
        .end()
        .has_code(0);
    ai.resume();
    running.wait_for("rest", |running| {
        let account = running.account()?;
        let rest = account["in_flight"] == 0 && account["delivered"].as_u64() >= Some(7);
        if rest { Ok(()) } else { Err(account.to_string()) }
    });
    running.interrupt();
    let ended = running.end();
    world.is_empty_now();
    let report = ended.report();
    let ledger = report.ledger().adds_up();
    eprintln!("{ledger:?}");
    assert_eq!((ledger.published, &*ledger.published_source), (105, "census"));
    assert_eq!(ledger.delivered, 7, "{ledger:?}");
    // The writer may have found the reader a moment before the reader found the writer.
    let before = ledger.lost_before_discovery;
    assert_eq!(ledger.queue_dropped + ledger.lost_in_ros + before, 98, "{ledger:?}");
    assert!(before < 50, "{ledger:?}");
    let rows = ended.traces();
    assert_eq!(outcomes(&rows)["queue_dropped"], ledger.queue_dropped);
    let delivered: Vec<i64> =
        rows.iter().filter(|row| row.is_delivered()).map(|row| row.ns("sequence")).collect();
    assert_eq!(delivered[..5], [0, 1, 2, 3, 4]);
    assert_eq!(delivered[6], 99, "the newest");
}

/// When a message was received, and how long DDS took for it.
fn received(row: &Row) -> (i64, i64) {
    (row.ns("taken_ns") - row.ns("wake_ns"), row.ns("ros_ns"))
}

/// 300 bytes each 500 ms, RELIABLE, over a cable that loses 30 % of all packets: DDS repairs, which
/// takes seconds. The mean would hide it.
#[test]
fn a_lossy_link_stalls_and_then_bursts() {
    // Nothing is lost yet, but it is known whether it can be.
    let Some(hosts) = Hosts::new().filter(|hosts| hosts.lose(0)) else { return };
    let world = World::new();
    let out = world.path("out");
    let words = format!(
        "{} {} run --no-sim --for 170s --qos reliable --ai-ms 5 --domain {} --out {}",
        hosts.on_server(),
        world.built("hopwatch").display(),
        world.domain(),
        out.display(),
    );
    let across = |start: &mut hopwatch_e2e::Start| {
        start.env("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET");
        // One machine, so Fast DDS could take the other host's shared memory for its own.
        start.env("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4");
        start.env("HOPWATCH_GATEWAY_DEPTH", "300");
    };
    let mut server = world.program(Path::new("ip"), &words).out_of(&out);
    across(&mut server);
    let mut server = server.start();
    let collector = server.address("collector");
    let _started = server.address("gateway");
    let words = format!(
        "{} {} --rate 2 --count 60 --qos reliable --depth 300 --payload-bytes 300 --linger 120s",
        hosts.on_robot(),
        world.built("hopwatch-robot-sim").display()
    );
    let mut robot = world.program(Path::new("ip"), &words);
    across(&mut robot);
    let mut robot = robot.start();
    robot.wait_for("match", |robot| {
        let said = robot.stderr();
        if said.contains("publishing") { Ok(()) } else { Err(said) }
    });
    // Nor is anything lost before the reader has found the writer, too.
    within(Duration::from_secs(30), "match at the reader", || {
        let log = std::fs::read_to_string(out.join("logs/gateway.log")).unwrap_or_default();
        if log.contains("\"matched\"") { Ok(()) } else { Err(log) }
    });
    assert!(hosts.lose(30));
    within(Duration::from_secs(120), "last message", || {
        let status = hosts.get(&format!("http://{collector}/v1/status"))?;
        let told: Value = serde_json::from_str(&status).map_err(|error| error.to_string())?;
        if told["state"] == "ended" { Ok(()) } else { Err(status) }
    });
    assert!(!world.dds_is_seen(), "through shared memory nothing is lost");
    robot.interrupt();
    robot.end().has_code(0);
    server.interrupt();
    let ended = server.end();
    world.is_empty_now();

    let report = ended.report();
    let lane = report.lane();
    eprintln!("{:?}", lane.ledger);
    lane.ledger.all_delivered(60);
    let mut rows = ended.traces();
    legs_add_up(&rows);
    figures_are_of_the_traces(lane, &rows);
    let ros = &lane.legs["ros"];
    eprintln!("ros: {ros:?}");
    stalls(&mut rows);
    let (p50, p99, max) = (ros.p50_ns.unwrap(), ros.p99_ns.unwrap(), ros.max_ns.unwrap());
    assert!(max >= 1_000_000_000, "no stall of a second: {ros:?}");
    assert!(p99 >= p50 + 1_000_000_000, "{ros:?}");
}

/// Messages that were written half a second apart and came at once.
fn stalls(rows: &mut [Row]) {
    rows.sort_by_key(|row| row.ns("publication_sequence"));
    let bursts = rows.windows(2).filter(|pair| {
        let [before, after] = [&pair[0], &pair[1]].map(received);
        let apart = (after.0 - after.1) - (before.0 - before.1);
        after.0 - before.0 < apart / 10
    });
    let n = bursts.count();
    eprintln!("{n} came right after the one before");
    assert!(n >= 3, "a stall holds up several messages");
}
