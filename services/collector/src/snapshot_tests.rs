use super::*;
use crate::gather::{PEERS, Settings, peers_near};
use crate::samples::tests::trace;
use crate::store::Keep;
use crate::store::Store;
use crate::told::{Told, What};
use hopwatch_analysis::Budget;
use hopwatch_model::{ClientTrace, ClockId, Failure, Hop, PeerExchange};
use std::sync::Mutex;

const S: Ns = 1_000_000_000;

fn answer(peer: &str, near: &str, at: Ns, way: Ns) -> PeerExchange {
    PeerExchange {
        peer: peer.into(),
        robots: vec![],
        near: ClockId::new(near),
        far: ClockId::new(format!("far {peer}")),
        near_sent: at - way,
        far_received: (at, at),
        far_sent: (at, at),
        near_received: at,
    }
}

/// Messages of the fixture, one a second.
fn messages(count: i64) -> Vec<Trace> {
    let text = include_str!("../../../crates/wire/fixtures/records-v1.ndjson");
    let trace = text.lines().find_map(|line| match Told::read(line).unwrap().what {
        What::Trace(trace) => Some(*trace),
        _ => None,
    });
    let trace = trace.unwrap();
    let gateway = ClockId::new("gateway");
    (0..count)
        .map(|i| {
            let mut trace = trace.clone();
            trace.id = TraceId(u128::try_from(i).unwrap().to_be_bytes());
            trace.stamps.set(Hop::Taken, &gateway, i * S);
            trace
        })
        .collect()
}

/// 1000 messages at 1 Hz take 1000 s; a responder answers ten times a second.
#[test]
fn answers_reach_as_far_as_the_messages() {
    let traces = messages(1_000);
    let answers: Vec<PeerExchange> = (0..20_000)
        .rev()
        .map(|i| answer("a", "gateway", (i - 5_000) * S / 10, S / 1_000))
        .collect();
    let found = peers_near(traces.iter(), answers.iter());
    let ages: Vec<Ns> = found.iter().map(|e| e.near_received).collect();
    let (first, last) = (ages.iter().min().unwrap(), ages.iter().max().unwrap());
    assert!((-60 * S..-58 * S).contains(first), "{first}");
    assert!((1_057 * S..=1_059 * S).contains(last), "{last}");
    assert!((3_000..=PEERS).contains(&found.len()), "{}", found.len());
    let gap = ages.windows(2).map(|w| (w[1] - w[0]).abs()).max().unwrap();
    assert!(gap < S, "{gap}");
}

#[test]
fn thinned_answers_are_the_tightest_of_each_responder() {
    let traces = messages(1_000);
    // Two that take turns; each tenth of one is fast. And one of another gateway's clock.
    let answers: Vec<PeerExchange> = (0..20_000)
        .map(|i| {
            let way = if i % 20 == 0 { 1_000 } else { 1_000_000 };
            answer(["a", "b"][usize::try_from(i % 2).unwrap()], "gateway", i * S / 20, way)
        })
        .chain((0..100).map(|i| answer("c", "elsewhere", i * S, 1)))
        .collect();
    let found = peers_near(traces.iter(), answers.iter());
    let of = |peer: &str| found.iter().filter(|e| e.peer == peer).count();
    assert_eq!((of("a"), of("b"), of("c")), (2_500, 2_500, 0));
    let fast = found.iter().filter(|e| e.near_received - e.near_sent == 1_000).count();
    assert_eq!(fast, 1_000, "none of the fast ones is left out");
    // Few are all taken, and without messages there is nothing to relate.
    assert_eq!(peers_near(traces.iter(), answers.iter().take(100)).len(), 100);
    assert!(peers_near(std::iter::empty(), answers.iter()).is_empty());
}

/// The message of this number, a tenth of a second after the one before, of ten robots in turn: it
/// takes 5.6 ms, and a µs more for each before it.
fn whole(number: u64) -> Trace {
    let at = Ns::try_from(number).unwrap() * S / 10;
    let mut trace = trace(number, at, &format!("robot_{:03}", number % 10));
    let moved = i64::try_from(number).unwrap() * 1_000;
    let gateway = ClockId::new("gateway");
    for (hop, after) in [
        (Hop::Started, 10_000),
        (Hop::AiSent, 20_000),
        (Hop::AiAnswered, 5_000_000 + moved),
        (Hop::WebSent, 5_010_000 + moved),
        (Hop::WebAcked, 5_600_000 + moved),
    ] {
        trace.stamps.set(hop, &gateway, at + after);
    }
    trace
}

/// A store with two lanes of such messages.
fn store(messages: u64) -> Mutex<Store> {
    let mut store = Store::new(Keep { messages: 500, samples: 100_000 }, "run".to_owned());
    for number in 0..messages {
        let mut trace = whole(number);
        trace.lane = ["best-effort", "reliable"][usize::try_from(number % 2).unwrap()].to_owned();
        trace.publication_sequence = Some(number / 2);
        let what = What::Trace(Box::new(trace));
        assert!(store.take(Told { origin: ("gateway-1".into(), number + 1), what }));
    }
    Mutex::new(store)
}

