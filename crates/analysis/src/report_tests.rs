use super::*;
use crate::csv_text::{glass_csv, traces_csv};
use crate::lane::Row;
use crate::lane::tests::{GATEWAY, delivered};
use crate::markdown::markdown;
use crate::table::table;
use hopwatch_model::{ClockId, Failure, Hop, Outcome, Stage, Stamp};

/// A minute of a healthy pipeline with one failure and one browser.
pub(crate) fn dataset() -> Dataset {
    const S: i64 = 1_000_000_000;
    let mut traces: Vec<Trace> = (1..=60u64)
        .map(|n| {
            let i = i64::try_from(n).unwrap();
            delivered(i * S, n, S + i * 37 % 61 * 10_000)
        })
        .collect();
    traces[9].outcome = Outcome::ServiceFailed(Stage::Ai, Failure::Failed);
    traces[9].detail = Some("the service answered 500: \"a | b\"".into());
    traces[3].message_id = "=cmd|' /C calc'!A0,\"x\"".into();
    let (server, browser) = (ClockId::new(GATEWAY), ClockId::browser("page"));
    let clients = traces
        .iter()
        .map(|trace| {
            let sent = trace.stamps.get(Hop::WebReceived).unwrap().ns + 20_000;
            ClientTrace {
                id: trace.id,
                client: "page".into(),
                frame_sent: Stamp::new(server.clone(), sent),
                received: Stamp::new(browser.clone(), sent - 5 * S + 200_000),
                painted: Some(Stamp::new(browser.clone(), sent - 5 * S + 9_200_000)),
                ack_sent: Stamp::new(browser.clone(), sent - 5 * S + 9_300_000),
                ack_received: Stamp::new(server.clone(), sent + 9_500_000),
                resolution_ns: 5_000,
            }
        })
        .collect();
    let census = Census {
        robot_id: "robot_001".into(),
        instance: "i".into(),
        clock: server,
        schedule_start_ns: S - 5_000,
        rate_hz: 1.0,
        first_sequence: 0,
        published: 60,
        failed: 0,
        last: true,
    };
    let info = LaneInfo {
        name: "lane".into(),
        topic: "/robot_messages".into(),
        qos: "BEST_EFFORT VOLATILE KEEP_LAST 1".into(),
        transport: "http1".into(),
        workers: 64,
        clock: GATEWAY.into(),
    };
    Dataset {
        lanes: BTreeMap::from([("lane".to_owned(), info)]),
        traces,
        clients,
        census: vec![("lane".into(), census)],
        counters: vec![GatewayCounters {
            gateway: "g".into(),
            lane: "lane".into(),
            taken: 60,
            finished: 60,
            last: true,
            ..GatewayCounters::default()
        }],
        gone: vec![],
        broadcasters: vec![],
        peers: vec![],
        probes: vec![],
        pages: vec![],
        events: vec![Event { kind: "a".into(), text: "an event".into() }],
        around: None,
        goes_on: false,
    }
}

fn make(data: &Dataset) -> Report {
    let run = RunInfo {
        id: "r".into(),
        started: "2026-11-30T00:00:00Z".into(),
        duration_s: 60.0,
        command: vec!["run".into(), "--for".into(), "60s".into()],
        ..RunInfo::default()
    };
    let environment = BTreeMap::from([("cores".to_owned(), "2".to_owned())]);
    report(data, run, environment, &Budget::default())
}

#[test]
fn texts_are_as_reviewed() {
    let report = make(&dataset());
    insta::assert_snapshot!("table", table(&report));
    insta::assert_snapshot!("markdown", markdown(&report));
    insta::assert_snapshot!("json", serde_json::to_string_pretty(&report).unwrap());
    let data = dataset();
    let csv = traces_csv(&data).unwrap();
    insta::assert_snapshot!("csv", csv.lines().take(5).collect::<Vec<_>>().join("\n"));
    let glass = glass_csv(&data).unwrap();
    insta::assert_snapshot!("glass", glass.lines().take(3).collect::<Vec<_>>().join("\n"));
}

