use super::*;
use crate::compare::args::Compare;

fn plan(loss: &[f64], trials: u32, seed: u64) -> Plan {
    let args = Compare { loss: loss.to_vec(), trials: Some(trials), ..Compare::default() };
    Plan::of(&args, seed).unwrap()
}

fn new(plan: Plan, no_loss: Option<&str>) -> Experiment {
    Experiment::new(plan, "2026-11-30T15:00:00Z".to_owned(), no_loss).unwrap()
}

fn done(block: u32, arm: &str) -> Done {
    let folder = format!("trials/{block:02}-{arm}");
    Done { block, arm: arm.to_owned(), folder, exit_code: 0, attempts: 1, took_ns: 1 }
}

#[test]
fn it_goes_on_with_what_is_not_done() {
    let mut experiment = new(plan(&[0.0], 4, 7), None);
    let turns = experiment.turns();
    assert_eq!(turns.len(), 12, "two arms and the control");
    assert_eq!(experiment.left(), turns);
    // Whatever the order is, the first two are done.
    let first: Vec<Done> = turns[..2].iter().map(|(b, arm)| done(*b, &arm.name)).collect();
    experiment.trials.extend(first);
    assert_eq!(experiment.left(), turns[2..]);
    let text = serde_json::to_string(&experiment).unwrap();
    let again: Experiment = serde_json::from_str(&text).unwrap();
    assert_eq!(again, experiment);
    assert_eq!(again.left(), turns[2..]);
}

#[test]
fn it_goes_on_with_its_own_plan_only() {
    let experiment = new(plan(&[0.0], 4, 7), None);
    let on = |plan: Plan, given: bool| {
        let goes_on = experiment.goes_on_with(plan, given, Path::new("out/x"), None);
        goes_on.map_err(|error| error.to_string())
    };
    assert_eq!(on(plan(&[0.0], 4, 7), true), Ok(()));
    assert_eq!(on(plan(&[0.0], 4, 8), false), Ok(()), "a seed that nobody gave is the stored one");
    for (other, key) in [(plan(&[0.0], 4, 8), "seed"), (plan(&[0.0], 5, 7), "trials")] {
        let error = on(other, true).unwrap_err();
        assert!(error.contains(key) && error.contains("out/x"), "{error}");
        assert!(error.contains("another --out"), "{error}");
    }
}

#[test]
fn where_nothing_can_be_lost_lossy_arms_are_skipped_and_said() {
    let with = new(plan(&[0.0, 0.01], 2, 7), None);
    assert!(with.namespaces, "arms without loss, too: nothing else is to tell them apart");
    assert_eq!((with.arms().len(), with.skipped.len()), (5, 0));
    let without = new(plan(&[0.0, 0.01], 2, 7), Some("no root"));
    assert!(!without.namespaces);
    let skipped: Vec<&str> = without.skipped.iter().map(|s| s.arm.as_str()).collect();
    assert_eq!(skipped, ["best-effort-http1-loss1pct", "reliable-http1-loss1pct"]);
    assert!(without.turns().iter().all(|(_, arm)| arm.loss <= 0.0));
    assert!(without.notes().iter().any(|note| note.contains("no root")), "{:?}", without.notes());
    // What was begun with loss doesn't go on without it.
    let error = with.goes_on_with(plan(&[0.0, 0.01], 2, 7), true, Path::new("x"), Some("no root"));
    assert!(error.unwrap_err().to_string().contains("no root"));
    // All of it with loss: nothing is left to compare.
    let nothing = Experiment::new(plan(&[0.01], 2, 7), String::new(), Some("no root"));
    assert!(nothing.unwrap_err().to_string().contains("no root"));
}

#[test]
fn trials_of_another_machine_are_refused() {
    let place = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    };
    let mut experiment = new(plan(&[0.0], 2, 7), None);
    let first = [("cores", "2"), ("load_before", "0.1 0.1 0.1"), ("ROS_DOMAIN_ID", "5")];
    experiment.same_place(place(&first)).unwrap();
    let busier = [("cores", "2"), ("load_before", "3 2 1"), ("ROS_DOMAIN_ID", "6")];
    experiment.same_place(place(&busier)).unwrap();
    for (other, said) in [
        (&[("cores", "4")][..], "cores was \"2\" and is \"4\""),
        (&[("cores", "2"), ("container", "docker")], "container was nothing and is \"docker\""),
        (&[], "cores was \"2\" and is nothing"),
    ] {
        let error = experiment.same_place(place(other)).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn an_order_that_somebody_changed_is_refused() {
    let folder = std::env::temp_dir().join(format!("hopwatch-order-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let mut experiment = new(plan(&[0.0], 4, 7), None);
    experiment.write(&folder).unwrap();
    assert_eq!(Experiment::read(&folder).unwrap(), Some(experiment.clone()));
    experiment.order.reverse();
    experiment.write(&folder).unwrap();
    let error = Experiment::read(&folder).unwrap_err().to_string();
    assert!(error.contains("order") && error.contains("experiment.json"), "{error}");
    std::fs::write(folder.join(NAME), "{\"schema\":\"hopwatch.experiment/2\"}").unwrap();
    let error = Experiment::read(&folder).unwrap_err().to_string();
    assert!(error.contains("hopwatch.experiment/1"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(Experiment::read(&folder).unwrap(), None);
}

#[test]
fn what_the_trials_were_is_noted() {
    let mut experiment = new(plan(&[0.0], 2, 7), None);
    assert!(experiment.notes().is_empty());
    experiment.trials.push(Done { exit_code: 3, ..done(1, "reliable-http1") });
    let failed = |arm: &str, stopped, delivered| Failed {
        block: 2,
        arm: arm.to_owned(),
        folder: Some(format!("trials/02-{arm}-failed-1")),
        why: "the gateway died".to_owned(),
        stopped,
        delivered,
    };
    let [one, other] = ["best-effort-http1", "reliable-http1"];
    // One that measured nothing, and one that somebody stopped, say nothing against their arm.
    experiment.failed = vec![failed(one, false, Some(0)), failed(one, true, Some(30))];
    let plan = experiment.comparison_plan();
    assert_eq!(experiment.selected(&plan), []);
    experiment.failed.extend([failed(other, false, Some(30)), failed(one, false, None)]);
    let text = serde_json::to_string(&experiment).unwrap();
    assert_eq!(serde_json::from_str::<Experiment>(&text).unwrap(), experiment);
    let selected: Vec<usize> = experiment.selected(&plan).iter().map(|f| f.arm).collect();
    assert_eq!(selected, [1, 0]);
    assert_eq!(experiment.failures(2, one), 3);
    let notes = experiment.notes().join("\n");
    assert!(notes.contains("trials/01-reliable-http1 had no steady state; it is kept"), "{notes}");
    for said in
        ["the gateway died (it had 30 messages", "kept in trials/02-reliable-http1-failed-1"]
    {
        assert!(notes.contains(said), "{notes}");
    }
}
