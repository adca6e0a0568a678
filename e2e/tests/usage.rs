//! What can't work is refused with a sentence that names what, where and what to do.
#![allow(clippy::unwrap_used, reason = "tests")]

use hopwatch_e2e::{Ended, World};
use std::net::TcpListener;

/// It ended with exit code 2, said all of these, and left nothing.
fn refused(world: &World, words: &str, said: &[&str]) -> Ended {
    let ended = world.hopwatch(words).end();
    ended.has_code(2).says(said);
    assert!(!ended.out.join("report.json").exists(), "{words}");
    world.is_empty_now();
    ended
}

#[test]
fn wrong_words_are_refused() {
    let world = World::new();
    for (words, said) in [
        ("run --nonsense", ["--nonsense", "--help"]),
        ("run --for soon", ["--for", "soon"]),
        ("run --for 0s", ["--for", "1ms and 7days"]),
        ("run --qos maybe", ["maybe", "best-effort"]),
        ("run --link pigeon", ["pigeon", "http1-fresh"]),
        ("run --budget-p99-ms=-1", ["--budget-p99-ms", "above 0"]),
        ("run --budget-delivered 2", ["--budget-delivered", "between 0 and 1"]),
        ("run --lane speed=9", ["--lane", "name, qos, depth"]),
        ("run --lane reliable,depth=0", ["--lane", "at least 1"]),
        ("up --lane reliable --qos reliable", ["--lane", "--qos"]),
        ("up --lane reliable --link http1", ["--lane", "--link"]),
        ("run --lane reliable --payload-bytes 9", ["--lane", "--payload-bytes"]),
        ("run --lane reliable --lane reliable", ["reliable", "give one a name="]),
        ("run --lane topic=/a --lane reliable,topic=/a", ["/a", "in one way"]),
        ("run --lane payload=5000000", ["payload", "at most 4000000"]),
        ("fly", ["fly", "--help"]),
    ] {
        refused(&world, words, &said);
    }
}

/// Whether the command line or the program that would use them judges them.
#[test]
fn impossible_values_are_refused_with_their_limits() {
    let world = World::new();
    for (words, said) in [
        ("run --ai-ms=-1", ["model_ms", "between 0 and"]),
        ("run --ai-failure-rate 2", ["failure_rate", "between 0 and 1"]),
        ("run --in-flight 0", ["in_flight", "between 1 and"]),
        ("run --ai-url ftp://127.0.0.1/x", ["ftp://127.0.0.1/x", "http://"]),
        ("run --rate 0", ["rate", "above 0"]),
        ("run --rate nan", ["rate", "above 0"]),
        ("run --robots 0", ["robots", "0"]),
        ("run --topic /no-topic", ["/no-topic", "alphanumerics"]),
        ("run --no-sim --topic=", ["topic", "empty"]),
        ("run --lane relaible", ["\"relaible\"", "no link (http1"]),
        ("run --lane reliable,topic=/no-topic", ["/no-topic", "alphanumerics"]),
    ] {
        refused(&world, words, &said);
    }
}

#[test]
fn a_variable_that_names_no_ros_domain_is_refused() {
    let world = World::new();
    for words in ["run --for 1s", "up --no-sim --any-ports --page-port 0"] {
        let out = world.path("variable");
        let mut start = world.bare(words);
        start.arg("--out").arg(out.to_str().unwrap()).env("ROS_DOMAIN_ID", "lab");
        start.end().has_code(2).says(&["ROS_DOMAIN_ID", "lab", "0 to 232"]);
        world.is_empty_now();
    }
}

