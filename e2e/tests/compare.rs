//! `hopwatch compare`: short experiments of real programs. What they decide is the analysis' to
//! test; here it is that every trial is a run of its own, in the order of the seed, once.
#![allow(clippy::unwrap_used, reason = "tests")]

use hopwatch_e2e::{Ended, Hosts, Running, World, wait_until};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A whole experiment: some trials of some seconds.
const EXPERIMENT: Duration = Duration::from_secs(120);

const QUICK: &str = "compare --for 3s --warm-up 500ms --ai-ms 5 --rate 20 --no-control --seed 7";

fn json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn experiment(folder: &Path) -> Value {
    json(&folder.join("experiment.json"))
}

/// The folders of trials that are done, in the order in which they were.
fn done(folder: &Path) -> Vec<String> {
    let trials = experiment(folder)["trials"].as_array().unwrap().clone();
    trials.iter().map(|trial| trial["folder"].as_str().unwrap().to_owned()).collect()
}

/// The same by the order that was drawn.
fn ordered(folder: &Path) -> Vec<String> {
    let order = experiment(folder)["order"].as_array().unwrap().clone();
    let of_block = |(block, arms): (usize, &Value)| {
        let named = |arm: &Value| format!("trials/{block:02}-{}", arm.as_str().unwrap());
        arms.as_array().unwrap().iter().map(named).collect::<Vec<_>>()
    };
    (1..).zip(&order).flat_map(of_block).collect()
}

/// A trial's run has its own id.
fn run_ids(folder: &Path) -> BTreeMap<String, String> {
    let id = |trial: String| {
        let report = json(&folder.join(&trial).join("report.json"));
        (trial, report["run"]["id"].as_str().unwrap().to_owned())
    };
    done(folder).into_iter().map(id).collect()
}

fn start(world: &World, words: &str, out: &Path) -> Running {
    world.bare(&format!("{words} --out {}", out.display())).out_of(out).start()
}

#[track_caller]
fn end(running: Running) -> Ended {
    running.end_within(EXPERIMENT)
}

/// Waits until so many trials are done and the next one has begun.
#[track_caller]
fn trials_done(folder: &Path, count: usize) {
    wait_until("trial after the ones that are done", || {
        let text = fs::read_to_string(folder.join("experiment.json")).map_err(|e| e.to_string())?;
        let known: Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
        let done = known["trials"].as_array().map_or(0, Vec::len);
        let begun: Vec<PathBuf> = fs::read_dir(folder.join("trials"))
            .map_err(|error| error.to_string())?
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.join("run.json").exists())
            .collect();
        if done == count && begun.len() == count + 1 { Ok(()) } else { Err(format!("{begun:?}")) }
    });
}

/// Ctrl-C, then SIGKILL, then the rest: trials that were done stay, the others are run anew.
#[test]
fn an_experiment_goes_on_where_it_stopped() {
    let world = World::new();
    let out = world.path("experiment");
    let words = format!("{QUICK} --trials 2");

    let running = start(&world, &words, &out);
    trials_done(&out, 1);
    running.interrupt();
    let stopped = running.end_within(Duration::from_secs(15));
    stopped.has_code(3).says(&["1 of 4 trials are done", "goes on", out.to_str().unwrap()]);
    assert!(!out.join("report.json").exists(), "nothing is compared before the end");
    world.is_empty_now();
    let first = run_ids(&out);
    assert_eq!(first.len(), 1);
    // Nothing is compared before the end, when asked either.
    world.report(&out).end().has_code(3).says(&["1 of 4 trials are done"]);

    let running = start(&world, &words, &out);
    trials_done(&out, 2);
    running.pid().kill();
    drop(running.end());
    // Its trial notices that nobody waits for it any more.
    world.is_empty_within(Duration::from_secs(15));
    let second = run_ids(&out);
    assert_eq!(second.len(), 2);

    // Another plan is refused, with what differs.
    for (words, said) in [
        (format!("{QUICK} --trials 3"), "trials is 3, and was 2"),
        (format!("{QUICK} --trials 2 --rate 10"), "rate_hz"),
        (format!("{QUICK} --trials 2").replace("--seed 7", "--seed 8"), "seed is 8, and was 7"),
    ] {
        end(start(&world, &words, &out)).has_code(2).says(&[said, "another --out"]);
    }

    // Without a seed it is the stored one.
    let ended = end(start(&world, &words.replace("--seed 7", ""), &out));
    world.is_empty_now();
    ended.says(&["seed 7", "2 trials are done, 2 are left"]);
    assert_eq!(done(&out), ordered(&out));
    let last = run_ids(&out);
    for (trial, id) in first.iter().chain(&second) {
        assert_eq!(&last[trial], id, "{trial} was run again though it was done");
    }
    let different: BTreeSet<&String> = last.values().collect();
    assert_eq!(different.len(), 4, "each trial is a run of its own: {last:?}");

    // Two runs a side show nothing at 5 %.
    let comparison = ended.has_code(3).json();
    assert_eq!(comparison["schema"], "hopwatch.comparison/1");
    assert_eq!(comparison["verdict"]["decision"], "INCONCLUSIVE");
    assert_eq!(comparison["contrasts"].as_array().unwrap().len(), 1, "{comparison}");
    assert!(ended.stdout.contains("QoS effect: reliable instead of best-effort"));
    table_of_a_comparison_fits(&ended.stdout);
    for arm in comparison["arms"].as_array().unwrap() {
        assert_eq!(arm["runs"], 2, "{arm}");
    }

    // The same folder gives the same bytes.
    let files = ["report.json", "report.md", "report.html"];
    let before = files.map(|name| fs::read(out.join(name)).unwrap());
    let again = world.report(&out).end();
    again.has_code(3);
    assert_eq!(again.stdout, ended.stdout);
    assert_eq!(files.map(|name| fs::read(out.join(name)).unwrap()), before);

    // Trials that were measured elsewhere are not compared with others.
    let mut changed = experiment(&out);
    changed["fingerprint"]["cores"] = "1024".into();
    changed["trials"].as_array_mut().unwrap().pop();
    fs::write(out.join("experiment.json"), changed.to_string()).unwrap();
    let ended = end(start(&world, &words, &out));
    ended.has_code(2).says(&["cores was \"1024\" and is", "another --out"]);
    world.is_empty_now();
}

