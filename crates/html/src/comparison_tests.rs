use super::*;
use crate::samples::{HOSTILE, MS, add_lane, sound};
use hopwatch_analysis::{
    Arm, DEFAULT_DELIVERY_MARGIN, Dataset, Decision, ExperimentPlan, TrialFigures, compare,
};
use hopwatch_model::{Hop, Ns, Outcome};

const LANE: &str = "lane";

fn arm(qos: &str, link: &str, loss: f64, is_control: bool) -> Arm {
    let twin = if is_control { "-control" } else { "" };
    Arm {
        name: format!("{qos}-{link}-{loss}{twin}"),
        qos: qos.into(),
        link: link.into(),
        loss,
        rate_hz: 20.0,
        payload_bytes: 300,
        is_control,
    }
}

fn plan(blocks: u32) -> ExperimentPlan {
    let mut arms = Vec::new();
    for (qos, loss) in [("best-effort", 0.0), ("best-effort", 0.02), ("reliable", 0.02)] {
        arms.extend(["http1", "udp"].map(|link| arm(qos, link, loss, false)));
    }
    arms.push(arm("best-effort", "http1", 0.0, true));
    let (margin_ns, limit_ns, warm_up_ns) = (10 * MS, 2_000 * MS, 500 * MS);
    let loss_legs = ["ros", "ai", "web"].map(str::to_owned).to_vec();
    let (delivery_margin, seed) = (DEFAULT_DELIVERY_MARGIN, 7);
    ExperimentPlan {
        arms,
        blocks,
        seed,
        margin_ns,
        limit_ns,
        delivery_margin,
        warm_up_ns,
        loss_legs,
    }
}

/// A trial of so many messages whose requests take `slower` longer, and of which each `lose`th is
/// lost in ROS.
fn trial(
    plan: &ExperimentPlan,
    (arm, block): (usize, u32),
    slower: Ns,
    lose: Option<i32>,
) -> TrialFigures {
    let mut data = Dataset::default();
    let n = 400 + u64::from(block) + u64::try_from(arm).unwrap();
    add_lane(&mut data, LANE, n, 50 * MS, 64);
    // Runs differ, whatever the arm.
    let noise = i64::from(block * 7 % 5) * MS / 2 + i64::try_from(arm * 3 % 4).unwrap() * MS / 3;
    for trace in &mut data.traces {
        let later: Vec<_> = trace.stamps.iter().map(|(hop, stamp)| (hop, stamp.clone())).collect();
        for (hop, stamp) in later.into_iter().filter(|(hop, _)| *hop >= Hop::AiReceived) {
            trace.stamps.set(hop, &stamp.clock, stamp.ns + slower + noise);
        }
    }
    if let Some(every) = lose {
        let before = data.traces.len();
        data.traces.retain(|trace| trace.sequence % every != 7);
        let lost = u64::try_from(before - data.traces.len()).unwrap();
        data.counters[0].taken -= lost;
        data.counters[0].finished -= lost;
        data.counters[0].missed = lost;
    }
    TrialFigures::of(arm, block, &format!("{block}-{arm}"), &data, LANE, plan).unwrap()
}

/// http1 is 30 ms slower than udp without loss, as fast with it.
fn trials(plan: &ExperimentPlan) -> Vec<TrialFigures> {
    let mut trials = Vec::new();
    for block in 0..plan.blocks {
        for (arm, slower, lose) in [
            (0, 30 * MS, None),
            (1, 0, None),
            (2, MS, Some(50)),
            (3, MS, Some(50)),
            (4, MS, None),
            (5, 2 * MS, None),
            (6, 30 * MS, None),
        ] {
            trials.push(trial(plan, (arm, block), slower, lose));
        }
    }
    trials
}

#[test]
fn the_page_is_as_reviewed() {
    let plan = plan(6);
    let trials = trials(&plan);
    let comparison = compare(&plan, &trials);
    let html = comparison_html(&comparison);
    let text = sound(&html);
    assert!(text.contains(comparison.verdict.decision.name()), "{text}");
    for contrast in &comparison.contrasts {
        // It may begin a sentence.
        assert!(text.contains(&contrast.said()[1..]), "{} in {text}", contrast.said());
    }
    for id in ["gains", "delivery-gains", "runs", "delivery"] {
        assert!(html.contains(&format!("id=\"{id}\"")), "no chart {id}");
    }
    let (head, body) = (html.find("<style>").unwrap(), html.find("</style>").unwrap());
    insta::assert_snapshot!("comparison", format!("{}{}", &html[..head], &html[body..]));
    // The order of the trials makes no difference.
    let mut other = trials;
    other.reverse();
    other.swap(3, 17);
    assert_eq!(comparison_html(&compare(&plan, &other)), html);
}

#[test]
fn what_is_open_is_shown_as_open() {
    let plan = plan(2);
    let comparison = compare(&plan, &trials(&plan));
    let html = comparison_html(&comparison);
    let text = sound(&html);
    assert_eq!(comparison.verdict.decision, Decision::Inconclusive);
    assert!(text.contains("Must HTTP be replaced? INCONCLUSIVE"), "{text}");
    assert!(html.contains("result is-warn") && text.contains("no bounds: too few runs"), "{text}");
}

/// No verdict where there is none: which QoS is right is a matter of use.
#[test]
fn qos_alone_is_no_verdict_on_http() {
    let mut plan = plan(6);
    let mut trials = trials(&plan);
    trials.retain(|trial| [2, 4].contains(&trial.arm));
    for trial in &mut trials {
        // Not below the margin, which would be the short cut.
        (trial.arm, trial.told) = (trial.arm / 2 - 1, false);
    }
    plan.arms = vec![plan.arms[2].clone(), plan.arms[4].clone()];
    let comparison = compare(&plan, &trials);
    assert_eq!(comparison.contrasts[0].runs, 6);
    let html = comparison_html(&comparison);
    let text = sound(&html);
    for word in ["SWITCH:", "KEEP:", ">SWITCH<", ">KEEP<"] {
        assert!(!html.contains(word), "{word}");
    }
    assert!(
        text.contains("What was compared: QoS effect") && !text.contains("Must HTTP"),
        "{text}"
    );
}

#[test]
fn an_experiment_of_nothing_gives_a_sound_page() {
    let empty = ExperimentPlan { arms: vec![], ..plan(0) };
    sound(&comparison_html(&compare(&empty, &[])));
    sound(&comparison_html(&compare(&plan(6), &[])));
}

#[test]
fn an_arm_that_loses_all_gives_a_sound_page() {
    let plan = plan(4);
    let mut trials = trials(&plan);
    for block in 0..4 {
        let mut data = Dataset::default();
        add_lane(&mut data, LANE, 100, 50 * MS, 64);
        for trace in &mut data.traces {
            trace.outcome = Outcome::Abandoned;
        }
        trials.retain(|trial| trial.arm != 1 || trial.block != block);
        trials.push(TrialFigures::of(1, block, "t", &data, LANE, &plan).unwrap());
    }
    let html = comparison_html(&compare(&plan, &trials));
    let text = sound(&html);
    assert!(text.contains("lost"), "{text}");
}

#[test]
fn names_from_outside_stay_texts() {
    let mut plan = plan(2);
    let trials = trials(&plan);
    for arm in &mut plan.arms {
        arm.name = format!("{HOSTILE}{}", arm.name);
        arm.link = format!("{HOSTILE}{}", arm.link);
    }
    let html = comparison_html(&compare(&plan, &trials));
    assert!(sound(&html).contains("<script>"));
    assert!(!html.contains("<script") && !html.contains("<img"));
}