#[test]
fn the_table_fits_100_columns() {
    for line in table(&make(&dataset())).lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

/// METHOD's invariant: same records → byte-identical report, shuffled too.
#[test]
fn order_makes_no_difference() {
    let straight = make(&dataset());
    let mut data = dataset();
    data.traces.reverse();
    data.traces.swap(3, 40);
    data.clients.rotate_left(17);
    data.counters.insert(
        0,
        GatewayCounters { gateway: "g".into(), lane: "lane".into(), ..GatewayCounters::default() },
    );
    let shuffled = make(&data);
    assert_eq!(
        serde_json::to_string(&straight).unwrap(),
        serde_json::to_string(&shuffled).unwrap()
    );
    assert_eq!(markdown(&straight), markdown(&shuffled));
}

#[test]
fn exit_codes_are_the_contract() {
    // One of 60 failed: a P99 of 60 is the slowest, and that one took forever.
    let lost_one = make(&dataset());
    assert_eq!(lost_one.exit_code(), 1);
    let mut good = dataset();
    good.traces[9].outcome = Outcome::Delivered;
    assert_eq!(make(&good).exit_code(), 0);
    let mut slow = dataset();
    slow.traces = (1..=60u64)
        .map(|n| delivered(i64::try_from(n).unwrap() * 1_000_000_000, n, 2_500_000_000))
        .collect();
    assert_eq!(make(&slow).exit_code(), 1);
    slow.lanes.get_mut("lane").unwrap().workers = 1;
    let unstable = make(&slow);
    assert_eq!(unstable.exit_code(), 3);
    assert_eq!(unstable.lanes[0].classes[&Row::Total].p99_ns, None);
    let mut nothing = dataset();
    nothing.traces.clear();
    assert_eq!(make(&nothing).exit_code(), 4);
}

/// A constant added to the AI host's clock changes no leg of one clock, and no class.
#[test]
fn a_foreign_clock_changes_no_class() {
    let before = make(&dataset());
    let mut data = dataset();
    let far = ClockId::new("far");
    for trace in &mut data.traces {
        for hop in [Hop::AiReceived, Hop::AiBegun, Hop::AiDone] {
            let ns = trace.stamps.get(hop).unwrap().ns;
            trace.stamps.set(hop, &far, ns + 1_684_000_000);
        }
    }
    let after = make(&data);
    assert_eq!(before.lanes[0].classes, after.lanes[0].classes);
    let (before, after) = (&before.lanes[0], &after.lanes[0]);
    // Request and reply in one need no agreement but on the rates (50 ppm of 1 s); the split is as
    // open as the clocks leave it.
    let [one, other] = [before, after].map(|lane| lane.spans["ai_transport"].clone());
    assert_eq!(one.summary, other.summary);
    assert!(one.width.exact && !other.width.exact);
    assert!((50_000..51_000).contains(&other.width.half_width_ns), "{:?}", other.width);
    let width = &after.class_widths[&Row::Communication];
    assert!(!width.exact && after.class_widths[&Row::Total].exact, "{width:?}");
    let width = &after.legs[&hopwatch_model::Leg::AiRequest].width;
    let (lo, hi) = width.p50_within_ns.unwrap();
    let truth = before.legs[&hopwatch_model::Leg::AiRequest].summary.p50_ns.unwrap();
    assert!(!width.exact && lo <= truth && truth <= hi, "{lo} {truth} {hi}");
}

/// Messages that are no longer kept stay in the ledger, and are in no figure.
#[test]
fn what_is_gone_is_still_accounted_for() {
    let whole = make(&dataset());
    let mut data = dataset();
    let mut gone = LedgerBuilder::new();
    for trace in data.traces.drain(..20) {
        assert!(gone.observe_trace(&trace));
    }
    data.gone = vec![("lane".into(), gone.account())];
    let rest = make(&data);
    assert_eq!(rest.lanes[0].ledger, whole.lanes[0].ledger);
    assert_eq!(rest.lanes[0].classes[&Row::Total].n, 40);
}

/// Figures of the glass are of some pages only: the report says so.
#[test]
fn acknowledgements_that_are_in_no_record_are_told_of() {
    let mut data = dataset();
    let page = |unrecorded| ClientCounters {
        client: format!("c{unrecorded}"),
        offered: 9,
        frames_sent: 9,
        acked: 9,
        unrecorded,
        ..ClientCounters::default()
    };
    data.pages = vec![page(0)];
    assert!(!table(&make(&data)).contains("not recorded"));
    data.pages = vec![page(0), page(5), page(7)];
    let text = table(&make(&data));
    assert!(text.contains("pages: 12 acknowledgements were counted and not recorded"), "{text}");
}

/// The latest counts of each page stand, in any order, and a page that lost something is named.
#[test]
fn a_page_that_lost_something_is_named() {
    let page = |client: &str, offered, frames_dropped, connected| ClientCounters {
        client: client.into(),
        offered,
        frames_sent: offered - frames_dropped,
        frames_dropped,
        acked: offered - frames_dropped,
        connected,
        ..ClientCounters::default()
    };
    let mut data = dataset();
    data.pages = vec![
        page("slow", 60, 12, 0),
        page("slow", 60, 12, 1),
        page("slow", 9, 0, 1),
        page("well", 60, 0, 0),
    ];
    for _ in 0..2 {
        let report = make(&data);
        assert_eq!(report.clients, [page("slow", 60, 12, 0), page("well", 60, 0, 0)]);
        let text = table(&report);
        assert!(
            text.contains("page slow: 60 offered = 48 sent + 12 dropped + 0 not sent"),
            "{text}"
        );
        assert!(!text.contains("page well"), "{text}");
        assert!(markdown(&report).contains("## Pages"));
        data.pages.reverse();
    }
}

/// Of a part of a run the census tells the schedule, and not how many were published.
#[test]
fn a_part_of_a_run_keeps_the_schedule() {
    let mut data = dataset();
    let mut others = LedgerBuilder::new();
    let others_of = |n: usize| !(20..40).contains(&n);
    for (n, trace) in data.traces.iter().enumerate() {
        assert!(!others_of(n) || others.observe_trace(trace));
    }
    data.traces = data.traces.drain(20..40).collect();
    data.around = Some(vec![("lane".into(), others.account())]);
    data.counters[0] = GatewayCounters { taken: 20, finished: 20, ..data.counters[0].clone() };
    let report = make(&data);
    let lane = &report.lanes[0];
    assert_eq!((lane.ledger.published, lane.ledger.delivered), (20, 20));
    assert_eq!((lane.ledger.lost_before_discovery, lane.ledger.lost_in_ros), (0, 0));
    assert!(lane.ledger.reconciles, "{:?}", lane.ledger);
    assert_eq!(lane.spans["intended"].summary.n, 20);
    assert_eq!(lane.classes[&Row::Total].n, 20);
}

#[test]
fn what_is_on_its_way_is_not_lost_while_the_run_goes_on() {
    let mut data = dataset();
    data.census[0].1.published = 63;
    data.census[0].1.last = false;
    data.counters[0].last = false;
    data.counters[0].taken = 62;
    data.counters[0].working = 2;
    let ended = make(&data).lanes.swap_remove(0).ledger;
    assert!(ended.in_flight == 0 && ended.outcome_unknown > 0, "{ended:?}");
    data.goes_on = true;
    let now = make(&data).lanes.swap_remove(0).ledger;
    assert_eq!((now.in_flight, now.outcome_unknown, now.lost_in_ros), (3, 0, 0));
    assert!(now.reconciles, "{now:?}");
}
