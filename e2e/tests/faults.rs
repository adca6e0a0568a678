//! Services killed or stopped at random moments under 200 messages a second: afterwards every
//! published message is in exactly one bucket of the ledger, and every record that the collector
//! acknowledged is there.
//!
//! `HOPWATCH_FAULT_SEED` repeats the moments of a run; the machine's part can't be repeated.
#![allow(clippy::unwrap_used, reason = "tests")]

use hopwatch_e2e::{
    Ended, Ledger, Service, Services, World, get, legs_add_up, post, wait_until, within,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const ROBOTS: u64 = 4;
/// Of each robot, 50 a second.
const MESSAGES: u64 = 450;

/// What happens to a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// SIGKILL; started again after the pause.
    Kill,
    /// SIGSTOP; continued after the pause.
    Stop,
}

/// One fault.
#[derive(Clone, Copy, Debug)]
struct Fault {
    service: Service,
    kind: Kind,
    /// When, since the first messages were delivered.
    at: Duration,
    pause: Duration,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.kind {
            Kind::Kill => "killed",
            Kind::Stop => "stopped",
        };
        let Self { service, at, pause, .. } = self;
        write!(f, "{service} {verb} at {} ms for {} ms", at.as_millis(), pause.as_millis())
    }
}

/// Random numbers that a seed repeats (`SplitMix64`).
struct Random(u64);

impl Random {
    fn new() -> Self {
        let given = std::env::var("HOPWATCH_FAULT_SEED").ok();
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos().into();
        let seed = given.map_or_else(now, |seed| seed.parse().unwrap());
        eprintln!("HOPWATCH_FAULT_SEED={seed}");
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn ms(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.next() % (to - from))
    }

    /// A fault between these moments.
    fn fault(&mut self, service: Service, kind: Kind, from: u64, to: u64) -> Fault {
        let at = self.ms(from, to);
        let pause = match kind {
            Kind::Kill => self.ms(0, 1000),
            Kind::Stop => self.ms(200, 3000),
        };
        Fault { service, kind, at, pause }
    }

    /// One service, four times, each after the last is over.
    fn one_by_one(&mut self, service: Service) -> Vec<Fault> {
        let mut from = 200;
        let mut one = |kind| {
            // A stop may take 3 s: two of them and two kills fit into the robots' 9 s.
            let mut fault = self.fault(service, kind, from, from + 500);
            if kind == Kind::Stop {
                fault.pause = fault.pause.min(Duration::from_millis(2500));
            }
            from = u64::try_from((fault.at + fault.pause).as_millis()).unwrap() + 100;
            fault
        };
        [Kind::Kill, Kind::Stop, Kind::Kill, Kind::Stop].map(&mut one).to_vec()
    }

    /// All services in 5 s, at once where it falls so.
    fn all_at_once(&mut self) -> Vec<Fault> {
        let mut faults = Service::ALL.map(|service| {
            let kind = if self.next().is_multiple_of(2) { Kind::Kill } else { Kind::Stop };
            self.fault(service, kind, 200, 5000)
        });
        faults.sort_by_key(|fault| fault.at);
        faults.to_vec()
    }
}

/// Posts numbered records and remembers which were acknowledged.
struct Probe {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Told>,
}

/// What the probe has told.
#[derive(Default)]
struct Told {
    acknowledged: BTreeSet<u64>,
    last: u64,
    unanswered: u64,
}

impl Probe {
    const SOURCE: &str = "probe-1";

