use super::*;
use crate::clocks::Clocks;
use crate::decompose::decompose;
use crate::lane::tests::{delivered, lane_of};
use crate::lane::{Wanted, figures};
use crate::ledger::LedgerBuilder;
use hopwatch_model::{Leg, Outcome};
use hopwatch_testkit::chance;
use rand::Rng;

const MS: Ns = 1_000_000;
const S: Ns = 1_000 * MS;

/// Messages with an AI time of 1, 2, … ms; `lost` of them were lost in ROS.
fn over(timed: u64, lost: u64, limit: Ns) -> OverPublished {
    let clocks = Clocks::default();
    let traces: Vec<Trace> =
        (1..=timed).map(|n| delivered(0, n, i64::try_from(n).unwrap() * MS)).collect();
    let parts: Vec<Decomposition> =
        traces.iter().map(|trace| decompose(trace, &[], &clocks).unwrap()).collect();
    let whole: Vec<&Decomposition> = parts.iter().collect();
    OverPublished::of(&whole, whole.len(), &ledger(timed, lost, 0), limit).unwrap()
}

fn ledger(delivered: u64, lost: u64, in_flight: u64) -> Ledger {
    Ledger {
        published: delivered + lost + in_flight,
        lost_in_ros: lost,
        delivered,
        in_flight,
        ..LedgerBuilder::new().ledger(true)
    }
}

/// METHOD's invariant: BEST_EFFORT with 2 % loss has no P99 but "lost".
#[test]
fn two_percent_of_loss_leave_no_p99() {
    let found = over(294, 6, 200 * MS);
    assert_eq!((found.of, found.lost), (300, 6));
    let pipeline = &found.pipeline;
    // Rank 150 and 285 of 300; all other legs take 8 µs.
    assert_eq!(pipeline.p50_ns, Some(Latency::Ns(150 * MS + 8_000)));
    assert_eq!(pipeline.p95_ns, Some(Latency::Ns(285 * MS + 8_000)));
    assert_eq!(pipeline.p99_ns, Some(Latency::Lost));
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["pipeline"]["p99_ns"], "lost");
    assert_eq!(json["published"]["p50_ns"], 150_011_000);
    // 199 take less than 200 ms: over all, not over those that came.
    let within = &pipeline.delivered_within;
    assert_eq!(within.n, 199);
    assert!((within.ratio - 199.0 / 300.0).abs() < 1e-12);
    assert!(within.ratio_ci.0 < within.ratio && within.ratio < within.ratio_ci.1);
    let said = found.said();
    assert!(said[0].starts_with(
        "delivered within 200.0 ms of publication: 199 of 300 published = 66.33 % (95 %: 60."
    ));
    assert!(
        said[1].starts_with("P99 over published: lost (P95 285.0 ms, P50 150.0 ms)"),
        "{said:?}"
    );
}

#[test]
fn loss_below_a_percent_moves_the_p99() {
    let found = over(298, 2, 2 * S);
    assert_eq!(found.pipeline.p99_ns, Some(Latency::Ns(297 * MS + 8_000)));
    let none = over(300, 0, 2 * S);
    assert_eq!(none.pipeline.p99_ns, Some(Latency::Ns(297 * MS + 8_000)));
    assert_eq!(none.said().len(), 1, "no loss, nothing to add: {:?}", none.said());
    assert!(none.pipeline.delivered_within.ratio_ci.0 > 0.98);
}

#[test]
fn what_is_unknown_is_in_no_denominator() {
    let parts = Decomposition { pipeline_ns: Some(5), ..Decomposition::default() };
    let whole = [&parts; 8];
    // One of nine that were delivered has no time; three are on their way.
    let found = OverPublished::of(&whole, 9, &ledger(9, 1, 3), S).unwrap();
    assert_eq!((found.of, found.lost, found.in_flight, found.untimed), (9, 1, 3, 1));
    assert_eq!(found.published, None, "nobody knows when these were published");
    assert!(found.said()[0].contains("of the take: 8 of 9 published"), "{:?}", found.said());
    assert!(
        found.said()[0]
            .ends_with("3 in flight are left out; 1 delivered without a time are left out")
    );
    // Of messages that are no longer kept only the loss would count.
    assert_eq!(OverPublished::of(&whole, 8, &ledger(9, 1, 0), S), None);
    assert_eq!(OverPublished::of(&[], 0, &ledger(0, 0, 5), S), None);
    let all_lost = OverPublished::of(&[], 0, &ledger(0, 5, 0), S).unwrap();
    assert_eq!(all_lost.pipeline.p50_ns, Some(Latency::Lost));
    assert_eq!(all_lost.pipeline.delivered_within.n, 0);
}

/// METHOD 14: what is lost before discovery says nothing of the link; it is told apart.
#[test]
fn what_was_lost_before_discovery_is_told_apart() {
    let parts = Decomposition { pipeline_ns: Some(5), ..Decomposition::default() };
    let whole = vec![&parts; 99];
    let early = |lost_before_discovery| {
        let known = ledger(99, 1, 0);
        let published = known.published + lost_before_discovery;
        let ledger = Ledger { published, lost_before_discovery, ..known };
        OverPublished::of(&whole, 99, &ledger, S).unwrap()
    };
    let (none, some) = (early(0), early(100));
    assert_eq!((some.of, some.lost, some.before_discovery), (100, 1, 100));
    assert_eq!(some.pipeline, none.pipeline);
    let said = format!("{}; 100 before discovery are left out", none.said()[0]);
    assert_eq!(some.said()[0], said);
}

