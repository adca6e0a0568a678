use super::*;
use crate::lane::tests::delivered;
use crate::report::tests::dataset;
use crate::report::{RunInfo, report};
use crate::s1::S1Row;
use hopwatch_stats::Interval;
use std::collections::BTreeMap;

const MS: Ns = 1_000_000;

/// A row of the published table, in ms: mean, min, max, median, sd.
fn row([mean, min, max, median, sd]: [Ns; 5], share: f64) -> S1Row {
    let whole = |ms: Ns| Some(ms * MS);
    let float = |ms: Ns| Some(crate::contrast::float(ms * MS));
    let open = Interval { lo: None, hi: None };
    let summary = Summary {
        n: 58,
        n_eff: 58,
        mean_ns: float(mean),
        sd_ns: float(sd),
        min_ns: whole(min),
        max_ns: whole(max),
        p50_ns: whole(median),
        p75_ns: None,
        p90_ns: None,
        p95_ns: None,
        // Of 58 values P99 is the largest.
        p99_ns: whole(max),
        p50_ci_ns: open,
        p95_ci_ns: open,
        p99_ci_ns: open,
        p95_upper_ns: None,
        p99_upper_ns: None,
        modes: None,
    };
    S1Row { summary, share_percent: Some(share) }
}

/// SEEDS S1.
fn published() -> S1Table {
    S1Table {
        ai: row([1_006, 1_003, 1_007, 1_006, 1], 97.0),
        web: row([3, 3, 3, 3, 0], 0.29),
        overhead: row([28, 22, 67, 25, 8], 2.71),
        total: row([1_037, 1_029, 1_077, 1_034, 9], 100.0),
    }
}

/// Must show: S1's table in, KEEP out, with both checks and a reason that says what HTTP's part
/// is, what isn't, and what isn't known.
#[test]
fn the_published_table_is_kept() {
    let verdict = verdict_of_table(&published(), &Budget::default(), DEFAULT_MARGIN_NS);
    assert_eq!(verdict.decision, "KEEP", "{}", verdict.reason);
    for text in [
        "communication 31.00 ms < 100.0 ms",
        "total 1.037 s < 2.000 s",
        "P99 1.077 s, no upper bound at n = 58",
        "the web call: 3.000 ms on average (0.29 % of the total), 3.000 ms at most, below the \
         margin of 10.00 ms in all 58 messages, so in at least 95.0 %",
        "nothing is said of its P99",
        "28.00 ms of the communication are overhead",
        "What of the AI call's 1.006 s is transport isn't known",
    ] {
        assert!(verdict.reason.contains(text), "no {text:?} in {}", verdict.reason);
    }
    assert!(!verdict.reason.contains("p >") && !verdict.reason.contains("significant"));
}

#[test]
fn a_missed_requirement_or_a_slow_call_is_not_kept() {
    let of = |table: &S1Table, margin| verdict_of_table(table, &Budget::default(), margin);
    let mut slow = published();
    slow.overhead.summary.mean_ns = Some(98e6);
    let verdict = of(&slow, DEFAULT_MARGIN_NS);
    assert_eq!(verdict.decision, "INCONCLUSIVE");
    assert!(verdict.reason.contains("mean communication is 101.0 ms"), "{}", verdict.reason);
    // A margin below what the web call takes.
    let verdict = of(&published(), 2 * MS);
    assert_eq!(verdict.decision, "INCONCLUSIVE");
    assert!(verdict.reason.contains("up to 3.000 ms"), "{}", verdict.reason);
    let mut few = published();
    (few.total.summary.n, few.total.summary.n_eff) = (29, 29);
    assert_eq!(of(&few, DEFAULT_MARGIN_NS).decision, "INCONCLUSIVE");
}

fn verdict_of(traces: i64, queue_lost: bool) -> Verdict {
    kept(traces, |data| {
        if queue_lost {
            data.traces[5].outcome = hopwatch_model::Outcome::QueueDropped;
            data.counters[0].queue_dropped = 1;
            data.counters[0].finished -= 1;
        }
    })
}

fn kept(traces: i64, change: impl Fn(&mut crate::Dataset)) -> Verdict {
    let mut data = dataset();
    data.clients.clear();
    data.traces = (1..=traces)
        .map(|i| {
            delivered(i * 1_000 * MS, u64::try_from(i).unwrap(), 5 * MS + i * 37 % 61 * 10_000)
        })
        .collect();
    let n = u64::try_from(traces).unwrap();
    data.census[0].1.published = n;
    (data.counters[0].taken, data.counters[0].finished) = (n, n);
    change(&mut data);
    report(&data, RunInfo::default(), BTreeMap::new(), &Budget::default()).verdict
}

/// The third way has the guards of the second, and says nothing of HTTP where there is none.
#[test]
fn the_third_way_is_guarded() {
    use hopwatch_model::Hop;
    assert_eq!(kept(60, |_| {}).decision, "KEEP");
    // All messages wait for 20 ms, and everything behind is later by that.
    let queue = kept(60, |data| {
        for trace in &mut data.traces {
            let stamps: Vec<_> = trace.stamps.iter().map(|(hop, s)| (hop, s.clone())).collect();
            for (hop, stamp) in stamps.into_iter().filter(|(hop, _)| *hop >= Hop::Started) {
                trace.stamps.set(hop, &stamp.clock, stamp.ns + 20 * MS);
            }
        }
    });
    assert_eq!(queue.decision, "INCONCLUSIVE", "{}", queue.reason);
    assert!(queue.reason.contains("messages queue (P99 20."), "{}", queue.reason);
    let udp = kept(60, |data| {
        for info in data.lanes.values_mut() {
            info.transport = "udp".into();
        }
    });
    assert_eq!(udp.decision, "INCONCLUSIVE");
    assert!(udp.reason.contains("its link is udp"), "{}", udp.reason);
}

/// 300 messages whose times change slowly are worth fewer: what is shown is less.
#[test]
fn messages_that_depend_on_each_other_are_worth_fewer() {
    let mut table = published();
    table.web.summary.n_eff = 40;
    let verdict = verdict_of_table(&table, &Budget::default(), DEFAULT_MARGIN_NS);
    assert!(
        verdict.reason.contains("in all 58 messages, worth 40, so in at least 92.8 %"),
        "{}",
        verdict.reason
    );
    table.total.summary.n_eff = 29;
    let verdict = verdict_of_table(&table, &Budget::default(), DEFAULT_MARGIN_NS);
    assert_eq!(verdict.decision, "INCONCLUSIVE");
    assert!(verdict.reason.contains("worth 29: fewer than 30"), "{}", verdict.reason);
}

/// A single run: by the whole communication with 299 messages, by the requirement with 60, and
/// not with 20.
#[test]
fn single_runs_are_kept_as_far_as_they_show_it() {
    let whole = verdict_of(299, false);
    assert_eq!(whole.decision, "KEEP");
    assert!(whole.reason.contains("the whole communication's P99 is at most"), "{}", whole.reason);
    let required = verdict_of(60, false);
    assert_eq!(required.decision, "KEEP");
    assert!(required.reason.contains("in at least 95.1 %"), "{}", required.reason);
    let few = verdict_of(20, false);
    assert_eq!(few.decision, "INCONCLUSIVE");
    assert!(few.reason.contains("n = 20"), "{}", few.reason);
    let lost = verdict_of(299, true);
    assert_eq!(lost.decision, "INCONCLUSIVE");
    assert!(lost.reason.contains("1 messages were lost behind the take"), "{}", lost.reason);
}
