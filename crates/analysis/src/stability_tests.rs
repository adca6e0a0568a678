use super::*;
use crate::lane::tests::trace_of;
use hopwatch_testkit::chance;
use rand::Rng;

const MS: Ns = 1_000_000;
const S: Ns = 1_000 * MS;

/// A message that was taken, worked on from `started` and done at `ended`.
fn worked(taken: Ns, started: Ns, ended: Ns) -> Trace {
    trace_of(&[
        (Hop::Taken, taken),
        (Hop::Started, started),
        (Hop::AiSent, started),
        (Hop::AiAnswered, ended),
        (Hop::WebSent, ended),
        (Hop::WebAcked, ended),
    ])
}

/// Messages (taken, work) in the order in which they come, for so many workers.
fn queue(messages: impl IntoIterator<Item = (Ns, Ns)>, workers: usize) -> Vec<Trace> {
    let mut free = vec![0; workers];
    let mut work = |(taken, service): (Ns, Ns)| {
        let worker = free.iter_mut().min().unwrap();
        let started = taken.max(*worker);
        *worker = started + service;
        worked(taken, started, *worker)
    };
    messages.into_iter().map(&mut work).collect()
}

/// One worker, one message a second, each taking `service`: the simplest queue there is.
fn serial(n: i64, service: Ns) -> Vec<Trace> {
    queue((0..n).map(|i| (i * S, service)), 1)
}

/// The same with room for one message that waits: the newest is dropped when it is taken.
fn serial_with_drops(n: i64, service: Ns) -> Vec<Trace> {
    let mut ends: Vec<Ns> = vec![0, 0];
    (0..n)
        .map(|i| {
            let taken = i * S;
            let [.., before, last] = ends[..] else { unreachable!() };
            // One is worked on, and one waits behind it.
            if before > taken {
                let mut trace = trace_of(&[(Hop::Taken, taken)]);
                trace.outcome = Outcome::QueueDropped;
                return trace;
            }
            let started = taken.max(last);
            ends.push(started + service);
            worked(taken, started, started + service)
        })
        .collect()
}

fn judge(traces: &[Trace], workers: u32) -> Stability {
    stability(&traces.iter().collect::<Vec<_>>(), workers)
}

/// SEEDS S1: 1 Hz × 1.037 s in series is overloaded; the queue grows by 37 ms a message.
#[test]
fn the_published_pipeline_is_unstable() {
    let s = judge(&serial(60, 1_037 * MS), 1);
    assert!(s.unstable && s.waiting_grows && s.reason.starts_with("UNSTABLE"), "{}", s.reason);
    assert!((s.utilisation.unwrap() - 1.037).abs() < 1e-9);
    let (lo, hi) = s.utilisation_ci.unwrap();
    assert!((lo - 1.037).abs() < 1e-9 && (hi - 1.037).abs() < 1e-9, "an even load is known");
    assert!((s.waiting_slope_us_per_s.unwrap() - 37_000.0).abs() < 1.0);
}

/// With a queue of one, waiting climbs by 37 ms a second and is cut by a drop every 28 messages:
/// no trend tells it, the utilisation does.
#[test]
fn a_saw_tooth_is_unstable_all_the_same() {
    let traces = serial_with_drops(60, 1_037 * MS);
    let dropped = traces.iter().filter(|t| t.outcome == Outcome::QueueDropped).count();
    assert_eq!(dropped, 2);
    let s = judge(&traces, 1);
    assert!(s.unstable && !s.waiting_grows, "{}", s.reason);
    assert!((s.utilisation.unwrap() - 1.037).abs() < 1e-9);
    let tooth = "in a saw-tooth: 37000 µs a second from message to message, cut by 2 drops";
    assert!(s.reason.contains(tooth), "{}", s.reason);
}

#[test]
fn below_capacity_is_stable() {
    let s = judge(&serial(60, 900 * MS), 1);
    assert!(!s.unstable && !s.waiting_grows, "{}", s.reason);
    assert!(stability(&[], 1).utilisation.is_none());
    assert!(!judge(&serial(1, 1_037 * MS), 1).unstable);
}

