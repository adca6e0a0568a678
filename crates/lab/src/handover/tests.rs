//! The study on made-up worlds whose truth is known.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::copies::{CopyFigures, Due};
use super::route::{Evidence, Route};
use super::*;
use crate::{Block, Housekeeping, Language, Mark};

const MS: i64 = 1_000_000;
const BYTES: u64 = 1_000_000;

fn mapped(name: &str, file: &str) -> Mapped {
    Mapped { name: name.to_owned(), file: file.to_owned() }
}

fn buffer(number: u64, file: &str, at: u64) -> Buffer {
    Buffer { number, file: file.to_owned(), at }
}

/// A run of ten messages that each of its consumers had after so many ms.
fn run(round: u32, condition: Condition, latency_ms: f64) -> Run {
    #[expect(clippy::cast_possible_truncation, reason = "small")]
    let ns = (latency_ms * 1e6) as i64;
    let took = Took {
        latency_ns: vec![ns; 10],
        read_ns: vec![ns + MS; 10],
        cpu_ns: 10 * MS,
        maps: vec![mapped("fastrtps_a", "1 1"), mapped("fastrtps_port7000", "1 9")],
        ..Took::default()
    };
    Run {
        round,
        condition,
        gave: Gave {
            sent: 10,
            handed_ns: vec![MS; 10],
            cpu_ns: 20 * MS,
            maps: vec![mapped("fastrtps_a", "1 1"), mapped("fastrtps_port7000", "1 9")],
            ..Gave::default()
        },
        took: vec![took; condition.consumers as usize],
        watcher: None,
    }
}

fn raw(conditions: &[Condition], runs: Vec<Run>) -> Raw<Plan, Run> {
    let housekeeping =
        |orphans| Housekeeping { run: "one".to_owned(), segments: 4, orphans, killed: 0 };
    Raw {
        schema: crate::SCHEMA.to_owned(),
        study: Handover::NAME.to_owned(),
        began: "2026-12-01T00:00:00Z".to_owned(),
        seed: 7,
        complete: true,
        environment: [("cores".to_owned(), "2".to_owned())].into(),
        plan: Plan {
            conditions: conditions.to_vec(),
            rounds: 4,
            bytes: BYTES,
            messages: 10,
            warm_up: 25,
            rate_hz: 30.0,
            slow_ms: 20,
            apart: true,
            of_run: None,
        },
        skipped: vec![],
        runs,
        housekeeping: vec![housekeeping(2), housekeeping(3)],
    }
}

fn route(run: &Run) -> Route {
    Evidence::of(run, BYTES).route
}

#[test]
fn the_way_is_told_from_evidence_and_not_from_what_was_asked() {
    let shared = run(1, Condition::new(Way::SharedMemory, 1), 5.0);
    assert_eq!(route(&shared), Route::SharedMemory);
    // Loopback carried all of it, some of it again: shared memory is there, and isn't used.
    let mut udp = shared.clone();
    udp.gave.loopback_bytes = 2 * 10 * BYTES;
    assert_eq!(route(&udp), Route::Loopback);
    // Half of it: neither is claimed.
    udp.gave.loopback_bytes = 5 * BYTES;
    assert_eq!(route(&udp), Route::Unclear);
    // A file of the same name that isn't the same file: /dev/shm of another container.
    let mut other = shared.clone();
    other.took[0].maps = vec![mapped("fastrtps_a", "2 1"), mapped("fastrtps_port7000", "1 9")];
    assert_eq!(route(&other), Route::Unclear);
    // Data sharing comes with a segment for the rest.
    let mut data = shared.clone();
    for maps in [&mut data.gave.maps, &mut data.took[0].maps] {
        maps.push(mapped("fast_datasharing_b", "1 2"));
    }
    assert_eq!(route(&data), Route::DataSharing);
    // Four consumers, of which one has no part in it.
    let mut four = run(1, Condition::new(Way::SharedMemory, 4), 5.0);
    assert_eq!(route(&four), Route::SharedMemory);
    four.took[3].maps.clear();
    assert_eq!(route(&four), Route::Unclear);
    let mut ice = run(1, Condition::new(Way::Iceoryx2, 1), 0.1);
    for maps in [&mut ice.gave.maps, &mut ice.took[0].maps] {
        *maps = vec![mapped("iox2_x.data", "1 5")];
    }
    assert_eq!(route(&ice), Route::Iceoryx2);
    // Inside a process nothing is left but the process, unless there is shared memory beside.
    let mut inside = run(1, Condition::new(Way::OneProcess, 1), 1.0);
    assert_eq!(route(&inside), Route::Unclear);
    inside.gave.maps.clear();
    assert_eq!(route(&inside), Route::Process);
    assert_eq!(route(&run(1, Condition::new(Way::Moved, 1), 0.1)), Route::Process);
    // Nothing was sent.
    inside.gave.sent = 0;
    assert_eq!(route(&inside), Route::Unclear);
}

