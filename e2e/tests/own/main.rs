//! Topics of types that Hopwatch wasn't built with, to an AI service that isn't ours.
#![allow(clippy::unwrap_used, reason = "tests")]

mod service;

use hopwatch_e2e::{Ended, Row, World, figures_are_of_the_traces, legs_add_up};
use serde_json::{Value, json};
use service::{Asked, MODEL, Service};
use std::path::Path;

/// A run on what the peer publishes, with this in its configuration.
fn run(world: &World, service: &Service, config: &str, peer: &str, count: u64) -> Ended {
    let address = service.address;
    let config = config.replace("AI_URL", &format!("http://{address}/infer?m=1"));
    let file = world.file("hopwatch.toml", &config);
    let log = world.path("log.jsonl");
    let (log, dump) = (log.display(), world.path("dump"));
    std::fs::create_dir_all(&dump).unwrap();
    let words = format!("{peer} --count {count} --log {log} --dump {}", dump.display());
    // It waits for the subscription; the gateway waits for it where it has to ask for the type.
    let publishing = world.peer("own_topic.py", &words).start();
    let mut start = world.hopwatch(&format!("run --no-sim --for 60s --config {}", file.display()));
    let mut running = start.env("MODEL_KEY", "s3cret").start();
    running.delivered(count);
    publishing.end().has_code(0);
    running.interrupt();
    let ended = running.end();
    world.is_empty_now();
    ended
}