    fn start(collector: SocketAddr) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&over);
        let thread = thread::spawn(move || {
            let mut told = Told::default();
            while !ends.load(Ordering::Relaxed) {
                let numbers: Vec<u64> = (told.last + 1..=told.last + 5).collect();
                let body: String = numbers.iter().map(|n| Self::line(*n)).collect();
                // Each once more after an answer that didn't come: it may have been stored or not.
                for _ in 0..2 {
                    match post(collector, "/v1/records", &body) {
                        Ok((200, _)) => {
                            told.acknowledged.extend(&numbers);
                            break;
                        }
                        _ => told.unanswered += 1,
                    }
                }
                told.last += 5;
                thread::sleep(Duration::from_millis(10));
            }
            told
        });
        Self { over, thread }
    }

    /// A record that nothing replaces and no account is made of.
    fn line(number: u64) -> String {
        let record = json!({
            "source": Self::SOURCE, "number": number, "kind": "client",
            "trace_id": format!("{number:032x}"), "client": "probe", "server_clock": "probe",
            "frame_sent": "100", "received": "200", "painted": null, "ack_sent": "300",
            "ack_received": "400", "resolution_ns": 1000,
        });
        format!("{record}\n")
    }

    fn end(self) -> Told {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// The faults, with the ledger after each.
fn commit(services: &mut Services<'_>, faults: &[Fault]) {
    let mut steps: Vec<(Duration, bool, Fault)> = faults
        .iter()
        .flat_map(|fault| [(fault.at, true, *fault), (fault.at + fault.pause, false, *fault)])
        .collect();
    steps.sort_by_key(|(at, ..)| *at);
    let began = Instant::now();
    let mut away: BTreeSet<Service> = BTreeSet::new();
    for (at, begins, fault) in steps {
        thread::sleep(at.saturating_sub(began.elapsed()));
        match (begins, fault.kind) {
            (true, Kind::Kill) => services.kill(fault.service),
            (true, Kind::Stop) => services.of(fault.service).pid().hang(),
            (false, Kind::Kill) => services.again(fault.service),
            (false, Kind::Stop) => services.of(fault.service).pid().resume(),
        }
        if begins {
            away.insert(fault.service);
            continue;
        }
        away.remove(&fault.service);
        for service in Service::ALL.into_iter().filter(|service| !away.contains(service)) {
            assert!(services.of(service).lives(), "the {service} has ended: {fault}");
        }
        let ledger = if away.contains(&Service::Collector) {
            "the collector is away".to_owned()
        } else {
            let collector = services.address(Service::Collector);
            within(Duration::from_secs(10), "answer of the collector", || {
                get(collector, "/healthz")
            });
            services.status().map_or_else(|error| error, |status| in_brief(&status))
        };
        eprintln!("{fault}: {ledger}");
    }
}

/// The account of the only lane, without zeros.
fn in_brief(status: &Value) -> String {
    let lanes = status["lanes"].as_object();
    let Some(ledger) = lanes.and_then(|lanes| lanes.values().next()?.as_object()) else {
        return status.to_string();
    };
    let shown = ledger.iter().filter(|(name, value)| {
        let empty = value.as_object().is_some_and(serde_json::Map::is_empty);
        *name != "notes" && **value != json!(0) && !empty
    });
    shown.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
}

/// What is published is counted outside, by the robots themselves.
fn survives(qos: &str, faults: &[Fault]) -> Ledger {
    let world = World::new();
    let mut services = Services::start(&world, &format!("--qos {qos}"));
    let probe = Probe::start(services.address(Service::Collector));
    let words = format!("--robots {ROBOTS} --rate 50 --count {MESSAGES} --qos {qos} --linger 60s");
    let robots = world.robots(&words).start();
    let account = |services: &Services<'_>, name: &str| {
        let status = services.status()?;
        let lane = status["lanes"].as_object().and_then(|lanes| lanes.values().next());
        let count = lane.and_then(|lane| lane[name].as_u64());
        count.map(|count| (count, status.clone())).ok_or_else(|| status.to_string())
    };
    wait_until("delivered messages", || {
        let (delivered, status) = account(&services, "delivered")?;
        if delivered >= 20 { Ok(()) } else { Err(status.to_string()) }
    });
    commit(&mut services, faults);

    // The robots stay until the last word on them is known.
    let last = wait_until("end of the run", || {
        let status = services.status()?;
        if status["state"] == "ended" { Ok(status) } else { Err(status.to_string()) }
    });
    robots.interrupt();
    let robots = robots.end();
    robots.has_code(0);
    let counted: Value = serde_json::from_str(robots.stdout.trim()).unwrap();
    services.all_live();
    let told = probe.end();
    let out = services.out();
    services.stop();
    world.clear_after_the_killed();
    world.is_empty_now();

    let reported = world.report(&out).end();
    let ledger = reported.report().ledger().clone();
    eprintln!("{qos}: {ledger:?}");
    assert_eq!(counted["failed"], 0, "{counted}");
    assert_eq!(ledger.published, counted["published"].as_u64().unwrap());
    assert_eq!((ledger.published, &*ledger.published_source), (ROBOTS * MESSAGES, "census"));
    ledger.adds_up();
    assert_eq!(ledger.in_flight, 0, "{ledger:?}");
    each_in_one_bucket(&reported, &ledger);
    legs_add_up(&reported.traces());
    all_acknowledged_are_there(&reported, &told);
    // The live account had said the same.
    let live = last["lanes"].as_object().unwrap().values().next().unwrap();
    let live: Ledger = serde_json::from_value(live.clone()).unwrap();
    assert_eq!(format!("{live:?}"), format!("{ledger:?}"));
    ledger
}

