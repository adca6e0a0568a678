//! `hopwatch lab handover`, on real DDS, real shared memory and real loopback: small, for what it shows
//! must be told at any load.
#![allow(clippy::unwrap_used, reason = "tests")]

use hopwatch_e2e::{World, skip, wait_until};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::Duration;

const FILES: [&str; 3] = ["report.json", "report.md", "report.html"];

fn json(folder: &Path, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join(name)).unwrap()).unwrap()
}

/// The figures of a condition.
#[track_caller]
fn of<'a>(report: &'a Value, kind: &str, name: &str) -> &'a Value {
    let all = report["figures"][kind].as_array().unwrap();
    let names: Vec<&str> = all.iter().filter_map(|one| one["name"].as_str()).collect();
    all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("no {name} in {names:?}"))
}

/// Runs a study, of one round: that shows nothing, so it is undecided.
fn studied(world: &World, words: &str) -> Value {
    let out = world.path("handover");
    let words = format!("handover --rounds 1 --messages 10 --rate 60 --seed 5 {words} --out");
    let ended = world.lab(&words).arg(out.to_str().unwrap()).start();
    let ended = ended.end_within(Duration::from_secs(150));
    ended.has_code(3);
    world.is_empty_now();
    let report = json(&out, "report.json");
    assert_eq!(report["complete"], true);
    assert_eq!(report["figures"]["wrong"], Value::Array(vec![]), "{}", ended.stderr);
    // The same bytes again, from what was measured alone.
    let before = FILES.map(|name| fs::read(out.join(name)).unwrap());
    for name in FILES {
        fs::remove_file(out.join(name)).unwrap();
    }
    world.bare("report").arg(out.to_str().unwrap()).end().has_code(3);
    assert_eq!(FILES.map(|name| fs::read(out.join(name)).unwrap()), before);
    report
}

#[test]
fn inside_a_process_the_copies_are_those_of_the_rules() {
    let world = World::new();
    let ways = "moved,shared,copied,copied-once,dds-one-process";
    let report = studied(&world, &format!("--only {ways} --consumers 1,3"));
    let copies = |name: &str| {
        let one = of(&report, "copies", name);
        assert_eq!((&one["messages"], &one["by_rule"]), (&10.into(), &true.into()), "{one}");
        let (least, most) =
            (one["copies"][0].as_u64().unwrap(), one["copies"][1].as_u64().unwrap());
        assert_eq!(least, most, "{one}");
        least
    };
    for (name, expected) in [
        ("moved, addresses", 0),
        // N owners, N - 1 copies.
        ("moved, 3 consumers, addresses", 2),
        ("shared (Arc), addresses", 0),
        ("shared (Arc), 3 consumers, addresses", 0),
        ("copied for each, addresses", 1),
        ("copied for each, 3 consumers, addresses", 3),
        ("copied once, shared, 3 consumers, addresses", 1),
        // The kept one is another, that no consumer has.
        ("moved, kept for late ones, addresses", 0),
        ("shared (Arc), kept for late ones, addresses", 0),
        ("DDS in one process, addresses", 1),
    ] {
        assert_eq!(copies(name), expected, "{name}");
    }
    // The allocator gives the freed block out again, and a message that was serialized and taken apart
    // lies where it lay before. Decoys keep it from that.
    let without = of(&report, "copies", "DDS in one process, addresses without decoys");
    assert!(without["matching"].as_u64().unwrap() > 0, "{without}");
    assert_eq!(of(&report, "copies", "DDS in one process, addresses")["matching"], 0);
    // A short queue loses inside a process, too.
    for way in ["moved", "DDS in one process"] {
        let short = of(&report, "bursts", &format!("{way}, burst, depth 5"));
        assert!(short["received"].as_u64() < short["due"].as_u64(), "{short}");
        let long = of(&report, "bursts", &format!("{way}, burst, depth 55"));
        assert_eq!((&long["received"], &long["due"]), (&30.into(), &30.into()), "{long}");
    }
    for one in report["figures"]["conditions"].as_array().unwrap() {
        assert_eq!((&one["due"], &one["wrong"]), (&one["received"], &Value::Null), "{one}");
        assert!(one["cpu_ns"]["middle"].as_f64().unwrap() > 0.0, "{one}");
    }
    if report["plan"]["apart"] == false {
        skip(
            "no network namespace for a study: DDS in one process can't be told from shared memory",
        );
        return;
    }
    assert_eq!(
        of(&report, "conditions", "DDS in one process")["went"],
        Value::from(vec!["process"])
    );
}

