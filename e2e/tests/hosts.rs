//! Four hosts with TLS and a token between them, for real: a network namespace each, and clocks of
//! their own for the robot's and the AI service's.
#![allow(clippy::unwrap_used, reason = "tests")]

use hopwatch_e2e::{
    AHEAD_S, Ended, Lan, Row, Running, World, clocks_can_differ, legs_add_up, peer, run_file,
    wait_until,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const AHEAD_NS: i64 = AHEAD_S * 1_000_000_000;
const TOKEN: &str = "a-token-for-the-lab";
const OTHER_TOKEN: &str = "another-token";

/// A world on four hosts, with the certificates of `hopwatch certificates`.
struct Lab {
    // Before the world, which waits for what it started.
    lan: Lan,
    world: World,
}

impl Lab {
    fn new() -> Option<Self> {
        let lan = Lan::new()?;
        let lab = Self { lan, world: World::new() };
        lab.certify("lab");
        Some(lab)
    }

    fn certify(&self, folder: &str) {
        let out = self.world.path(folder);
        let host = |name: &str, host| format!("--host {name},{}", Lan::address(host));
        let words = format!(
            "certificates {} {} {} {} --out {}",
            host("robot", Lan::ROBOT),
            host("gateway", Lan::GATEWAY),
            host("ai", Lan::AI),
            host("web", Lan::WEB),
            out.display()
        );
        self.world.bare(&words).without_dds().end().has_code(0);
    }

    /// What stands on a host: its table, with its own certificate.
    fn table(&self, name: &str, host: &str, port: (u8, u16), own: &str) -> PathBuf {
        let lab = self.world.path("lab");
        let (lab, (at, port)) = (lab.display(), port);
        let text = format!(
            "[{name}]\nlisten = \"{}:{port}\"\ntls_cert = \"{lab}/{host}.pem\"\n\
             tls_key = \"{lab}/{host}-key.pem\"\n{own}\n",
            Lan::address(at)
        );
        self.world.file(&format!("{name}.toml"), &text)
    }

    fn start(&self, host: u8, ahead: bool, program: &str, config: &Path, token: &str) -> Running {
        let mut start = self.world.program(Path::new("ip"), &self.lan.on(host));
        if ahead {
            start.args(&format!("python3 {} {AHEAD_S}", peer("in_time_namespace.py").display()));
        }
        start.arg(self.world.built(program).to_str().unwrap());
        start.arg("--config").arg(config.to_str().unwrap());
        start.env("HOPWATCH_TOKEN", token);
        if program == "hopwatch-gateway" {
            start.env("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET");
            start.env("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4");
        } else {
            start.without_dds();
        }
        let mut running = start.start();
        running.listening();
        running
    }

    fn collector(&self) -> Running {
        let out = self.world.path("out");
        std::fs::create_dir(&out).unwrap();
        std::fs::write(out.join("run.json"), run_file().to_string()).unwrap();
        let own = format!("database = \"{}\"", out.join("records.db").display());
        let config = self.table("collector", "web", (Lan::WEB, 8002), &own);
        self.start(Lan::WEB, false, "hopwatch-collector", &config, TOKEN)
    }

    fn broadcaster(&self) -> Running {
        let own = format!(
            "tls_ca = \"{}\"\ncollector_url = \"https://{}:8002/v1/records\"",
            self.world.path("lab/ca.pem").display(),
            Lan::address(Lan::WEB)
        );
        let config = self.table("broadcaster", "web", (Lan::WEB, 8001), &own);
        self.start(Lan::WEB, false, "hopwatch-broadcaster", &config, TOKEN)
    }

    fn ai(&self, ahead: bool, token: &str) -> Running {
        let config = self.table("ai_mock", "ai", (Lan::AI, 5000), "model_ms = 5.0");
        self.start(Lan::AI, ahead, "hopwatch-ai-mock", &config, token)
    }

    /// `ca` in the world, and where the AI service is said to be.
    fn gateway(&self, ca: &str, ai_url: &str, own: &str) -> Running {
        let web = Lan::address(Lan::WEB);
        let own = format!(
            "tls_ca = \"{}\"\nqos = \"reliable\"\nai_gets_token = true\nweb_gets_token = true\nai_url = \"{ai_url}\"\n\
             web_url = \"https://{web}:8001/v1/messages\"\n\
             collector_url = \"https://{web}:8002/v1/records\"\n{own}",
            self.world.path(ca).display()
        );
        let config = self.table("gateway", "gateway", (Lan::GATEWAY, 8000), &own);
        self.start(Lan::GATEWAY, false, "hopwatch-gateway", &config, TOKEN)
    }

    /// The robot, and the responder beside it, on one clock of their own.
    fn robot(&self, count: u32) -> Running {
        let script = format!(
            "{} respond --listen {}:8010 & responder=$!; \
             {} --rate 20 --count {count} --qos reliable; \
             kill -INT $responder; wait $responder",
            self.world.built("hopwatch").display(),
            Lan::address(Lan::ROBOT),
            self.world.built("hopwatch-robot-sim").display(),
        );
        let script = self.world.file("robot.sh", &script);
        let mut robot = self.world.program(Path::new("ip"), &self.lan.on(Lan::ROBOT));
        robot.args(&format!("python3 {} {AHEAD_S} sh", peer("in_time_namespace.py").display()));
        robot.arg(script.to_str().unwrap());
        robot.env("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET");
        robot.env("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4").start()
    }

    fn viewer(&self) -> Running {
        let words = format!(
            "{} python3 {} wss://{}:8001/ws --ca {}",
            self.lan.on(Lan::WEB),
            peer("viewer.py").display(),
            Lan::address(Lan::WEB),
            self.world.path("lab/ca.pem").display()
        );
        let mut viewer = self.world.program(Path::new("ip"), &words).without_dds().start();
        viewer.wait_for("connection", |viewer| {
            let said = viewer.stdout();
            if said.contains("connected") { Ok(()) } else { Err(said) }
        });
        viewer
    }
}

fn ai_url(scheme: &str) -> String {
    format!("{scheme}://{}:5000/v1/infer", Lan::address(Lan::AI))
}

#[track_caller]
fn stop(running: Running) -> Ended {
    running.interrupt();
    let ended = running.end();
    ended.has_code(0);
    ended
}

/// The stamps of each delivered message by hop; those of clocks that are ahead are put back.
fn true_stamps(ended: &Ended, gateway: &str) -> BTreeMap<String, BTreeMap<String, i64>> {
    let of_trace = |record: Value| {
        let mut stamps = BTreeMap::new();
        for (clock, hops) in record["stamps"].as_object().unwrap() {
            let ahead = if clock == gateway || clock == "wall" { 0 } else { AHEAD_NS };
            for (hop, ns) in hops.as_object().unwrap() {
                let ns: i64 = ns.as_str().unwrap().parse().unwrap();
                stamps.insert(hop.clone(), ns - ahead);
            }
        }
        (record["trace_id"].as_str().unwrap().to_owned(), stamps)
    };
    ended.records("trace").into_iter().map(of_trace).collect()
}

/// A leg holds the truth, which lies between two clocks.
#[track_caller]
fn holds(row: &Row, leg: &str, truth: i64) {
    let (ns, half) = (row.ns(&format!("{leg}_ns")), row.ns(&format!("{leg}_half_ns")));
    assert!(half > 0, "{leg} spans two clocks: {row:?}");
    assert!((ns - truth).abs() <= half + 2, "{leg}: {truth} is not {ns} ± {half}");
}

#[test]
fn four_hosts_with_tls_and_a_token_give_one_report() {
    if !clocks_can_differ() {
        return;
    }
    let Some(lab) = Lab::new() else { return };
    let collector = lab.collector();
    let broadcaster = lab.broadcaster();
    let ai = lab.ai(true, TOKEN);
    let viewer = lab.viewer();
    let peers = format!("clock_peers = \"{}:8010\"", Lan::address(Lan::ROBOT));
    let gateway = lab.gateway("lab/ca.pem", &ai_url("https"), &peers);
    lab.robot(100).end().has_code(0).says(&["answered"]);
    stop(gateway);
    stop(broadcaster);
    let seen = viewer.end();
    seen.has_code(0);
    assert!(seen.stdout.contains("\"messages\": 100"), "{}", seen.stdout);
    stop(ai);
    stop(collector);
    lab.world.is_empty_now();
    let ended = lab.world.report(&lab.world.path("out")).end();
    ended.has_code(0);
    let report = ended.report();
    let lane = report.lane();
    lane.ledger.all_delivered(100);
    let rows = ended.traces();
    legs_add_up(&rows);
    let told = ended.records("lane");
    let truth = true_stamps(&ended, told[0]["clock"].as_str().unwrap());
    assert_eq!(rows.len(), 100);
    for row in &rows {
        let stamps = &truth[row.text("trace_id")];
        holds(row, "ai_request", stamps["ai_received"] - stamps["ai_sent"]);
        holds(row, "ai_reply", stamps["ai_answered"] - stamps["ai_done"]);
    }
    let json = ended.json();
    let lane = &json["lanes"][0];
    assert_eq!(lane["spans"]["pipeline"]["exact"], true);
    // From the robot to the page, across three clocks.
    let glass = ended.glass();
    let whole = glass.iter().filter(|row| row.maybe("glass_lo_ns").is_some()).count();
    assert!(whole >= 90, "{whole} of {} messages have a way to the page: {lane}", glass.len());
    let clocks = json["clocks"].as_array().unwrap();
    let ahead = clocks.iter().filter(|clock| {
        let of = |end: usize| clock["offset_ns"][end].as_i64();
        of(0).zip(of(1)).is_some_and(|(lo, hi)| lo <= AHEAD_NS && AHEAD_NS <= hi)
    });
    assert_eq!(ahead.count(), 2, "those of the robot and of the AI service: {clocks:?}");
}

/// Another token at the AI service: it refuses, each message is counted so, and the rest goes on.
#[test]
fn a_wrong_token_is_refused_and_counted() {
    let Some(lab) = Lab::new() else { return };
    let collector = lab.collector();
    let broadcaster = lab.broadcaster();
    let ai = lab.ai(false, OTHER_TOKEN);
    let gateway = lab.gateway("lab/ca.pem", &ai_url("https"), "");
    let robot = lab.robot(20);
    robot.end().has_code(0);
    stop(gateway);
    stop(broadcaster);
    stop(ai);
    stop(collector);
    lab.world.is_empty_now();
    let ended = lab.world.report(&lab.world.path("out")).end();
    let json = ended.has_code(4).json();
    let ledger = &json["lanes"][0]["ledger"];
    assert_eq!(ledger["ai_failed"]["refused"], 20, "{ledger}");
    assert_eq!((&ledger["delivered"], &ledger["reconciles"]), (&0.into(), &true.into()));
}

/// The gateway says at its start what is wrong, and what to do.
#[test]
fn what_does_not_fit_is_told_at_the_start() {
    let Some(lab) = Lab::new() else { return };
    lab.certify("other");
    let _collector = lab.collector();
    let _broadcaster = lab.broadcaster();
    let told = |ca: &str, url: &str, words: &[&str]| {
        let mut gateway = lab.gateway(ca, url, "");
        let words: Vec<&str> = words.iter().chain(&["AI service", "10.78.0.3"]).copied().collect();
        wait_until("words of the gateway", || {
            let said = gateway.stderr();
            let all = words.iter().all(|word| said.contains(word));
            if all { Ok(()) } else { Err(format!("{words:?} not in {said}")) }
        });
        assert!(gateway.lives());
        stop(gateway);
    };
    let secure = lab.ai(false, TOKEN);
    let wrong_ca = ["Hopwatch lab CA", "did not issue", "other/ca.pem"];
    told("other/ca.pem", &ai_url("https"), &wrong_ca);
    stop(secure);

    let made = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(vec!["10.78.0.3".to_owned()]).unwrap();
    params.not_after = rcgen::date_time_ymd(2020, 1, 1);
    let pem = params.self_signed(&made).unwrap().pem();
    lab.world.file("lab/ai.pem", &pem);
    lab.world.file("lab/ai-key.pem", &made.serialize_pem());
    let expired = lab.ai(false, TOKEN);
    told("lab/ai.pem", &ai_url("https"), &["expired on 2020-01-01"]);
    stop(expired);

    let listen = format!("[ai_mock]\nlisten = \"{}:5000\"\n", Lan::address(Lan::AI));
    let config = lab.world.file("plain.toml", &listen);
    let plain = lab.start(Lan::AI, false, "hopwatch-ai-mock", &config, TOKEN);
    told("lab/ca.pem", &ai_url("https"), &["plain HTTP", "http://"]);
    let said = stop(plain);
    said.says(&["without TLS", "tls_cert"]);
}

/// What docs/hosts.md puts on each host is what its programs take.
#[test]
fn the_examples_are_taken_by_their_programs() {
    let world = World::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/hosts");
    for (file, programs) in [
        ("robot.toml", &["hopwatch-robot-sim"][..]),
        ("gateway.toml", &["hopwatch-gateway"]),
        ("ai.toml", &["hopwatch-ai-mock"]),
        ("web.toml", &["hopwatch-broadcaster", "hopwatch-collector", "hopwatch-web-ui"]),
    ] {
        let file = examples.join(file);
        for program in programs {
            let words = format!("--check-config --config {}", file.display());
            let ended = world.program(&world.built(program), &words).without_dds().end();
            ended.has_code(0);
            // Not only a file that it passes over.
            let given = std::fs::read_to_string(&file).unwrap();
            let listens = given.lines().filter_map(|line| line.strip_prefix("listen = "));
            let addresses = listens.filter_map(|told| told.split('"').nth(1));
            let taken = addresses
                .filter(|address| ended.stdout.contains(&format!("\"listen\": \"{address}\"")));
            assert!(taken.count() == 1 || *program == "hopwatch-robot-sim", "{}", ended.stdout);
        }
    }
}