/// Each number that a robot's writer gave is either of a message with an outcome, once, or one of
/// those whose loss has a name; and the outcomes are those of the ledger.
fn each_in_one_bucket(ended: &Ended, ledger: &Ledger) {
    let mut writers: BTreeMap<String, BTreeMap<u64, u64>> = BTreeMap::new();
    let mut outcomes: BTreeMap<String, u64> = BTreeMap::new();
    for trace in ended.records("trace") {
        let writer = writers.entry(trace["publisher"].to_string()).or_default();
        *writer.entry(trace["publication_sequence"].as_u64().unwrap()).or_default() += 1;
        *outcomes.entry(trace["outcome"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    assert_eq!(u64::try_from(writers.len()).unwrap(), ROBOTS, "{writers:?}");
    let mut missing = 0;
    for numbers in writers.values() {
        assert!(numbers.keys().all(|number| (1..=MESSAGES).contains(number)), "{numbers:?}");
        let more: Vec<_> = numbers.iter().filter(|(_, times)| **times != 1).collect();
        assert!(more.is_empty(), "taken more than once: {more:?}");
        missing += MESSAGES - u64::try_from(numbers.len()).unwrap();
    }
    let lost = ledger.lost_before_discovery + ledger.lost_in_ros + ledger.outcome_unknown;
    assert_eq!(missing, lost, "{ledger:?}");
    let failed = |stage: &str, of: &BTreeMap<String, u64>| {
        of.iter().map(|(failure, n)| (format!("{stage} {failure}"), *n)).collect::<Vec<_>>()
    };
    let mut named: BTreeMap<String, u64> = failed("ai", &ledger.ai_failed).into_iter().collect();
    named.extend(failed("web", &ledger.web_failed));
    for (name, n) in [
        ("delivered", ledger.delivered),
        ("queue_dropped", ledger.queue_dropped),
        ("undecodable", ledger.undecodable),
        ("abandoned", ledger.abandoned),
    ] {
        named.insert(name.to_owned(), n);
    }
    named.retain(|_, n| *n > 0);
    assert_eq!(outcomes, named);
}

/// None is missing, and none is there twice.
fn all_acknowledged_are_there(ended: &Ended, told: &Told) {
    let mut stored: BTreeMap<u64, u64> = BTreeMap::new();
    for record in ended.records("client") {
        assert_eq!(record["source"], Probe::SOURCE);
        *stored.entry(record["number"].as_u64().unwrap()).or_default() += 1;
    }
    eprintln!(
        "records of the probe: {} told, {} acknowledged, {} stored; {} requests without an answer",
        told.last,
        told.acknowledged.len(),
        stored.len(),
        told.unanswered
    );
    assert!(told.acknowledged.len() > 500, "{}", told.acknowledged.len());
    let lost: Vec<_> = told.acknowledged.iter().filter(|n| !stored.contains_key(n)).collect();
    assert!(lost.is_empty(), "acknowledged and not there: {lost:?}");
    let twice: Vec<_> = stored.iter().filter(|(_, times)| **times != 1).collect();
    assert!(twice.is_empty(), "stored more than once: {twice:?}");
    assert!(stored.keys().all(|number| (1..=told.last).contains(number)));
}

/// Of a service other than the gateway: what was taken is known.
fn gateway_told_all(ledger: &Ledger) {
    assert_eq!(ledger.outcome_unknown, 0, "{ledger:?}");
}

#[test]
fn the_gateway_killed_and_stopped() {
    let faults = Random::new().one_by_one(Service::Gateway);
    survives("reliable", &faults);
}

#[test]
fn the_ai_service_killed_and_stopped() {
    let faults = Random::new().one_by_one(Service::Ai);
    let ledger = survives("best-effort", &faults);
    gateway_told_all(&ledger);
    assert!(!ledger.ai_failed.is_empty() && ledger.web_failed.is_empty(), "{ledger:?}");
}

#[test]
fn the_broadcaster_killed_and_stopped() {
    let faults = Random::new().one_by_one(Service::Broadcaster);
    let ledger = survives("reliable", &faults);
    gateway_told_all(&ledger);
    assert!(ledger.ai_failed.is_empty() && !ledger.web_failed.is_empty(), "{ledger:?}");
}

/// It isn't part of the way: nothing at all is lost by it.
#[test]
fn the_collector_killed_and_stopped() {
    let faults = Random::new().one_by_one(Service::Collector);
    let ledger = survives("best-effort", &faults);
    gateway_told_all(&ledger);
    assert!(ledger.ai_failed.is_empty() && ledger.web_failed.is_empty(), "{ledger:?}");
}

#[test]
fn all_at_once_reliable() {
    let mut random = Random::new();
    for _ in 0..2 {
        survives("reliable", &random.all_at_once());
    }
}

#[test]
fn all_at_once_best_effort() {
    let mut random = Random::new();
    for _ in 0..2 {
        survives("best-effort", &random.all_at_once());
    }
}