fn shown(store: &Mutex<Store>, watch: Watch) -> Snapshot {
    let settings = Settings { newest: 100, budget: Budget::default() };
    Gathered::of(|| store.lock().unwrap(), watch, settings).snapshot()
}

fn lanes(snapshot: &Snapshot) -> Vec<&LaneView> {
    let lanes = snapshot.parts.iter().filter_map(|part| match part {
        Part::Lane { lane } => Some(&**lane),
        _ => None,
    });
    lanes.collect()
}

#[test]
fn a_run_is_all_messages_and_its_legs_those_of_the_newest() {
    let store = store(2_000);
    let whole = shown(&store, Watch { window: Window::Run, robot: None });
    let all = lanes(&whole);
    assert_eq!(all.len(), 2);
    for lane in &all {
        assert_eq!(lane.classes["total"].n, 1_000);
        assert_eq!(lane.ledger.delivered, 1_000);
        assert_eq!(lane.legs["queue"].summary.n, 100);
        let shares = &lane.distribution["total"];
        assert!(shares.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{shares:?}");
        assert_eq!(
            shares.last().map(|s| (s.0, Some(s.1))),
            Some((1.0, lane.classes["total"].max_ns))
        );
        let p50 = shares.iter().find(|(share, _)| (share - 0.5).abs() < 1e-9).map(|s| s.1);
        assert_eq!(p50, lane.classes["total"].p50_ns);
    }
    // Even numbers are of the first lane: 5.6 ms and a µs more for each number.
    assert_eq!(all[0].classes["total"].max_ns, Some(5_600_000 + 1_998 * 1_000));
    let slowest = whole.parts.iter().find_map(|part| match part {
        Part::Slowest { messages } => Some(messages),
        _ => None,
    });
    let totals: Vec<Option<Ns>> = slowest.unwrap().iter().map(|m| m.total_ns).collect();
    let expected: Vec<Option<Ns>> =
        (0..10).map(|i| Some(5_600_000 + (1_999 - i) * 1_000)).collect();
    assert_eq!(totals, expected);
}

#[test]
fn a_window_and_a_robot_leave_out_the_others() {
    let store = store(2_000);
    // The records came at once, so the newest take is now and the first one 200 s ago.
    let minute = shown(&store, Watch { window: Window::Minute, robot: None });
    let n = lanes(&minute)[0].classes["total"].n;
    assert!((290..=301).contains(&n), "{n}");
    let of_one = Watch { window: Window::Run, robot: Some("robot_003".to_owned()) };
    let one = shown(&store, of_one.clone());
    assert_eq!(one.watch, of_one);
    let n: Vec<usize> = lanes(&one).iter().map(|lane| lane.classes["total"].n).collect();
    assert_eq!(n, [0, 200], "odd ones are of the second lane");
    let bins = one.parts.iter().filter_map(|part| match part {
        Part::Course(course) => Some(course.bins.iter().map(|bin| bin.n).sum::<usize>()),
        _ => None,
    });
    assert_eq!(bins.sum::<usize>(), 200);
    let nobody = shown(&store, Watch { window: Window::Run, robot: Some("nobody".to_owned()) });
    assert!(lanes(&nobody).iter().all(|lane| lane.classes["total"].n == 0));
}

#[test]
fn robots_are_told_with_their_rates() {
    let store = store(2_000);
    let run = shown(&store, Watch { window: Window::Run, robot: None });
    let robots = run.parts.iter().find_map(|part| match part {
        Part::Robots { robots } => Some(robots),
        _ => None,
    });
    let robots = robots.unwrap();
    assert_eq!(robots.len(), 10);
    let first = &robots[0];
    assert_eq!((first.robot_id.as_str(), first.taken, first.delivered), ("robot_000", 200, 200));
    assert!((first.rate_hz.unwrap() - 1.0).abs() < 0.01, "{first:?}");
}

#[test]
fn one_message_is_found_while_it_is_kept() {
    let store = store(2_000);
    let found = |id| Some(GatheredMessage::of(&store.lock().unwrap(), id)?.view());
    for number in [1_999_u128, 1_200] {
        let message = found(TraceId(number.to_be_bytes())).unwrap();
        let total = 5_600_000 + 1_000 * Ns::try_from(number).unwrap();
        assert_eq!(message.total_ns, Some(total));
        assert_eq!(message.trace_id, TraceId(number.to_be_bytes()).to_string());
    }
    assert!(found(TraceId([9; 16])).is_none());
    assert!(found(TraceId(3_u128.to_be_bytes())).is_none(), "500 of a lane are kept");
}

/// Acknowledgements of three pages for each message of two lanes.
#[test]
fn whatever_pages_got_is_counted_for_each_message_once() {
    let text = include_str!("../../../crates/wire/fixtures/records-v1.ndjson");
    let ack = text.lines().find_map(|line| match Told::read(line).unwrap().what {
        What::Client(ack) => Some(*ack),
        _ => None,
    });
    let store = store(2_000);
    let mut number = 0;
    // More than are kept: 500 acknowledgements are of the newest 167 messages.
    for message in 1_600_u128..2_000 {
        for page in ["one", "two", "three"] {
            number += 1;
            let id = TraceId(message.to_be_bytes());
            let mut ack = ClientTrace { id, client: page.to_owned(), ..ack.clone().unwrap() };
            let is_painted = message % 4 >= 2 && page == "two";
            ack.painted = is_painted.then(|| ack.received.clone());
            let told = Told { origin: ("b".into(), number), what: What::Client(Box::new(ack)) };
            assert!(store.lock().unwrap().take(told));
        }
    }
    let run = shown(&store, Watch { window: Window::Run, robot: None });
    for lane in lanes(&run) {
        let GlassCounts { delivered, received, painted } = lane.glass;
        // Of the newest three seconds nobody can tell yet, and not of those whose
        // acknowledgements are no longer kept.
        assert!((66..=69).contains(&delivered), "{delivered}");
        assert_eq!(received, delivered);
        assert!(painted.abs_diff(delivered / 2) <= 1, "{painted} of {delivered}");
    }
}

/// Half of a minute's messages fail, after a long time without a failure; and the other way round.
#[test]
fn a_window_is_judged_by_its_own_losses() {
    let decided = |lost: Range<u64>, window| {
        let store = store(0);
        for number in 0..2_000_u64 {
            let mut trace = whole(number);
            trace.publication_sequence = Some(number);
            if lost.contains(&number) && number % 2 == 0 {
                trace.outcome = Outcome::ServiceFailed(Stage::Ai, Failure::TimedOut);
            }
            let origin = ("gateway-1".into(), number + 1);
            assert!(
                store.lock().unwrap().take(Told { origin, what: What::Trace(Box::new(trace)) })
            );
        }
        let shown = shown(&store, Watch { window, robot: None });
        let found = shown.parts.iter().find_map(|part| match part {
            Part::Verdict { budget, .. } => budget.checks.iter().find(|c| c.name.contains("P99")),
            _ => None,
        });
        let lane = lanes(&shown)[0];
        assert_eq!(lane.ledger.published, 2_000, "the ledger stays that of the run");
        found.unwrap().passed
    };
    assert!(!decided(1_700..2_000, Window::Minute));
    assert!(decided(0..300, Window::Minute));
    assert!(!decided(0..300, Window::Run));
}

/// The gateway's word that it has taken so many, finished them, and missed others.
fn counters(number: u64, taken: u64, missed: u64) -> Told {
    let text = include_str!("../../../crates/wire/fixtures/records-v1.ndjson");
    let line = text.lines().find(|line| line.contains(r#""kind":"gateway""#)).unwrap();
    let mut word: serde_json::Value = serde_json::from_str(line).unwrap();
    word["source"] = "gateway-1".into();
    word["number"] = number.into();
    word["lane"] = "reliable".into();
    word["last"] = false.into();
    word["taken"] = taken.into();
    word["finished"] = taken.into();
    word["missed"] = missed.into();
    Told::read(&word.to_string()).unwrap()
}

#[test]
fn losses_in_ros_stand_where_they_were_noticed_and_are_taken_back() {
    let mut store = Store::new(Keep { messages: 500, samples: 500 }, "run".to_owned());
    let mut number = 0;
    let mut take = |store: &mut Store, sequences: &[u64], missed: u64| {
        for sequence in sequences {
            number += 1;
            let at = Ns::try_from(*sequence).unwrap() * S / 10;
            let mut trace = trace(*sequence, at, "robot_001");
            trace.lane = "reliable".to_owned();
            trace.gateway = "gateway-1".to_owned();
            trace.publication_sequence = Some(*sequence);
            let what = What::Trace(Box::new(trace));
            assert!(store.take(Told { origin: ("gateway-1".into(), 2 * number), what }));
            assert!(store.take(counters(2 * number + 1, number, missed)));
        }
        store.look_for_losses("reliable");
        store.lanes["reliable"].ros_lost.iter().map(|(_, n)| n).sum::<u64>()
    };
    assert_eq!(take(&mut store, &[1, 2, 3, 4], 0), 0);
    assert_eq!(take(&mut store, &[15, 16], 10), 10, "5 to 14 are missing");
    assert_eq!(take(&mut store, &[9], 9), 9, "it came after all");
    let seen = store.lanes["reliable"].ros_lost.len();
    store.end_reading();
    assert_eq!(take(&mut store, &[17], 9), 9, "nothing new");
    assert_eq!((seen, store.lanes["reliable"].ros_lost.len()), (1, 1));
}