#[test]
fn a_configuration_with_unknown_names_is_refused() {
    let world = World::new();
    let run = |text: &str, said: &[&str]| {
        let file = world.file("hopwatch.toml", text);
        let words = format!("run --config {}", file.display());
        refused(&world, &words, said);
    };
    run("[gateway]\nqueu = 1\n", &["gateway", "queu", "ai_timeout_ms", "hopwatch.toml"]);
    run("[gatewey]\nqueue = 1\n", &["gatewey", "known tables", "ai_mock", "hopwatch.toml"]);
    run("[gateway]\nqueue = \"long\"\n", &["queue", "long", "hopwatch.toml"]);
    run("[gateway\n", &["configuration", "hopwatch.toml"]);
    run("[hopwatch]\nlane = \"x\"\n", &["hopwatch.lane ", "budget_p99_ms", "hopwatch.toml"]);
    run("[hopwatch]\nlanes = [\"speed=9\"]\n", &["hopwatch.lanes", "speed", "hopwatch.toml"]);
    run("[hopwatch]\nbudget_total_ms = 0\n", &["hopwatch.budget_total_ms", "above 0"]);
    refused(&world, "run --config nowhere.toml", &["nowhere.toml", "No such file"]);

    for (name, value, said) in [
        ("HOPWATCH_GATEWAY_QUEU", "1", "queu"),
        ("HOPWATCH_BROADCASTER_CLIENT_QUEUE", "long", "client_queue"),
        ("HOPWATCH_GATWAY_QUEUE", "1", "known tables"),
    ] {
        let ended = world.hopwatch("run").env(name, value).end();
        ended.has_code(2).says(&[name, said]);
        world.is_empty_now();
    }
}

#[test]
fn a_folder_that_cannot_be_the_reports_is_refused() {
    let world = World::new();
    // A report that is there is never written over.
    let there = world.path("there");
    std::fs::create_dir(&there).unwrap();
    std::fs::write(there.join("report.json"), "precious").unwrap();
    let ended = world.bare(&format!("run --for 1s --out {}", there.display())).end();
    ended.has_code(2).says(&[there.to_str().unwrap(), "another --out"]);
    assert_eq!(std::fs::read_to_string(there.join("report.json")).unwrap(), "precious");
    // A folder can't be made where a file is.
    let below = there.join("report.json").join("deeper");
    let ended = world.bare(&format!("run --for 1s --out {}", below.display())).end();
    ended.has_code(2).says(&[below.to_str().unwrap()]);
    world.is_empty_now();
}

#[test]
fn a_taken_port_is_named_with_what_to_do() {
    let world = World::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let ended = world.hopwatch(&format!("up --any-ports --page-port {port}")).end();
    let address = format!("127.0.0.1:{port}");
    ended.has_code(4).says(&["web-ui", &address, "another program has this port"]);
    world.is_empty_now();

    // The usual port of the collector, which comes first: taken by us or by whoever had it.
    let _taken = TcpListener::bind("127.0.0.1:8002");
    let ended = world.hopwatch("up --page-port 0").end();
    ended.has_code(4).says(&["collector", "127.0.0.1:8002", "another program has this port"]);
    world.is_empty_now();
}

/// The robot is there, and nothing of it can arrive.
#[test]
fn qos_that_cannot_match_is_told_with_both_sides() {
    let world = World::new();
    let mut running = world.hopwatch("run --no-sim --qos reliable --for 60s").start();
    running.address("gateway");
    let peer = world.peer("publisher.py", "--qos best-effort --no-wait --rate 10").start();
    running.wait_for("event", |running| {
        let collector = running.address("collector");
        let (_, records) = hopwatch_e2e::get(collector, "/v1/dataset")?;
        if records.contains("incompatible_qos") { Ok(()) } else { Err(records) }
    });
    running.interrupt();
    let ended = running.end();
    peer.interrupt();
    peer.end().has_code(130);
    world.is_empty_now();
    // Nothing was delivered: the pipeline failed, and the report says why.
    let report = ended.has_code(4).report();
    assert_eq!(report.ledger().published, 0);
    let event = report.events.iter().find(|event| event.kind == "incompatible_qos").unwrap();
    for word in ["/robot_messages", "peer_publisher", "BEST_EFFORT", "RELIABLE", "subscribe with"] {
        assert!(event.text.contains(word), "no {word} in {:?}", event.text);
    }
    assert!(ended.stdout.contains("! incompatible_qos: /robot_messages"), "{}", ended.stdout);
    assert!(ended.markdown().contains("**incompatible_qos**"));
}