/// What the peer said of its messages.
fn log(world: &World) -> Vec<Value> {
    let text = std::fs::read_to_string(world.path("log.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The rows of delivered messages in the order of their numbers, and what is true of every run.
fn rows(ended: &Ended, count: u64) -> Vec<Row> {
    let report = ended.has_code(0).report();
    report.ledger().all_delivered(count);
    assert_eq!(report.ledger().published_source, "publication_sequence");
    let rows = ended.traces();
    legs_add_up(&rows);
    figures_are_of_the_traces(report.lane(), &rows);
    rows
}

/// RTPS fills a payload up to a multiple of four.
fn is_unchanged(got: &[u8], sent: &Path) {
    let sent = std::fs::read(sent).unwrap();
    assert!(got.len() - sent.len() < 4 && got.starts_with(&sent), "{} {}", got.len(), sent.len());
    assert!(got[sent.len()..].iter().all(|byte| *byte == 0));
}

#[test]
fn images_of_6_mb_go_through_unchanged() {
    let (world, service) = (World::new(), Service::start());
    let config = r#"
        [hopwatch]
        lanes = ["name=camera,best-effort,depth=10,topic=/camera/image_raw"]
        budget_communication_ms = 2000
        [gateway]
        ai_url = "AI_URL"
        [gateway.topics."/camera/image_raw"]
        qos = "match"
        stamp = "header.stamp"
        robot_field = "header.frame_id"
        [gateway.ai]
        body = "cdr"
        headers = { x-model-key = "Bearer ${MODEL_KEY}" }
        server_time = "field"
        server_time_field = "timing.took"
    "#;
    let peer = "--kind image --topic /camera/image_raw --rate 3";
    let ended = run(&world, &service, config, peer, 12);
    let rows = rows(&ended, 12);
    let report = ended.report();
    // The publisher's QoS was found, and its type.
    assert_eq!(report.lane().qos, "RELIABLE VOLATILE KEEP_LAST 10");
    for (at, (row, line)) in rows.iter().zip(log(&world)).enumerate() {
        assert_eq!(row.text("robot_id"), "camera");
        // DDS counts from 1.
        assert_eq!(row.ns("sequence"), i64::try_from(at).unwrap() + 1);
        // The legs before the take lead back to the time in the header, but for what lies between
        // the peer's two readings and the mapping of its wall clock.
        let stamp = row.ns("taken_ns") - row.ns("wake_ns") - row.ns("ros_ns") - row.ns("write_ns");
        let off = stamp - line["stamp_mono_ns"].as_i64().unwrap();
        assert!(off.abs() < 20_000_000, "{off}");
    }
    // Every byte, the headers of ours and of theirs.
    let asked = service.asked();
    assert_eq!(asked.len(), 12);
    for Asked { head, body } in &asked {
        assert!(head.starts_with("POST /infer?m=1 HTTP/1.1"), "{head}");
        for header in [
            "content-type: application/octet-stream",
            "x-model-key: bearer s3cret",
            "traceparent: 00-",
        ] {
            assert!(head.contains(header), "{head}");
        }
        assert!(body.len() > 6_220_800, "{}", body.len());
    }
    for (number, Asked { body, .. }) in asked.iter().enumerate() {
        is_unchanged(body, &world.path("dump").join(format!("{number}.cdr")));
    }
    // The service told its own time, so it is told apart from the way there and back.
    let ai = &report.lane().classes["ai"];
    assert!(ai.p50_ns >= i64::try_from(MODEL.as_nanos()).ok(), "{ai:?}");
    assert!(!report.lane().legs.contains_key("ai_round_trip"));
    // Nothing tells the secret.
    assert!(!ended.markdown().contains("s3cret") && !ended.json().to_string().contains("s3cret"));
}

#[test]
fn texts_go_as_the_service_wants_them() {
    let (world, service) = (World::new(), Service::start());
    let config = r#"
        [hopwatch]
        lanes = ["name=chat,reliable,topic=/chatter"]
        [gateway]
        ai_url = "AI_URL"
        [gateway.topics."/chatter"]
        type = "std_msgs/msg/String"
        [gateway.ai]
        method = "put"
        body = "template"
        template = '{"prompt": {{ message.data }}, "n": {{ sequence }}, "who": {{ robot }}}'
        [gateway.web]
        body = "template"
        template = '{"message": {"text": {{ message.data }}}, "ai": {{ ai.label }}}'
    "#;
    let ended = run(&world, &service, config, "--kind string --topic /chatter --rate 10", 20);
    rows(&ended, 20);
    for (number, Asked { head, body }) in service.asked().iter().enumerate() {
        assert!(head.starts_with("PUT /infer"), "{head}");
        let body: Value = serde_json::from_slice(body).unwrap();
        let prompt = format!("message {number} says \"hi\"");
        assert_eq!(body, json!({"prompt": prompt, "n": number + 1, "who": "chatter"}));
    }
    // It tells its time where nobody looks: its whole round trip counts as AI.
    assert!(ended.report().lane().legs.contains_key("ai_round_trip"));
}

#[test]
fn nested_types_go_as_json() {
    for (kind, topic, form, look) in [
        (
            "points",
            "/points",
            "stamp = \"header.stamp\"",
            (|n, body: &Value| {
                assert_eq!(body["width"], 100 + n);
                assert_eq!(body["fields"][2]["name"], "z");
                assert_eq!(
                    body["data"].as_array().unwrap().len(),
                    usize::try_from(12 * (100 + n)).unwrap()
                );
            }) as fn(u64, &Value),
        ),
        ("diagnostics", "/diagnostics", "", |n, body| {
            assert_eq!(body["status"][0]["name"], format!("motor {n}"));
            assert_eq!(body["status"][0]["level"], 2);
            let values = body["status"][0]["values"].as_array().unwrap();
            assert_eq!(values.len(), usize::try_from(n % 4).unwrap());
            assert!(n % 4 != 3 || values[2] == json!({"key": "k2", "value": "ää"}));
            assert_eq!(body["status"][1]["message"], "");
        }),
        // Robot messages tell the rest themselves.
        ("robot", "/arm", "qos = \"match\"", |n, body| {
            assert_eq!(body["header"]["sequence"], 1000 + n);
            assert!(
                (body["battery"].as_f64().unwrap() - f64::from(u32::try_from(n).unwrap())).abs()
                    < 1e-9
            );
        }),
        // Of a package of one's own.
        ("census", "/count", "sequence = \"published\"\nrobot_field = \"robot_id\"", |n, body| {
            assert_eq!(body["published"], 1000 + n);
        }),
    ] {
        let (world, service) = (World::new(), Service::start());
        let config = format!(
            "[hopwatch]\nlanes = [\"reliable,topic={topic}\"]\n[gateway]\nai_url = \"AI_URL\"\n\
             [gateway.topics.\"{topic}\"]\n{form}\n"
        );
        let peer = format!("--kind {kind} --topic {topic} --rate 10");
        let ended = run(&world, &service, &config, &peer, 10);
        let rows = rows(&ended, 10);
        if kind == "robot" || kind == "census" {
            assert_eq!((rows[3].ns("sequence"), rows[3].text("robot_id")), (1003, "arm_7"));
        }
        for (number, asked) in (0..).zip(service.asked()) {
            look(number, &serde_json::from_slice(&asked.body).unwrap());
        }
    }
}

#[test]
fn topics_that_cannot_be_taken_are_refused_with_what_to_do() {
    let world = World::new();
    let refused = |form: &str, words: &[&str]| {
        let text = format!(
            "[hopwatch]\nlanes = [\"reliable,topic=/t\"]\n[gateway]\ndiscovery_ms = 1500\n{form}\n"
        );
        let file = world.file("hopwatch.toml", &text);
        let ended =
            world.hopwatch(&format!("run --no-sim --for 1s --config {}", file.display())).end();
        ended.has_code(2).says(words);
        world.is_empty_now();
    };
    let own = "[gateway.topics.\"/t\"]\n";
    refused(own, &["/t has no publisher", "start the robot first", "type ="]);
    refused(&format!("{own}type = \"std_msgs/msg/Strin\""), &["has no msg/Strin.msg"]);
    refused(
        &format!("{own}type = \"no_such_msgs/msg/T\""),
        &["no_such_msgs", "install the package"],
    );
    let fields = format!("{own}type = \"sensor_msgs/msg/Image\"\nstamp = \"header.stmp\"");
    refused(&fields, &["topics.\"/t\".stamp", "stmp", "stamp"]);
    let text = format!("{own}type = \"std_msgs/msg/String\"\nstamp = \"data\"");
    refused(&text, &["topics.\"/t\".stamp", "not a builtin_interfaces/msg/Time"]);
    let robot = format!("{own}type = \"hopwatch_msgs/msg/RobotMessage\"\nrobot = \"r\"");
    refused(&robot, &["topics.\"/t\".robot", "tells that itself"]);
    refused("[gateway.topics.\"/other\"]\n", &["/other", "no lane", "/t"]);
    let cdr = format!(
        "link = \"udp\"\n{own}type = \"std_msgs/msg/String\"\n[gateway.ai]\nmethod = \"PUT\""
    );
    refused(&cdr, &["udp", "http1"]);

    // Robots would be started that publish another type.
    let file =
        world.file("hopwatch.toml", "[gateway.topics.\"/t\"]\ntype = \"std_msgs/msg/String\"\n");
    let ended = world.hopwatch(&format!("run --for 1s --config {}", file.display())).end();
    ended.has_code(2).says(&["/t", "std_msgs/msg/String", "--no-sim"]);

    // Two types on one topic, and a publisher of another type than the one that is meant.
    let offer = |kind: &str| {
        let words = format!("--kind {kind} --topic /t --only-offer 60");
        let mut peer = world.peer("own_topic.py", &words).start();
        peer.wait_for("an offer", |peer| {
            let said = peer.stdout();
            if said.contains("offers /t") { Ok(()) } else { Err(said) }
        });
        peer
    };
    let (one, other) = (offer("string"), offer("pose"));
    let file = world.file(
        "hopwatch.toml",
        "[hopwatch]\nlanes = [\"reliable,topic=/t\"]\n[gateway.topics.\"/t\"]\nqos = \"match\"\n",
    );
    let ended = world.hopwatch(&format!("run --no-sim --for 1s --config {}", file.display())).end();
    ended.has_code(2).says(&[
        "/t has publishers of several types",
        "std_msgs/msg/String",
        "geometry_msgs/msg/PoseWithCovarianceStamped",
    ]);
    one.interrupt();
    other.interrupt();
    drop((one.end(), other.end()));
    world.is_empty_now();
}