#[test]
fn the_way_between_processes_is_proved_and_a_silent_fall_back_named() {
    let world = World::new();
    let ways = "dds-shared-memory,dds-fall-back,dds-udp,lent,lent-data-sharing,iceoryx2";
    let report = studied(&world, &format!("--only {ways} --consumers 1"));
    if report["plan"]["apart"] == false {
        skip("no network namespace for a study");
        return;
    }
    let went = |name: &str, way: &str| {
        let one = of(&report, "conditions", name);
        assert_eq!(one["went"], Value::from(vec![way]), "{one}");
        (one["loopback_share"][1].as_f64().unwrap(), one.clone())
    };
    // On, and off.
    assert!(went("DDS, shared memory", "shared_memory").0 < 0.1);
    assert!(went("DDS, UDP", "loopback").0 >= 0.9);
    // Asked for, and not had.
    let (_, fell) = went("DDS, shared memory on one side only", "loopback");
    assert_eq!(fell["asked"], "shared_memory");
    let (_, lent) = went("DDS, lent, as it comes", "shared_memory");
    assert_eq!((&lent["asked"], &lent["producer_lends"]), (&"data_sharing".into(), &true.into()));
    assert_eq!(lent["consumers_lend"], false);
    went("DDS, lent, data sharing", "data_sharing");
    went("iceoryx2", "iceoryx2");
    let text = fs::read_to_string(world.path("handover/report.md")).unwrap();
    assert!(text.contains("shared memory was asked for, and UDP on loopback was taken"), "{text}");
    for (way, copies) in
        [("DDS, lent, data sharing", 0), ("iceoryx2", 0), ("DDS, shared memory", 1)]
    {
        let one = of(&report, "copies", &format!("{way}, addresses"));
        assert_eq!(one["copies"], Value::from(vec![copies, copies]), "{one}");
    }
}

#[test]
fn an_observer_from_outside_takes_part() {
    let world = World::new();
    let report = studied(&world, "--only shared --consumers 1");
    let watched = of(&report, "conditions", "shared (Arc), watched from outside");
    assert_eq!((&watched["due"], &watched["received"]), (&10.into(), &10.into()));
    // It got them, too.
    let study = json(&world.path("handover"), "study.json");
    let run =
        study["runs"].as_array().unwrap().iter().find(|run| run["condition"]["watched"] == true);
    assert_eq!(run.unwrap()["watcher"]["latency_ns"].as_array().unwrap().len(), 10);
}

#[test]
fn a_study_that_is_stopped_leaves_nothing() {
    let world = World::new();
    let out = world.path("stopped");
    let words = "handover --only dds-shared-memory,iceoryx2 --rounds 5 --out";
    let running = world.lab(words).arg(out.to_str().unwrap()).start();
    wait_until("the second run", || {
        let said = running.stderr();
        if said.contains("run 2 of") { Ok(()) } else { Err(said) }
    });
    running.interrupt();
    let ended = running.end();
    ended.has_code(3);
    world.is_empty_now();
    assert_eq!(json(&out, "report.json")["complete"], false);
    assert!(ended.stderr.contains("stopped: the report has the"), "{}", ended.stderr);
}

#[test]
fn what_cant_be_is_refused() {
    let world = World::new();
    for (words, says) in [
        ("--size 63", "63 is not in 64..=100000000"),
        ("--consumers 0", "0 is not in 1..=32"),
        ("--only bus", "invalid value 'bus'"),
        ("--rate 0", "0 is not in 1..=1000"),
        ("--messages 0", "0 is not in 1..=10000"),
        ("--run /nowhere", "/nowhere"),
        ("--only cpp", "no way of those that are wanted can be had here"),
        ("--only lent --size 1000", "no way of those that are wanted can be had here"),
    ] {
        let ended = world.lab(&format!("handover {words}")).env("AMENT_PREFIX_PATH", "/none").end();
        ended.has_code(2).says(&[says]);
    }
    world.is_empty_now();
}
