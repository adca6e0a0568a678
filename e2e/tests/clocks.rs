//! Other clocks, for real: a service in a time namespace, a robot on a host of its own. The truth
//! is known, since a time namespace's clock is ahead by exactly what it was told.
#![allow(clippy::unwrap_used, reason = "tests")]

use hopwatch_e2e::{
    AHEAD_S, Ended, Hosts, Row, World, clocks_can_differ, figures_are_of_the_traces, legs_add_up,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

const AHEAD_NS: i64 = AHEAD_S * 1_000_000_000;

/// The stamps of each delivered message by hop, whatever the clock; clocks that are ahead are put
/// back. Wall-clock stamps stay what they are.
fn true_stamps(ended: &Ended) -> BTreeMap<String, BTreeMap<String, i64>> {
    let own = own_clock();
    let of_trace = |record: Value| {
        let mut stamps = BTreeMap::new();
        for (clock, hops) in record["stamps"].as_object().unwrap() {
            let ahead = if *clock == own || clock == "wall" { 0 } else { AHEAD_NS };
            for (hop, ns) in hops.as_object().unwrap() {
                let ns: i64 = ns.as_str().unwrap().parse().unwrap();
                stamps.insert(hop.clone(), ns - ahead);
            }
        }
        if let Some(offset) = record["wall_offset_ns"].as_str() {
            stamps.insert("wall_offset".to_owned(), offset.parse().unwrap());
        }
        (record["trace_id"].as_str().unwrap().to_owned(), stamps)
    };
    ended.records("trace").into_iter().map(of_trace).collect()
}

/// The name of this machine's clock: boot id / time namespace.
fn own_clock() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let namespace = std::fs::read_link("/proc/self/ns/time").unwrap();
    let inode: String = namespace.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    format!("{}/{inode}", boot.trim())
}

/// A leg in traces.csv holds the truth, and isn't said to be exact.
#[track_caller]
fn holds(row: &Row, leg: &str, truth: i64) {
    let (ns, half) = (row.ns(&format!("{leg}_ns")), row.ns(&format!("{leg}_half_ns")));
    assert!(half > 0, "{leg} spans two clocks: {row:?}");
    // A nanosecond for each end that was rounded.
    assert!((ns - truth).abs() <= half + 2, "{leg}: {truth} is not {ns} ± {half}");
}

/// A service on another clock: the classes are those of one clock, and request and reply lie
/// within their intervals.
fn service_elsewhere(
    program: &str,
    received: &str,
    done: &str,
    request: [&str; 2],
    reply: [&str; 2],
) {
    if !clocks_can_differ() {
        return;
    }
    let world = World::new();
    let words = "run --for 5s --rate 20 --ai-ms 20 --qos reliable";
    let ended = world.hopwatch_with_a_clock_for(program, words).end();
    world.is_empty_now();
    let report = ended.has_code(0).report();
    let lane = report.lane();
    lane.ledger.all_delivered(100);
    let rows = ended.traces();
    legs_add_up(&rows);
    figures_are_of_the_traces(lane, &rows);
    let truth = true_stamps(&ended);
    for row in rows.iter().filter(|row| row.is_delivered()) {
        let stamps = &truth[row.text("trace_id")];
        holds(row, request[0], stamps[received] - stamps[request[1]]);
        holds(row, reply[0], stamps[reply[1]] - stamps[done]);
    }
    let json = ended.json();
    let spans = &json["lanes"][0]["spans"];
    assert_eq!(spans["pipeline"]["exact"], true);
    // Two clocks run at two rates: 50 ppm of the service's own time.
    let open = spans["ai_transport"]["half_width_ns"].as_i64().unwrap();
    let elsewhere = program == "hopwatch-ai-mock";
    assert_eq!(open > 0, elsewhere, "{open}");
    assert!(open <= 2_000, "{open}");
    assert_eq!(json["lanes"][0]["legs"][request[0]]["exact"], false);
    // 12,345 s in an interval of less than 10 ms, and nothing to complain of.
    let clocks = json["clocks"].as_array().unwrap();
    let related = clocks.iter().find(|clock| clock["offset_ns"].is_array()).unwrap();
    let [lo, hi] = [0, 1].map(|end| related["offset_ns"][end].as_i64().unwrap());
    assert!(lo <= AHEAD_NS && AHEAD_NS <= hi && hi - lo < 10_000_000, "{related}");
    assert_eq!((&related["epochs"], &related["exchanges"]), (&1.into(), &100.into()));
    assert_eq!(json["lanes"][0]["findings"], Value::Array(vec![]));
}