/// What the clocks leave open is open in the interval, too.
#[test]
fn an_open_time_counts_from_certainly_to_possibly() {
    let times = [(10, 0), (10, 5), (9, 2), (11, 0)];
    let within = of_span(&times, 4, 10).unwrap().delivered_within;
    assert_eq!((within.n, within.n_possibly), (1, 3));
    // 300 of 300, each after 50 ± 60 ms: whether in 100 ms, nobody knows.
    let span = of_span(&[(50 * MS, 60 * MS); 300], 300, 100 * MS).unwrap();
    let within = &span.delivered_within;
    assert_eq!((within.n, within.n_possibly, within.ratio), (0, 300, 0.0));
    assert_eq!(within.ratio_ci, (0.0, 1.0));
    assert_eq!(
        span.p99_within_ns,
        Some((Latency::Ns(-10 * MS), Latency::Ns(110 * MS))),
        "quantiles are open likewise"
    );
    let exact = of_span(&[(50 * MS, 0); 300], 300, 100 * MS).unwrap();
    assert_eq!((exact.delivered_within.n, exact.delivered_within.n_possibly), (300, 300));
    assert_eq!((exact.p50_within_ns, exact.p99_within_ns), (None, None));
    let mut over = over(294, 6, 100 * MS);
    over.published = of_span(&[(50 * MS, 60 * MS); 294], 300, 100 * MS);
    assert_eq!(
        over.said(),
        [
            "delivered within 100.0 ms of publication: 0 to 294 of 300 published = 0.00 % to \
             98.00 % (95 %: 0.00 % to 99.26 %), as the clocks leave it open",
            "P99 over published: lost (P95 -10.00 ms to 110.0 ms, P50 -10.00 ms to 110.0 ms); a \
             lost message takes forever",
        ]
    );
}

/// Case of a user: 30 % loss, a message each 500 ms, RELIABLE: what is lost waits for the next
/// heartbeat, every 3 s, and all behind it wait with it. Stalls of seconds, then bursts.
#[test]
fn the_mean_hides_no_stall() {
    let mut chance = chance(7);
    let mut free = 0;
    let traces: Vec<Trace> = (0..240u64)
        .map(|i| {
            let published = Ns::try_from(i).unwrap() * 500 * MS;
            let lost = chance.random_bool(0.3);
            let came = if lost { (published / (3 * S) + 1) * 3 * S + 10 * MS } else { published };
            free = came.max(free + 50_000);
            let mut trace = delivered(free + 3_000, i + 1, 2 * MS);
            let clock = trace.stamps.get(Hop::Taken).unwrap().clock.clone();
            trace.stamps.set(Hop::Published, &clock, published);
            trace.stamps.set(Hop::Written, &clock, published + 1_000);
            trace
        })
        .collect();
    let clocks = Clocks::default();
    let lane = figures(&lane_of(&traces, &clocks), ledger(240, 0, 0), &Wanted::default());
    let gap = lane.delivery_gap.as_ref().unwrap();
    assert!(gap.longest_gap_ns > 2 * S && gap.median_gap_ns < 600 * MS, "{gap:?}");
    let said = gap.said().unwrap();
    assert!(
        said.starts_with("nothing was delivered for ") && said.contains("after the first take")
    );
    // Its length and its time are those of two deliveries one after the other.
    let ends: Vec<Ns> =
        traces.iter().map(|trace| trace.stamps.get(Hop::WebAcked).unwrap().ns).collect();
    let at = ends.iter().position(|ns| *ns == gap.began_ns).unwrap();
    assert_eq!(ends[at + 1] - ends[at], gap.longest_gap_ns);
    assert_eq!(gap.after_ns, gap.began_ns - traces[0].stamps.get(Hop::Taken).unwrap().ns);
    // The way to the gateway shows it, and so does the time from publication.
    let ros = &lane.legs[&Leg::Ros].summary;
    assert!(ros.p95_ns.unwrap() > 2 * S, "{ros:?}");
    let over = lane.over_published.unwrap();
    let within = over.published.unwrap().delivered_within;
    assert!(within.n < 230 && over.pipeline.delivered_within.n == 240, "{within:?}");
    assert!((lane.rates.delivered_per_s.unwrap() - 2.0).abs() < 0.1, "{:?}", lane.rates);
    assert!(!lane.stability.unstable, "{}", lane.stability.reason);
}

#[test]
fn a_gap_that_is_usual_is_not_told() {
    let slow: Vec<Trace> =
        (0..5u64).map(|i| delivered(Ns::try_from(i).unwrap() * 10 * S, i + 1, MS)).collect();
    let whole: Vec<&Trace> = slow.iter().collect();
    let gap = DeliveryGap::of(&whole).unwrap();
    assert_eq!((gap.longest_gap_ns, gap.median_gap_ns, gap.said()), (10 * S, 10 * S, None));
    assert_eq!(gap.began_ns, MS + 8_000, "the first of equals");
    assert_eq!(DeliveryGap::of(&whole[..1]), None);
    let mut failed = delivered(25 * S, 9, MS);
    failed.outcome = Outcome::QueueDropped;
    assert_eq!(DeliveryGap::of(&[]), None);
}