fn addressed(way: Way, consumers: u32, decoys: bool) -> Condition {
    Condition { look: Look::Addresses { decoys }, ..Condition::new(way, consumers) }
}

fn copies(condition: Condition, given: &[Buffer], taken: &[Vec<Buffer>]) -> CopyFigures {
    let mut one = run(1, condition, 1.0);
    one.gave.buffers = given.to_vec();
    for (took, buffers) in one.took.iter_mut().zip(taken) {
        took.buffers.clone_from(buffers);
    }
    CopyFigures::of(condition, &[&one]).unwrap()
}

#[test]
fn copies_are_buffers_that_are_not_the_producers() {
    // N owners: one has the producer's own, the others a copy each.
    let moved = addressed(Way::Moved, 3, true);
    let given = [buffer(5, "", 100)];
    let taken = |all: [u64; 3]| all.map(|at| vec![buffer(5, "", at)]);
    let of = copies(moved, &given, &taken([200, 300, 100]));
    assert_eq!((of.copies, of.due, of.by_rule), (Some((2, 2)), Due::Exactly(2), Some(true)));
    assert_eq!((of.messages, of.matching), (1, 1));
    // One copy more than is due.
    let of = copies(moved, &given, &taken([200, 300, 400]));
    assert_eq!((of.copies, of.by_rule), (Some((3, 3)), Some(false)));
    // Read together.
    let of = copies(addressed(Way::Shared, 3, true), &given, &taken([100, 100, 100]));
    assert_eq!((of.copies, of.by_rule), (Some((0, 0)), Some(true)));
    let of = copies(addressed(Way::CopiedOnce, 3, true), &given, &taken([7, 7, 7]));
    assert_eq!((of.copies, of.by_rule), (Some((1, 1)), Some(true)));
    // A message that one of them never got says nothing.
    let mut some = taken([100, 100, 100]);
    some[1].clear();
    let of = copies(moved, &given, &some);
    assert_eq!((of.messages, of.copies, of.by_rule), (0, None, None));
}

#[test]
fn an_address_says_something_within_its_process_only() {
    // The same address in another process is another buffer.
    let between = addressed(Way::SharedMemory, 1, true);
    let of = copies(between, &[buffer(1, "", 100)], &[vec![buffer(1, "", 100)]]);
    assert_eq!((of.copies, of.matching, of.by_rule), (Some((1, 1)), 0, Some(true)));
    // The same place in the same file is the same one, wherever it is mapped.
    let lent = addressed(Way::LoanDataSharing, 2, true);
    let place = |at| vec![buffer(1, "1 77", at)];
    let of = copies(lent, &place(64), &[place(64), place(64)]);
    assert_eq!((of.copies, of.by_rule), (Some((0, 0)), Some(true)));
    let of = copies(lent, &place(64), &[place(64), place(128)]);
    assert_eq!((of.copies, of.by_rule), (Some((1, 1)), Some(false)));
}

#[test]
fn a_freed_block_that_comes_back_is_no_proof() {
    let without = addressed(Way::OneProcess, 1, false);
    let of = copies(without, &[buffer(1, "", 100)], &[vec![buffer(1, "", 100)]]);
    assert_eq!((of.copies, of.matching, of.by_rule), (Some((0, 0)), 1, None));
    // It is told, and doesn't count as a broken rule.
    let mut one = run(1, without, 1.0);
    one.gave.buffers = vec![buffer(1, "", 100)];
    one.took[0].buffers = vec![buffer(1, "", 100)];
    let first = raw(&[without], vec![one.clone()]);
    let figures = Figures::of(&first);
    assert!(figures.wrong.is_empty());
    let text = Handover::report(&first).document.markdown();
    assert!(text.contains("1 of 1 messages have the producer's address"), "{text}");
    // With decoys, the same would be one.
    let with = addressed(Way::OneProcess, 1, true);
    one.condition = with;
    let second = raw(&[with], vec![one]);
    assert_eq!(Figures::of(&second).wrong.len(), 1);
    assert!(!Handover::report(&second).decided);
}

