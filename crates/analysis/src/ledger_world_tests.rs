//! A simulated world in which it is known what became of every message: robots that restart,
//! gateways that are killed, stopped for a while or ended in order, and links that lose messages.

use super::*;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};

/// One start of a gateway.
struct Up {
    name: String,
    from: Ns,
    to: Ns,
    killed: bool,
    /// It hears nothing for a while (SIGSTOP).
    stopped: (Ns, Ns),
}

/// What became of the messages, as the world knows it.
#[derive(Debug, Default)]
struct Truth {
    published: u64,
    /// By outcome, of those whose record arrived.
    told: BTreeMap<Outcome, u64>,
    /// No gateway was there.
    unmatched: u64,
    /// Lost on the way, or while the gateway was stopped.
    lost: u64,
    /// Taken, and the outcome or its record died with the gateway.
    died: u64,
    killed: bool,
}

enum Told {
    Trace(Trace),
    Counters(GatewayCounters),
    Census(Census),
}

const TICK: Ns = 250 * MS;

fn gateways(rng: &mut StdRng, kill: bool) -> Vec<Up> {
    let mut from = rng.random_range(1..3 * S);
    let mut all = Vec::new();
    for n in 0..rng.random_range(1..4) {
        let to = from + rng.random_range(S..8 * S);
        let stop = from + rng.random_range(0..6 * S);
        all.push(Up {
            name: format!("gateway-{}", (3 * n + 1) % 4),
            from,
            to,
            killed: kill && rng.random_bool(0.6),
            stopped: (stop, stop + rng.random_range(0..S / 2)),
        });
        from = to + rng.random_range(10 * MS..2 * S);
    }
    all
}

/// One gateway's life: what it tells, in the order in which it tells it.
fn run(up: &Up, arrivals: &[(Ns, Trace)], rng: &mut StdRng, truth: &mut Truth) -> Vec<Told> {
    let mut numbers: BTreeMap<PublisherId, u64> = BTreeMap::new();
    let mut missed = 0;
    // (time, what): takes and ends, in order of time.
    let mut ends: Vec<(Ns, Trace)> = Vec::new();
    let mut takes: Vec<(Ns, u64)> = Vec::new();
    for (at, trace) in arrivals {
        let number = trace.publication_sequence.unwrap();
        let highest = numbers.insert(trace.publisher, number).unwrap_or(number - 1);
        missed += number - highest - 1;
        takes.push((*at, missed));
        let outcome = match rng.random_range(0..10) {
            0 => Outcome::QueueDropped,
            1 => Outcome::ServiceFailed(Stage::Ai, Failure::TimedOut),
            2 => Outcome::ServiceFailed(Stage::Web, Failure::Broken),
            _ => Outcome::Delivered,
        };
        let end = at + rng.random_range(MS..S);
        ends.push((end, Trace { outcome, gateway: up.name.clone(), ..trace.clone() }));
    }
    ends.sort_by_key(|(at, trace)| (*at, trace.id));
    // A killed gateway's last records were not sent yet.
    let sent = if up.killed { up.to - rng.random_range(0..100 * MS) } else { Ns::MAX };
    let mut told = Vec::new();
    let mut tick = up.from;
    let count = |n: usize| n as u64;
    let counters = |at: Ns, last: bool| {
        let taken = takes.iter().filter(|(t, _)| *t <= at).count();
        let finished = ends.iter().filter(|(t, _)| *t <= at).count();
        GatewayCounters {
            gateway: up.name.clone(),
            started_ms: up.from / MS,
            taken: count(taken),
            finished: count(finished),
            working: count(taken - finished),
            missed: taken.checked_sub(1).map_or(0, |last| takes[last].1),
            last,
            ..GatewayCounters::default()
        }
    };
    while tick <= up.to.min(sent) {
        told.push(Told::Counters(counters(tick, false)));
        tick += TICK;
    }
    for (at, trace) in &ends {
        if *at <= sent {
            *truth.told.entry(trace.outcome).or_default() += 1;
            told.push(Told::Trace(trace.clone()));
        } else {
            truth.died += 1;
        }
    }
    if !up.killed {
        told.push(Told::Counters(counters(Ns::MAX, true)));
    }
    told
}

