use super::*;
use crate::ledger::LedgerBuilder;
use crate::stability::stability;
use hopwatch_testkit::chance;
use rand::Rng;

/// A message each 100 ms whose parts are as `shape` makes them of plain ones: calls of 0.3 to
/// 0.8 ms.
fn parts(n: Ns, seed: u64, shape: impl Fn(Ns, &mut Parts)) -> Vec<Parts> {
    let mut chance = chance(seed);
    (0..n)
        .map(|i| {
            let mut call = || Some(chance.random_range(300_000..800_000));
            let mut p = Parts {
                taken: i * 100 * MS,
                total: 0,
                ai: 10 * MS,
                published: None,
                ros: None,
                transport: 0,
                connects: [None, None],
                calls: [call(), call()],
                queue: 20_000,
                encode: 80_000,
            };
            shape(i, &mut p);
            let trip: Ns = p.connects.iter().chain(&p.calls).flatten().sum();
            p.transport = trip;
            p.total = p.ai + trip + p.queue + p.encode;
            p
        })
        .collect()
}

fn look(parts: &[Parts], transport: &str, workers: u32) -> Vec<Artefact> {
    let info = LaneInfo { transport: transport.into(), workers, ..LaneInfo::default() };
    let ledger = LedgerBuilder::new().ledger(true);
    let stability = stability(&[], workers);
    artefacts(parts, &Context { info: &info, stability: &stability, ledger: &ledger, traces: &[] })
}

fn found(artefacts: &[Artefact]) -> Vec<ArtefactKind> {
    artefacts.iter().filter(|a| a.state == State::Found).map(|a| a.kind).collect()
}

fn one(artefacts: &[Artefact], kind: ArtefactKind) -> &Artefact {
    artefacts.iter().find(|a| a.kind == kind).unwrap()
}

#[test]
fn a_healthy_lane_has_none() {
    for seed in 0..200 {
        let all = look(&parts(300, seed, |_, _| {}), "http1", 64);
        assert_eq!(found(&all), [], "{seed}");
        assert!(all.iter().all(|a| a.state == State::RuledOut && !a.evidence.is_empty()));
    }
    let few = look(&parts(10, 1, |_, _| {}), "http1", 64);
    assert!(few.iter().all(|a| a.state == State::Unknown), "{few:?}");
}

/// METHOD 20: write-write-read takes 44 ms; all calls, or some.
#[test]
fn nagle_is_named() {
    let slow = |i: Ns, p: &mut Parts| p.calls[0] = Some(44 * MS + (i % 7) * 50_000);
    let all = look(&parts(200, 1, slow), "http1", 64);
    let nagle = one(&all, ArtefactKind::NagleDelayedAck);
    assert_eq!((nagle.state, nagle.n), (State::Found, 200), "{nagle:?}");
    assert!(nagle.fix.contains("TCP_NODELAY") && nagle.evidence.contains("ping"), "{nagle:?}");
    assert!(nagle.gain_p99_ns.unwrap() > 40 * MS, "{nagle:?}");
    let some = |i: Ns, p: &mut Parts| {
        if i % 10 == 0 {
            slow(i, p);
        }
    };
    let all = look(&parts(200, 1, some), "http1", 64);
    let nagle = one(&all, ArtefactKind::NagleDelayedAck);
    assert_eq!((nagle.state, nagle.n), (State::Found, 20));
    assert!(nagle.gain_p50_ns.unwrap() < MS / 5, "{nagle:?}");
    assert!(nagle.gain_p99_ns.unwrap() > 40 * MS, "{nagle:?}");
    let two = one(&all, ArtefactKind::TwoModes);
    assert!(two.fix.contains("Nagle"), "{two:?}");
    assert!(
        !found(&look(&parts(200, 1, some), "udp", 64)).contains(&ArtefactKind::NagleDelayedAck)
    );
}

/// All calls of 44 ms: it is a path as long, unless something else on it is fast.
#[test]
fn without_a_fast_call_nagle_is_open() {
    let slow = |i: Ns, p: &mut Parts| p.calls = [Some(44 * MS + (i % 7) * 50_000); 2];
    let all = look(&parts(200, 1, slow), "http1", 64);
    let nagle = one(&all, ArtefactKind::NagleDelayedAck);
    assert_eq!((nagle.state, nagle.gain_p50_ns), (State::Unknown, None), "{nagle:?}");
    assert!(nagle.evidence.contains("ping"), "{nagle:?}");
    assert!(without(&parts(200, 1, slow), &all).iter().all(|ns| *ns > 80 * MS));
    for connect in [200_000, 20 * MS] {
        let opened = |i: Ns, p: &mut Parts| {
            slow(i, p);
            p.connects[0] = (i == 0).then_some(connect);
        };
        let all = look(&parts(200, 1, opened), "http1", 64);
        let state = if connect < MS { State::Found } else { State::Unknown };
        assert_eq!(one(&all, ArtefactKind::NagleDelayedAck).state, state, "{connect}");
    }
}