#[test]
fn what_never_came_is_later_than_all_that_did() {
    let usual = Condition::new(Way::SharedMemory, 1);
    let mut one = run(1, usual, 5.0);
    one.took[0].latency_ns = (1..=7).map(|ms| ms * MS).collect();
    let figures = &Figures::of(&raw(&[usual], vec![one])).conditions[0];
    // Seven of ten: the fifth and the sixth came.
    assert_eq!((figures.due, figures.received), (10, 7));
    let p50 = figures.p50_ns.unwrap().middle;
    assert!((5e6..=6e6).contains(&p50), "{p50}");
    assert!(figures.p99_ns.unwrap().middle.is_infinite());
    let text = Handover::report(&raw(&[usual], vec![])).document.markdown();
    assert!(text.contains("in each of 0 rounds"), "{text}");
}

#[test]
fn a_difference_is_said_with_its_interval_and_takes_four_runs() {
    let (moved, usual) = (Condition::new(Way::Shared, 1), Condition::new(Way::SharedMemory, 1));
    let runs = |rounds: u32| {
        (1..=rounds)
            .flat_map(|round| {
                let more = f64::from(round) / 100.0;
                [run(round, moved, 0.05 + more / 100.0), run(round, usual, 5.0 + more)]
            })
            .collect::<Vec<_>>()
    };
    let figures = Figures::of(&raw(&[moved, usual], runs(4)));
    let [one] = figures.contrasts.as_slice() else { panic!("{:?}", figures.contrasts) };
    assert_eq!((one.of.as_str(), one.against.as_str()), ("shared (Arc)", "DDS, shared memory"));
    let latency = one.latency.unwrap();
    assert!(latency.at_least.unwrap() > 0.009 && latency.at_most.unwrap() < 0.011, "{latency:?}");
    // 20 ms of the producer and 10 ms of the consumer, over ten messages.
    let cpu = figures.conditions[0].cpu_ns.unwrap();
    assert!((cpu.middle - 3e6).abs() < 1.0, "{cpu:?}");
    assert!(figures.decided, "{:?}", figures.wrong);
    let text = Handover::report(&raw(&[moved, usual], runs(4))).document.markdown();
    assert!(text.contains("takes 4.97"), "{text}");
    // Three runs show nothing.
    let few = Figures::of(&raw(&[moved, usual], runs(3)));
    assert_eq!(few.contrasts[0].latency.unwrap().at_least, None);
    assert!(!few.decided);
    let text = Handover::report(&raw(&[moved, usual], runs(3))).document.markdown();
    assert!(text.contains("too few runs"), "{text}");
    // Beside a run of theirs.
    let mut beside = raw(&[moved, usual], runs(4));
    beside.plan.of_run = Some(OfRun {
        folder: "out/minute".to_owned(),
        lanes: vec![crate::LaneOfRun {
            name: "all".to_owned(),
            topic: "/t".to_owned(),
            rate_hz: None,
            total_p50_ns: None,
            total_p99_ns: None,
            published_p50_ns: Some(30 * MS),
            legs_p50_ns: [("ros".to_owned(), 4 * MS)].into(),
        }],
    });
    let text = Handover::report(&beside).document.markdown();
    assert!(text.contains("medians of out/minute") && text.contains("4.000 ms"), "{text}");
}

#[test]
fn what_queues_up_has_no_percentile_and_is_compared_with_nothing() {
    let (usual, shared) = (Condition::new(Way::SharedMemory, 1), Condition::new(Way::Shared, 1));
    let mut runs: Vec<Run> =
        (1..=4).flat_map(|round| [run(round, usual, 5.0), run(round, shared, 0.1)]).collect();
    // 61 ms of a message's 67, which two processors have for it at 30 a second.
    for run in runs.iter_mut().filter(|run| run.condition == usual) {
        run.gave.cpu_ns = 600 * MS;
    }
    let raw = raw(&[usual, shared], runs);
    let figures = Figures::of(&raw);
    assert!(figures.conditions[0].unstable && !figures.conditions[1].unstable);
    assert!(figures.contrasts.is_empty() && !figures.decided, "{:?}", figures.contrasts);
    let text = Handover::report(&raw).document.markdown();
    assert!(text.contains("UNSTABLE: it takes 92 % of all processors"), "{text}");
}

#[test]
fn another_way_than_the_name_says_is_compared_with_nothing() {
    let (usual, udp) = (Condition::new(Way::SharedMemory, 1), Condition::new(Way::Loopback, 1));
    let mut runs: Vec<Run> =
        (1..=4).flat_map(|round| [run(round, usual, 5.0), run(round, udp, 6.0)]).collect();
    // Both by shared memory: UDP was overruled.
    let figures = Figures::of(&raw(&[usual, udp], runs.clone()));
    assert!(figures.contrasts.is_empty());
    for run in runs.iter_mut().filter(|run| run.condition == udp) {
        run.gave.loopback_bytes = 3 * 10 * BYTES;
    }
    let figures = Figures::of(&raw(&[usual, udp], runs));
    assert_eq!(figures.contrasts.len(), 1);
}