#[test]
fn an_ai_service_with_a_clock_12345_s_ahead() {
    service_elsewhere(
        "hopwatch-ai-mock",
        "ai_received",
        "ai_done",
        ["ai_request", "ai_sent"],
        ["ai_reply", "ai_answered"],
    );
}

#[test]
fn a_broadcaster_with_a_clock_12345_s_ahead() {
    service_elsewhere(
        "hopwatch-broadcaster",
        "web_received",
        "web_done",
        ["web_request", "web_sent"],
        ["web_reply", "web_acked"],
    );
}

/// A robot on a host of its own, with a clock of its own, and the responder beside it.
#[test]
fn a_robot_elsewhere_is_placed_by_its_responder() {
    let Some(hosts) = Hosts::new().filter(|_| clocks_can_differ()) else { return };
    let world = World::new();
    let domain = world.domain();
    let peer = format!("{}:8010", hosts.robot());
    // Both in one time namespace: they are one host.
    let script = format!(
        "{} respond --listen {peer} & responder=$!; {} --rate 20 --count 200 --qos reliable; \
         kill -INT $responder; wait $responder",
        world.built("hopwatch").display(),
        world.built("hopwatch-robot-sim").display(),
    );
    let script = world.file("robot.sh", &script);
    let namespace = hopwatch_e2e::peer("in_time_namespace.py");
    let ip = Path::new("ip");
    let mut robot = world.program(ip, &hosts.on_robot());
    for word in ["python3", namespace.to_str().unwrap(), &AHEAD_S.to_string(), "sh"] {
        robot.arg(word);
    }
    robot.arg(script.to_str().unwrap()).env("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET");
    let out = world.path("out");
    let words = format!(
        "{} {} run --no-sim --for 18s --qos reliable --ai-ms 5 --domain {domain} --out {} \
         --clock-peers {peer}",
        hosts.on_server(),
        world.built("hopwatch").display(),
        out.display(),
    );
    let mut server = world.program(ip, &words).out_of(&out);
    let server = server.env("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET").start();
    let robot = robot.start();
    robot.end().has_code(0).says(&["answered"]);
    let ended = server.end();
    world.is_empty_now();
    let report = ended.has_code(0).report();
    report.ledger().all_delivered(200);
    let rows = ended.traces();
    legs_add_up(&rows);
    let truth = true_stamps(&ended);
    for row in &rows {
        let stamps = &truth[row.text("trace_id")];
        // One machine has one wall clock, so the truth is known: published and written lie on the
        // gateway's clock by the bracket of its own take.
        let placed = |hop: &str| stamps[hop] - stamps["wall_offset"];
        holds(row, "published", stamps["web_acked"] - placed("published"));
        holds(row, "ros", stamps["received"] - placed("written"));
        assert!(row.maybe("intended_ns").is_some(), "its schedule is placed, too: {row:?}");
        // Late on its schedule by less than a second, early by nothing but the interval.
        let late = row.ns("schedule_ns");
        assert!(late > -row.ns("schedule_half_ns") && late < 1_000_000_000, "{row:?}");
    }
    let json = ended.json();
    let findings = json["lanes"][0]["findings"].to_string();
    assert!(!findings.contains("offset"), "the wall clocks are one: {findings}");
    let clocks = json["clocks"].as_array().unwrap();
    let monotonic = clocks.iter().find(|clock| {
        clock["used_for"].as_str().is_some_and(|used| used.contains("robot (schedule)"))
    });
    let offset = &monotonic.unwrap()["offset_ns"];
    let [lo, hi] = [0, 1].map(|end| offset[end].as_i64().unwrap());
    assert!(lo <= AHEAD_NS && AHEAD_NS <= hi && hi - lo < 10_000_000, "{offset}");
}