/// Two modes are seen; what they would gain isn't known, since it isn't known what makes them.
#[test]
fn two_modes_promise_nothing() {
    let odd = |i: Ns, p: &mut Parts| {
        if i % 3 == 0 {
            p.calls[0] = Some(15 * MS + (i % 7) * 50_000);
        }
    };
    let all = look(&parts(300, 1, odd), "http1", 64);
    let two = one(&all, ArtefactKind::TwoModes);
    assert_eq!((two.state, two.gain_p50_ns, two.gain_p99_ns), (State::Found, None, None));
}

/// One stall makes several calls late, and is no loss; nor are calls as long as no time-out.
#[test]
fn a_stall_is_no_retransmission() {
    let stall = |i: Ns, p: &mut Parts| {
        if (100..103).contains(&i) {
            p.calls[1] = Some(600 * MS - (i - 100) * 100 * MS);
        }
    };
    let twice = |i: Ns, p: &mut Parts| {
        if i % 150 == 5 {
            p.calls[1] = Some(204 * MS);
        }
    };
    let long = |i: Ns, p: &mut Parts| {
        if i % 60 == 5 {
            p.calls[1] = Some(340 * MS);
        }
    };
    for of in [parts(300, 1, stall), parts(300, 1, twice), parts(300, 1, long)] {
        let all = look(&of, "http1", 64);
        let resent = one(&all, ArtefactKind::TcpRetransmission);
        assert_eq!(resent.state, State::Unknown, "{resent:?}");
        assert!(resent.evidence.contains("stall of the machine"), "{resent:?}");
    }
}

/// A connection that breaks is an idle race only if it was open, and idle.
#[test]
fn only_idle_connections_race() {
    use crate::lane::tests::delivered;
    let second = 1_000 * MS;
    let broken = |at: Ns, n: u64| {
        let mut trace = delivered(at, n, 5 * MS);
        trace.outcome = Outcome::ServiceFailed(Stage::Web, Failure::Broken);
        trace
    };
    let state = |traces: &[Trace]| {
        let mut ledger = LedgerBuilder::new().ledger(true);
        ledger.web_failed.insert(Failure::Broken, 1);
        let info = LaneInfo { transport: "http1".into(), workers: 64, ..LaneInfo::default() };
        let (stability, traces) = (stability(&[], 64), traces.iter().collect::<Vec<_>>());
        let context =
            Context { info: &info, stability: &stability, ledger: &ledger, traces: &traces };
        let all = artefacts(&parts(200, 1, |_, _| {}), &context);
        one(&all, ArtefactKind::IdleRace).clone()
    };
    let idle = state(&[delivered(second, 1, 5 * MS), broken(7 * second, 2)]);
    assert_eq!((idle.state, idle.n), (State::Found, 1), "{idle:?}");
    let busy = state(&[delivered(second, 1, 5 * MS), broken(second + 50 * MS, 2)]);
    assert_eq!(busy.state, State::Unknown, "{busy:?}");
    assert!(busy.evidence.contains("why is not known"), "{busy:?}");
    let mut fresh = broken(7 * second, 2);
    let clock = fresh.stamps.get(Hop::WebSent).unwrap().clock.clone();
    let sent = fresh.stamps.get(Hop::WebSent).unwrap().ns;
    fresh.stamps.set(Hop::WebConnecting, &clock, sent - 1_000);
    assert_eq!(state(&[delivered(second, 1, 5 * MS), fresh]).state, State::Unknown);
}

/// A path whose round trip takes 20 to 60 ms has no mode at 40, and one of 45 that also takes 45
/// to open a connection is the path's.
#[test]
fn a_long_path_is_not_nagle() {
    let far = |i: Ns, p: &mut Parts| p.calls[0] = Some(20 * MS + (i * 7 % 41) * MS);
    let kinds = found(&look(&parts(300, 1, far), "http1", 64));
    assert!(!kinds.contains(&ArtefactKind::NagleDelayedAck), "{kinds:?}");
    let far = |_: Ns, p: &mut Parts| {
        p.calls[0] = Some(45 * MS);
        p.connects[0] = Some(45 * MS);
    };
    let kinds = found(&look(&parts(300, 1, far), "http1-fresh", 64));
    assert!(!kinds.contains(&ArtefactKind::NagleDelayedAck), "{kinds:?}");
}