/// Three messages that happen to come together are no load, nor are 19, nor 2 s of many.
#[test]
fn too_little_is_not_judged() {
    for (what, traces) in [
        ("three", queue((0..3).map(|i| (i * MS, 100 * MS)), 1)),
        ("three slow ones", serial(3, 2 * S)),
        ("nineteen", serial(19, 2 * S)),
        ("two seconds", queue((0..200).map(|i| (i * 10 * MS, 15 * MS)), 1)),
    ] {
        let s = judge(&traces, 1);
        assert!(!s.unstable && s.utilisation_ci.is_none(), "{what}: {}", s.reason);
    }
    assert!(
        judge(&serial(19, 2 * S), 1)
            .reason
            .ends_with("of 19 messages: too few, or too short a time, to judge")
    );
    assert!(judge(&serial(20, 2 * S), 1).unstable);
}

/// 12 messages in a burst every 100 ms: 120 a second, not 1 to 10 thousand.
#[test]
fn bursts_are_the_load_that_they_are() {
    let burst = |i: i64| i / 12 * 100 * MS + i % 12 * MS / 10;
    for (n, workers, work, unstable) in [
        (360, 64, 20 * MS, false),
        (3_600, 64, 500 * MS, false),
        (3_600, 64, 560 * MS, true),
        // One worker is busy for 60 of 100 ms; waiting climbs in each burst, and comes back.
        (360, 1, 5 * MS, false),
        (3_600, 1, 5 * MS, false),
        (3_600, 1, 9 * MS, true),
    ] {
        let traces = queue((0..n).map(|i| (burst(i), work)), workers);
        let s = judge(&traces, u32::try_from(workers).unwrap());
        assert_eq!(s.unstable, unstable, "{n} × {work} ns, {workers} workers: {}", s.reason);
    }
    let s = judge(&queue((0..3_600).map(|i| (burst(i), 20 * MS)), 64), 64);
    assert!((s.utilisation.unwrap() - 120.0 * 0.02 / 64.0).abs() < 1e-6, "{}", s.reason);
}

/// A line in the AI service keeps the gateway's 64 workers waiting, not busy.
#[test]
fn a_line_behind_the_workers_grows() {
    for (service, unstable) in [(1_037 * MS, true), (950 * MS, false)] {
        let mut free = 0;
        let traces: Vec<Trace> = (0..60)
            .map(|i| {
                let taken = i * S;
                let begun = (taken + MS).max(free);
                free = begun + service;
                let mut trace = worked(taken, taken, free);
                let clock = trace.stamps.get(Hop::Taken).unwrap().clock.clone();
                trace.stamps.set(Hop::AiReceived, &clock, taken + MS);
                trace.stamps.set(Hop::AiBegun, &clock, begun);
                trace
            })
            .collect();
        let s = judge(&traces, 64);
        assert_eq!((s.unstable, s.waiting_grows), (unstable, unstable), "{}", s.reason);
        assert!(s.utilisation.unwrap() < 0.1);
    }
}

/// Poisson arrivals at 100 Hz, exponential work.
fn random_queue(seed: u64, n: usize, utilisation: f64) -> Vec<Trace> {
    let mut chance = chance(seed);
    let mut at = 0.0;
    let messages: Vec<(Ns, Ns)> = (0..n)
        .map(|_| {
            let mut exponential = |mean: f64| -(1.0 - chance.random::<f64>()).ln() * mean;
            at += exponential(1e8);
            #[expect(clippy::cast_possible_truncation, reason = "some seconds")]
            (at as Ns, exponential(1e8 * utilisation) as Ns)
        })
        .collect();
    queue(messages, 1)
}

/// Of 200 queues each; the same seeds each time.
#[test]
fn random_queues_are_judged_by_their_load() {
    let called = |n, utilisation| {
        (0..200).filter(|seed| judge(&random_queue(*seed, n, utilisation), 1).unstable).count()
    };
    for (n, utilisation, fewest, most) in [
        (60, 0.5, 0, 2),
        (60, 0.8, 0, 4),
        (60, 0.9, 0, 6),
        (300, 0.8, 0, 2),
        (300, 0.95, 0, 8),
        (300, 1.5, 198, 200),
        (1_000, 0.95, 0, 4),
        (1_000, 1.3, 198, 200),
    ] {
        let found = called(n, utilisation);
        assert!((fewest..=most).contains(&found), "{found} of 200: n = {n}, {utilisation}");
    }
}