#[track_caller]
fn table_of_a_comparison_fits(table: &str) {
    for line in table.lines() {
        assert!(line.chars().count() <= 100, "{} columns: {line}", line.chars().count());
    }
}

/// Same plan in a file; and an arm that can't be run ends the experiment with its words.
#[test]
fn a_trial_that_fails_twice_ends_it_with_its_last_words() {
    let world = World::new();
    let out = world.path("experiment");
    let text = "link = [\"http1\", \"http1-fresh\"]\nqos = [\"reliable\"]\ntrials = 2\n\
                for = \"2s\"\nwarm_up = \"0s\"\nai_sigma = -1.0\nseed = 1\ncontrol = false\n";
    let plan = world.file("plan.toml", text);
    let words = format!("compare --plan {}", plan.display());
    let ended = end(start(&world, &words, &out));
    ended.has_code(2).says(&["trials/01-reliable-http1", "failed", "once more", "sigma"]);
    assert_eq!(done(&out), Vec::<String>::new());
    world.is_empty_now();
}

#[test]
fn plans_that_can_not_be_used_are_refused() {
    let world = World::new();
    let out = world.path("experiment");
    for (words, said) in [
        ("compare --qos reliable", &["nothing to compare"][..]),
        ("compare --link http1,pigeon", &["pigeon", "udp-retry"]),
        ("compare --trials 1000", &["3000 trials", "--yes"]),
        ("compare --for 1s", &["warm_up must be shorter"]),
        ("compare --plan nowhere.toml", &["nowhere.toml"]),
    ] {
        end(start(&world, words, &out)).has_code(2).says(said);
        assert!(!out.join("experiment.json").exists(), "{words}");
    }
    let plan = world.file("plan.toml", "qoss = [\"reliable\"]\n");
    let words = format!("compare --plan {}", plan.display());
    end(start(&world, &words, &out)).has_code(2).says(&["qoss", "plan.toml", "payload_bytes"]);
    // The folder of a run is none of an experiment.
    fs::create_dir_all(&out).unwrap();
    fs::write(out.join("run.json"), "{}").unwrap();
    end(start(&world, QUICK, &out)).has_code(2).says(&["folder of a run", "another --out"]);
    world.is_empty_now();
}

/// Loss is a level like another: every trial is in namespaces, and nothing else differs.
#[test]
fn loss_is_compared_where_it_can_be_had() {
    if Hosts::new().is_none() {
        return;
    }
    let world = World::new();
    let out = world.path("experiment");
    let words = "compare --for 3s --warm-up 0s --ai-ms 5 --rate 20 --no-control --seed 7 \
                 --qos reliable --loss 0,30% --loss-legs ros --trials 1";
    let ended = end(start(&world, words, &out));
    world.is_empty_now();
    ended.has_code(3);
    let dropped: BTreeMap<String, u64> = done(&out)
        .into_iter()
        .map(|trial| {
            let run = json(&out.join(&trial).join("run.json"));
            let legs = run["network"]["legs"].as_array().unwrap().clone();
            (trial, legs.iter().map(|leg| leg["dropped"].as_u64().unwrap()).sum())
        })
        .collect();
    assert_eq!(dropped["trials/01-reliable-http1-loss0pct"], 0, "{dropped:?}");
    assert!(dropped["trials/01-reliable-http1-loss30pct"] >= 10, "{dropped:?}");
}

/// As root without the programs that it takes, and without root: skipped, said, and not faked.
#[test]
fn loss_is_skipped_with_a_word_where_it_can_not_be_had() {
    let world = World::new();
    let out = world.path("experiment");
    let empty = world.path("nothing");
    fs::create_dir(&empty).unwrap();
    let words = "compare --for 2s --warm-up 0s --ai-ms 5 --rate 20 --no-control --seed 7 \
                 --loss 0,1% --trials 1";
    let mut start = world.bare(&format!("{words} --out {}", out.display())).out_of(&out);
    let ended = start.env("PATH", empty.to_str().unwrap()).start().end_within(EXPERIMENT);
    world.is_empty_now();
    ended
        .has_code(3)
        .says(&["skipped: reliable-http1-loss1pct", "skipped: best-effort-http1-loss1"]);
    let trials = done(&out);
    assert_eq!(trials.len(), 2);
    assert!(trials.iter().all(|trial| trial.ends_with("loss0pct")), "{trials:?}");
    let comparison = ended.json();
    assert!(comparison["notes"].to_string().contains("skipped: reliable-http1-loss1pct"));
    assert!(ended.markdown().contains("skipped: reliable-http1-loss1pct"));
    // With nothing left to compare, nothing is begun.
    let words = format!("compare --loss 1% --out {}", world.path("other").display());
    let ended = world.bare(&words).env("PATH", empty.to_str().unwrap()).start().end();
    ended.has_code(2).says(&["nothing to compare here"]);
}