/// Must show: http1-fresh with loss: the lost SYN's second is found, and warm connections come
/// before UDP.
#[test]
fn lost_syns_are_named() {
    let fresh = |i: Ns, p: &mut Parts| {
        p.connects = [Some(200_000), Some(210_000)];
        if i % 50 == 7 {
            p.connects[0] = Some(1_012 * MS);
        }
        if i == 99 {
            p.connects[1] = Some(3_030 * MS);
        }
    };
    let of = parts(200, 1, fresh);
    let all = look(&of, "http1-fresh", 64);
    let kinds = found(&all);
    assert!(kinds.contains(&ArtefactKind::LostSyn), "{kinds:?}");
    assert!(kinds.contains(&ArtefactKind::ColdConnections), "{kinds:?}");
    let syn = one(&all, ArtefactKind::LostSyn);
    assert_eq!(syn.n, 5, "{syn:?}");
    assert!(syn.fix.contains("warm") && syn.fix.contains("before UDP"), "{syn:?}");
    assert!(syn.gain_p99_ns.unwrap() > 1_000 * MS, "{syn:?}");
    // Without connections nothing is left of it, and nothing is taken away twice.
    let mended = without(&of, &all);
    assert!(mended.iter().all(|ns| *ns > 600_000 && *ns < 2 * MS), "{mended:?}");
    for (ns, lost) in [
        (949 * MS, false),
        (950 * MS, true),
        (1_300 * MS, true),
        (1_400 * MS, false),
        (3_010 * MS, true),
        (200_000, false),
        (9_000 * MS, false),
    ] {
        assert_eq!(is_lost_syn(ns), lost, "{ns}");
    }
}

#[test]
fn retransmissions_are_named_and_are_no_fault_of_the_set_up() {
    let lossy = |i: Ns, p: &mut Parts| {
        if i % 60 == 5 {
            p.calls[1] = Some(204 * MS);
        }
    };
    let all = look(&parts(300, 1, lossy), "http1", 64);
    let resent = one(&all, ArtefactKind::TcpRetransmission);
    assert_eq!((resent.state, resent.n), (State::Found, 5), "{resent:?}");
    assert!(!resent.kind.comes_first());
    assert!(resent.gain_p99_ns.unwrap() > 200 * MS, "{resent:?}");
    // A busy machine's tail falls off; it doesn't begin at 200 ms.
    let busy = |i: Ns, p: &mut Parts| {
        if i % 20 == 5 {
            p.calls[1] = Some(20 * MS + (i / 20 % 10) * 21 * MS);
        }
    };
    let kinds = found(&look(&parts(300, 1, busy), "http1", 64));
    assert!(!kinds.contains(&ArtefactKind::TcpRetransmission), "{kinds:?}");
}

#[test]
fn queues_and_encoding_are_named() {
    let waits = |i: Ns, p: &mut Parts| p.queue = i * 7_919 % 1_000 * 20_000;
    let serial = look(&parts(200, 1, waits), "http1", 1);
    assert_eq!(found(&serial), [ArtefactKind::SerialGateway]);
    assert_eq!(one(&serial, ArtefactKind::SerialGateway).gain_p99_ns.unwrap() / MS, 19);
    let json = look(&parts(200, 1, |_, p| p.encode = 3 * MS), "http1", 64);
    assert_eq!(found(&json), [ArtefactKind::EncodeCost]);
    assert_eq!(one(&json, ArtefactKind::EncodeCost).gain_p50_ns, Some(3 * MS));
}

/// SEEDS S3: a stall in the first seconds only.
#[test]
fn the_start_is_named() {
    let cold = |i: Ns, p: &mut Parts| {
        if i < 40 {
            p.calls[0] = Some(5 * MS);
        }
    };
    let all = look(&parts(300, 1, cold), "http1", 64);
    let start = one(&all, ArtefactKind::StartUp);
    assert_eq!(start.state, State::Found, "{start:?}");
    assert!(start.gain_p99_ns.unwrap() > 3 * MS, "{start:?}");
    let short = look(&parts(45, 1, cold), "http1", 64);
    assert_eq!(one(&short, ArtefactKind::StartUp).state, State::Unknown);
}