fn world(rng: &mut StdRng, kill: bool, loss: f64) -> (Truth, Vec<Told>) {
    let ups = gateways(rng, kill);
    let mut truth = Truth { killed: ups.iter().any(|up| up.killed), ..Truth::default() };
    let mut told = Vec::new();
    let mut arrivals: Vec<Vec<(Ns, Trace)>> = ups.iter().map(|_| Vec::new()).collect();
    let mut writer = 0;
    for robot in 1..=rng.random_range(1..4_u8) {
        let mut start = rng.random_range(0..2 * S);
        for instance in 0..rng.random_range(1..4) {
            writer += 1;
            let period_ms = rng.random_range(20..400_i32);
            let period = i64::from(period_ms) * MS;
            let messages = rng.random_range(1..60);
            let rate_hz = 1e3 / f64::from(period_ms);
            let mut census = census(robot, 0, false);
            census.instance = format!("{robot}-{instance}");
            (census.schedule_start_ns, census.rate_hz) = (start, rate_hz);
            census.clock = ClockId::new(GATEWAY);
            for n in 1..=messages {
                let at = start + period * (n - 1);
                truth.published += 1;
                census.published += 1;
                told.push(Told::Census(census.clone()));
                let Some(by) = ups.iter().position(|up| (up.from..up.to).contains(&at)) else {
                    truth.unmatched += 1;
                    continue;
                };
                let (stop, go) = ups[by].stopped;
                if rng.random_bool(loss) || (loss > 0.0 && (stop..go).contains(&at)) {
                    truth.lost += 1;
                    continue;
                }
                let mut trace = written(writer, u64::try_from(n).unwrap(), at, 50_000);
                trace.robot_id = format!("robot_{robot:03}");
                trace.id.0 = rng.random();
                arrivals[by].push((at + 60_000, trace));
            }
            census.last = true;
            told.push(Told::Census(census));
            start += period * messages + rng.random_range(S / 2..3 * S);
        }
    }
    for (up, mut arrived) in ups.iter().zip(arrivals) {
        arrived.sort_by_key(|(at, trace)| (*at, trace.id));
        told.extend(run(up, &arrived, rng, &mut truth));
    }
    (truth, told)
}

fn observe(builder: &mut LedgerBuilder, told: &Told) {
    match told {
        Told::Trace(trace) => assert!(builder.observe_trace(trace)),
        Told::Counters(counters) => builder.observe_counters(counters),
        Told::Census(census) => builder.observe_census(census),
    }
}

/// published = delivered + every named loss + in flight, at every moment, after every fault, in
/// whatever order the records come.
fn holds(seed: u64, kill: bool, loss: f64) {
    let rng = &mut StdRng::seed_from_u64(seed);
    let (truth, mut told) = world(rng, kill, loss);
    let mut ledgers = Vec::new();
    for _ in 0..2 {
        let mut builder = LedgerBuilder::new();
        builder.set_lane(&lane("RELIABLE VOLATILE KEEP_LAST 10"));
        for (at, record) in told.iter().enumerate() {
            observe(&mut builder, record);
            if at % 7 == 0 {
                let now = builder.ledger_now();
                assert_eq!(now.accounted(), now.published, "seed {seed}: {now:?}");
                assert!(now.reconciles, "seed {seed}: {now:?}");
            }
        }
        ledgers.push((builder.ledger(true), builder));
        told.shuffle(rng);
    }
    let (l, builder) = &ledgers[0];
    assert_eq!(l, &ledgers[1].0, "seed {seed}: the order of the records makes no difference");
    adds_up(l);
    let at = format!("seed {seed}: {truth:?} {l:?}");
    assert_eq!(l.published, truth.published, "{at}");
    let of = |outcome: Outcome| truth.told.get(&outcome).copied().unwrap_or(0);
    assert_eq!((l.delivered, l.queue_dropped), (of(Outcome::Delivered), of(Outcome::QueueDropped)));
    assert_eq!(
        (l.duplicates, l.in_flight, l.lost_before_discovery > truth.published),
        (0, 0, false)
    );
    let unaccounted = l.lost_before_discovery + l.lost_in_ros + l.outcome_unknown;
    assert_eq!(unaccounted, truth.unmatched + truth.lost + truth.died, "{at}");
    if truth.killed {
        let certain: u64 = builder
            .standings(true)
            .iter()
            .filter(|(.., standing)| *standing == Standing::Dead)
            .map(|(_, gateway, _)| gateway.untold())
            .sum();
        assert!(l.outcome_unknown >= certain, "{at}");
        if loss == 0.0 {
            // Nothing was lost on the way, but for what came when nobody was there any more.
            assert!(l.outcome_unknown >= truth.died, "{at}");
        }
    } else {
        assert_eq!(l.outcome_unknown, 0, "{at}");
        if loss == 0.0 {
            assert!(l.lost_in_ros <= truth.unmatched, "{at}");
        } else {
            assert!(l.lost_before_discovery <= truth.unmatched + truth.lost, "{at}");
        }
    }
    // What is kept no longer is still accounted for.
    let mut gone = LedgerBuilder::new();
    let mut rest = LedgerBuilder::new();
    rest.set_lane(&lane("RELIABLE VOLATILE KEEP_LAST 10"));
    for (at, record) in told.iter().enumerate() {
        let old = at % 3 == 0 && matches!(record, Told::Trace(_));
        observe(if old { &mut gone } else { &mut rest }, record);
    }
    let account = serde_json::to_string(&gone.account()).unwrap();
    rest.observe_account(&serde_json::from_str(&account).unwrap());
    assert_eq!(&rest.ledger(true), l, "seed {seed}: with an account");
}

#[test]
fn the_ledger_holds_in_every_world() {
    for seed in 0..1000 {
        for (kill, loss) in [(false, 0.0), (false, 0.1), (true, 0.0), (true, 0.1)] {
            holds(seed, kill, loss);
        }
    }
}
