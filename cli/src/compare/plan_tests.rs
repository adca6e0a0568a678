use super::*;
use crate::args::{Cli, Command};
use clap::Parser;

fn args(words: &str) -> Result<Compare, String> {
    let line = ["hopwatch", "compare"].into_iter().chain(words.split_whitespace());
    match Cli::try_parse_from(line).map_err(|error| error.to_string())?.command {
        Command::Compare(compare) => Ok(*compare),
        _ => panic!("another command"),
    }
}

fn plan(words: &str) -> Result<Plan, String> {
    Plan::of(&args(words)?, 99).map_err(|error| error.to_string())
}

fn file(name: &str, text: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("hopwatch-{name}-{}.toml", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn arms_are_all_combinations_with_the_baseline_first() {
    let plan = plan("--qos reliable,best-effort --link http1,udp --loss 0,1.5%").unwrap();
    let arms = plan.arms();
    let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "reliable-http1-loss0pct",
            "reliable-http1-loss1.5pct",
            "reliable-udp-loss0pct",
            "reliable-udp-loss1.5pct",
            "best-effort-http1-loss0pct",
            "best-effort-http1-loss1.5pct",
            "best-effort-udp-loss0pct",
            "best-effort-udp-loss1.5pct",
            "reliable-http1-loss0pct-control",
        ]
    );
    let control: Vec<bool> = arms.iter().map(|arm| arm.is_control).collect();
    assert_eq!(control.iter().filter(|is| **is).count(), 1);
    assert!(control[8], "the control is the last");
    assert_eq!((arms[8].qos.as_str(), arms[8].loss.to_bits()), ("reliable", 0));
    assert_eq!(plan.seed, 99);
}

#[test]
fn names_say_what_differs_and_nothing_else() {
    let names = |words: &str| -> Vec<String> {
        plan(words).unwrap().arms().into_iter().map(|arm| arm.name).collect()
    };
    assert_eq!(
        names("--loss 7% --no-control"),
        ["best-effort-http1", "reliable-http1"],
        "one level needs no name"
    );
    assert_eq!(
        names("--qos reliable --rate 1,0.5 --payload-bytes 0,1000 --no-control"),
        [
            "reliable-http1-1hz-0b",
            "reliable-http1-1hz-1000b",
            "reliable-http1-0.5hz-0b",
            "reliable-http1-0.5hz-1000b"
        ]
    );
}

#[test]
fn flags_overrule_the_file_and_the_file_the_defaults() {
    let text = "qos = [\"reliable\"]\nlink = [\"http1\", \"udp\"]\nloss = [0, \"1%\", 0.05]\n\
                rate = [10]\ntrials = 4\nfor = \"5s\"\nwarm_up = \"0s\"\nai_ms = 5\nseed = 7\n\
                control = false\n";
    let path = file("plan", text);
    let plan = plan(&format!("--plan {} --trials 9 --rate 20", path.display())).unwrap();
    std::fs::remove_file(path).unwrap();
    assert_eq!((plan.trials, &plan.rate_hz[..]), (9, &[20.0][..]));
    assert_eq!((&plan.qos[..], plan.seed), (&["reliable".to_owned()][..], 7));
    assert_eq!(plan.loss, [0.0, 0.01, 0.05]);
    assert_eq!((plan.for_ns, plan.warm_up_ns), (5_000_000_000, 0));
    assert!(!plan.control);
    assert_eq!((plan.margin_ns, plan.limit_ns), (10_000_000, 2_000_000_000));
}

#[test]
fn a_file_with_unknown_keys_or_values_is_refused() {
    for (text, said) in [
        ("qoss = [\"reliable\"]\n", "qoss"),
        ("qos = [\"sometimes\"]\n", "sometimes"),
        ("link = [\"http1\", \"pigeon\"]\n", "pigeon"),
        ("loss = [\"much\"]\n", "1% or 0.01"),
        ("for = \"soon\"\n", "for"),
        ("loss_legs = [\"radio\"]\n", "radio"),
        ("qos = \n", "qos"),
    ] {
        let path = file("bad-plan", text);
        let error = plan(&format!("--plan {}", path.display())).unwrap_err();
        assert!(error.contains(said), "{text}: {error}");
        std::fs::remove_file(path).unwrap();
    }
    let error = plan("--plan nowhere.toml").unwrap_err();
    assert!(error.contains("nowhere.toml"), "{error}");
}

#[test]
fn plans_that_make_no_sense_are_refused() {
    for (words, said) in [
        ("--qos reliable", "nothing to compare"),
        ("--link http1,http1", "twice"),
        ("--link pigeon", "pigeon"),
        ("--loss 0,2", "below 100%"),
        ("--rate 0,1", "above 0"),
        ("--rate nan", "above 0"),
        ("--payload-bytes 5000000,1", "4000000"),
        ("--trials 0", "1 or more"),
        ("--for 2s", "warm_up"),
        ("--margin-ms 0", "margin_ms"),
        ("--ai-ms=-1", "ai_ms"),
        ("--trials 400", "--yes"),
        ("--trials 100 --for 1h", "--yes"),
    ] {
        let error = plan(words).unwrap_err();
        assert!(error.contains(said), "{words}: {error}");
    }
    assert!(plan("--trials 400 --yes").is_ok());
}

#[test]
fn a_difference_is_named() {
    let (own, other) = (plan("--trials 4").unwrap(), plan("--trials 5").unwrap());
    assert_eq!(own.difference(&own), None);
    let named = Some(("trials".to_owned(), "4".to_owned(), "5".to_owned()));
    assert_eq!(own.difference(&other), named);
}

#[test]
fn a_plan_is_read_as_it_was_written() {
    let plan = plan("--loss 0,0.3% --rate 0.1,3 --in-flight 3 --serial").unwrap();
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
}

#[test]
fn trials_of_few_messages_are_warned_of() {
    let of = |rate: f64, robots: u32| {
        let args = Compare { rate: vec![50.0, rate], robots: Some(robots), ..Compare::default() };
        Plan::of(&args, 1).unwrap().few_messages()
    };
    // 18 s behind the warm-up.
    assert!(of(1.0, 1).unwrap().contains("at 1 Hz a trial counts about 18 messages"));
    assert_eq!((of(6.0, 1), of(1.0, 6)), (None, None));
}
