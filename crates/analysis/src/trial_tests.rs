use super::*;
use crate::experiment::tests::{arm, plan};
use crate::lane::LaneInfo;
use crate::lane::tests::{GATEWAY, delivered};
use hopwatch_model::{Census, ClockId, Failure, GatewayCounters, Stage};

const S: Ns = 1_000_000_000;

/// Of these times of communication, `of` messages published.
pub(crate) fn trial(arm: usize, block: u32, mut times: Vec<Ns>, of: u64) -> TrialFigures {
    times.sort_unstable();
    let delivered = u64::try_from(times.len()).unwrap();
    let all = Times { n_eff: times.len(), sorted: times };
    let counts = TrialCounts {
        published: of,
        reached: of,
        delivered,
        within: delivered,
        ..TrialCounts::default()
    };
    TrialFigures {
        arm,
        block,
        name: format!("{block:02}-{arm}"),
        counts,
        communication: all.clone(),
        from_publication: None,
        total: all.clone(),
        transport: all.clone(),
        mended: all,
        ros: Times::default(),
        told: true,
        queue_p99_ns: 0,
        unstable: None,
        artefacts: vec![],
    }
}

/// A minute at 1 Hz; numbers from 1, of which `lost` never came.
fn data(lost: &[u64]) -> Dataset {
    let number = |n: &u64| i64::try_from(*n).unwrap();
    let traces: Vec<Trace> = (1..=60u64)
        .filter(|n| !lost.contains(n))
        .map(|n| delivered(number(&n) * S, n, 1_000_000))
        .collect();
    let census = Census {
        robot_id: "robot_001".into(),
        instance: "i".into(),
        clock: ClockId::new(GATEWAY),
        schedule_start_ns: S - 5_000,
        rate_hz: 1.0,
        first_sequence: 0,
        published: 60,
        failed: 0,
        last: true,
    };
    let info = LaneInfo {
        name: "lane".into(),
        topic: "/t".into(),
        qos: "BEST_EFFORT VOLATILE KEEP_LAST 1".into(),
        transport: "http1".into(),
        workers: 64,
        clock: GATEWAY.into(),
    };
    let taken = u64::try_from(traces.len()).unwrap();
    Dataset {
        lanes: BTreeMap::from([("lane".to_owned(), info)]),
        traces,
        census: vec![("lane".into(), census)],
        counters: vec![GatewayCounters {
            gateway: "g".into(),
            lane: "lane".into(),
            taken,
            finished: taken,
            missed: u64::try_from(lost.len()).unwrap(),
            last: true,
            ..GatewayCounters::default()
        }],
        ..Dataset::default()
    }
}

fn of(data: &Dataset, loss: f64) -> Result<TrialFigures, TrialError> {
    // A warm-up of 9.5 s: the messages 1 to 10.
    let mut plan = plan(vec![arm("best-effort", "http1", loss)], 1);
    plan.warm_up_ns = 9_500_000_000;
    TrialFigures::of(0, 0, "00-a", data, "lane", &plan)
}

#[test]
fn the_warm_up_is_left_out_and_counted() {
    let found = of(&data(&[]), 0.0).unwrap();
    assert_eq!((found.counts.published, found.counts.delivered), (50, 50));
    assert_eq!((found.counts.reached, found.counts.within), (50, 50));
    assert_eq!(found.counts.dropped, Dropped { warm_up: 10, ..Dropped::default() });
    assert_eq!(found.communication.sorted, vec![8_000; 50]);
    assert_eq!(found.total.sorted, vec![1_008_000; 50]);
    // From publication there are 3 µs more.
    assert_eq!(found.from_publication.unwrap().sorted, vec![11_000; 50]);
    assert_eq!(found.transport.sorted, vec![4_000; 50]);
    assert_eq!(found.ros.sorted, vec![1_000; 50]);
    assert!(found.told && found.unstable.is_none());
}

/// METHOD 10: lost ones are in the denominator, and in the quantiles; those of the warm-up aren't.
#[test]
fn lost_messages_take_forever() {
    let found = of(&data(&[4, 20, 21]), 0.0).unwrap();
    assert_eq!((found.counts.published, found.counts.delivered), (50, 48));
    assert_eq!((found.counts.lost_in_ros, found.counts.dropped.warm_up), (2, 10));
    let over = found.communication.over(found.counts.published);
    assert_eq!(over.quantile(990), Some(f64::INFINITY));
    assert_eq!(over.quantile(500), Some(8_000.0));
    assert_eq!(found.counts.reached, 50);
    // What the injected loss took away can't be the link's doing.
    let injected = of(&data(&[4, 20, 21]), 0.01).unwrap();
    assert_eq!((injected.counts.published, injected.counts.reached), (50, 48));
    // Loss on other legs takes nothing away before the gateway.
    let mut plan = plan(vec![arm("best-effort", "http1", 0.01)], 1);
    (plan.warm_up_ns, plan.loss_legs) = (9_500_000_000, vec!["ai".into(), "web".into()]);
    let other = TrialFigures::of(0, 0, "a", &data(&[4, 20, 21]), "lane", &plan).unwrap();
    assert_eq!((other.counts.published, other.counts.reached), (50, 50));
}

/// A message that was sent again and came behind the warm-up was published in it.
#[test]
fn what_comes_late_belongs_to_when_it_was_published() {
    let mut data = data(&[]);
    let moved = data.traces.iter_mut().find(|t| t.publication_sequence == Some(5)).unwrap();
    let late = delivered(12 * S + 1, 5, 1_000_000);
    *moved = Trace { stamps: late.stamps, ..moved.clone() };
    let found = of(&data, 0.0).unwrap();
    assert_eq!((found.counts.published, found.counts.dropped.warm_up), (50, 10));
}

#[test]
fn failures_of_services_are_lost() {
    let mut data = data(&[]);
    data.traces[30].outcome = Outcome::ServiceFailed(Stage::Ai, Failure::TimedOut);
    let found = of(&data, 0.01).unwrap();
    assert_eq!((found.counts.delivered, found.counts.failed), (49, 1));
    assert_eq!((found.counts.published, found.counts.reached), (50, 50));
    let over = found.communication.over(found.counts.reached);
    assert_eq!(over.quantile(990), Some(f64::INFINITY));
}

#[test]
fn what_has_no_figures_is_named() {
    let plan = plan(vec![arm("best-effort", "http1", 0.0)], 1);
    let of = |arm, data: &Dataset, lane| {
        TrialFigures::of(arm, 0, "00-a", data, lane, &plan).unwrap_err().to_string()
    };
    let whole = data(&[]);
    assert!(of(0, &whole, "other").contains("no lane \"other\": it has lane"));
    assert!(of(1, &whole, "lane").contains("arm 1"));
    assert!(of(0, &Dataset::default(), "lane").contains("none"));
    let mut nothing = data(&[]);
    nothing.traces.truncate(1);
    nothing.census[0].1.published = 1;
    nothing.counters[0].taken = 1;
    nothing.counters[0].finished = 1;
    assert!(of(0, &nothing, "lane").contains("behind the warm-up"));
    let mut odd = data(&[]);
    odd.counters[0].taken = 70;
    assert!(of(0, &odd, "lane").contains("doesn't add up"));
    let mut gone = data(&[]);
    gone.gone = vec![("lane".into(), crate::Account::default())];
    assert!(of(0, &gone, "lane").contains("kept only some"));
}