#[test]
fn two_modes_are_told() {
    let usual = Condition::new(Way::SharedMemory, 1);
    let runs: Vec<Run> = (1..=4)
        .map(|round| {
            let mut one = run(round, usual, 1.2);
            for (at, ns) in one.took[0].latency_ns.iter_mut().enumerate() {
                let more = if at % 2 == 0 { 0 } else { 2600 };
                *ns += (more + i64::try_from(at).unwrap()) * 1000;
            }
            one
        })
        .collect();
    let text = Handover::report(&raw(&[usual], runs)).document.markdown();
    assert!(text.contains("two modes: 20 messages near 1.2"), "{text}");
}

#[test]
fn a_control_that_differs_from_itself_is_told() {
    let usual = Condition::new(Way::SharedMemory, 1);
    let again = Condition { control: true, ..usual };
    let runs = |factor: f64| {
        let both = |round| [run(round, usual, 5.0), run(round, again, 5.0 * factor)];
        (1..=4).flat_map(both).collect::<Vec<_>>()
    };
    let told = |factor| {
        let document = Handover::report(&raw(&[usual, again], runs(factor))).document;
        let blocks = document.sections.into_iter().flat_map(|section| section.blocks);
        let of = |block| match block {
            Block::Claim(mark, text) if text.starts_with("control: ") => Some((mark, text)),
            _ => None,
        };
        blocks.filter_map(of).collect::<Vec<_>>()
    };
    let [(mark, text)] = &told(1.0)[..] else { panic!("{:?}", told(1.0)) };
    assert!(*mark == Mark::Shown && text.contains("once more costs 1.00 times"), "{text}");
    let [(mark, text)] = &told(1.5)[..] else { panic!("{:?}", told(1.5)) };
    assert!(*mark == Mark::Beware && text.contains("where 1 is true"), "{text}");
}

#[test]
fn a_silent_fall_back_is_named() {
    let loan = Condition::new(Way::Loan, 1);
    let mut one = run(1, loan, 5.0);
    one.gave.lends = Some(true);
    one.took[0].lends = Some(false);
    let report = Handover::report(&raw(&[loan], vec![one]));
    let blocks = report.document.sections.iter().flat_map(|section| &section.blocks);
    let claims: Vec<&String> = blocks
        .filter_map(|block| match block {
            Block::Claim(Mark::Shown, text) => Some(text),
            _ => None,
        })
        .collect();
    let named = claims.iter().any(|text| {
        text.contains("data sharing was asked for, and shared memory was taken")
            && text.contains("ROS_DISABLE_LOANED_MESSAGES=0")
    });
    assert!(named, "{claims:?}");
}

#[test]
fn bursts_and_broken_messages_are_counted() {
    let burst = |depth| Condition { look: Look::Burst { depth }, ..Condition::new(Way::Moved, 1) };
    let (short, long) = (burst(5), burst(35));
    let mut lossy = run(1, short, 1.0);
    lossy.took[0].latency_ns.truncate(6);
    let all = raw(&[short, long], vec![lossy, run(1, long, 1.0)]);
    let figures = Figures::of(&all);
    let of = |one: &BurstFigures| (one.depth, one.due, one.received);
    assert_eq!(of(&figures.bursts[0]), (5, 10, 6));
    assert_eq!(of(&figures.bursts[1]), (35, 10, 10));
    assert!(figures.decided && figures.wrong.is_empty());
    let mut broken = all.clone();
    broken.runs[1].took[0].wrong = 2;
    let figures = Figures::of(&broken);
    assert!(!figures.decided && figures.wrong[0].contains("2 messages did not hold"));
    let mut none = all.clone();
    none.runs.clear();
    assert!(!Figures::of(&none).decided);
}

#[test]
fn every_condition_has_a_name_of_its_own() {
    let mut names = std::collections::BTreeSet::new();
    let ways = [Way::Moved, Way::Shared, Way::Copied, Way::CopiedOnce, Way::OneProcess];
    for language in [Language::Rust, Language::Cpp] {
        for way in ways {
            for consumers in [1, 4] {
                for look in
                    [Look::Times, Look::Burst { depth: 5 }, Look::Addresses { decoys: true }]
                {
                    for kept in [false, true] {
                        let condition =
                            Condition { language, kept, look, ..Condition::new(way, consumers) };
                        assert!(names.insert(condition.name()), "{}", condition.name());
                    }
                }
            }
        }
    }
    assert_eq!(
        addressed(Way::Moved, 4, false).name(),
        "moved, 4 consumers, addresses without decoys"
    );
}
