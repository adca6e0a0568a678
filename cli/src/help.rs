//! What stands behind the options in `--help`: examples, units, exit codes, where to read on.
//!
//! Each example is parsed by a test.

/// Of all commands.
pub(crate) const ALL: &str = "\
Examples:
  hopwatch up                                    the whole pipeline and its live page, until Ctrl-C
  hopwatch run --for 60s --rate 1 --ai-ms 1000   measure, report and judge
  hopwatch doctor --topic /robot_messages        why nothing comes, and what to do
  hopwatch help run                              everything on one command

Exit codes: 0 within budget, 1 budget missed, 2 usage or configuration, 3 inconclusive or unstable, \
4 pipeline failed

See also: README.md, docs/measurement.md, docs/glossary.md";

/// Of `up`.
pub(crate) const UP: &str = "\
Examples:
  hopwatch up                                           simulated robots, services and live page
  hopwatch up --no-sim --topic /robot_messages          watch robots that publish already
  hopwatch up --ai-url http://127.0.0.1:5000/infer      with an AI service of your own
  hopwatch up --lane reliable,depth=50 --lane best-effort,link=udp --rate 20 --ai-ms 10
  hopwatch up --loss 1% --any-ports --page-port 0       lose packets (as root), beside another one

Units: options in -ms and <MS> are milliseconds; <TIME> is written with a unit (500ms, 60s, 2m); rates \
are of each robot, in Hz; <BYTES> are bytes.
Settings: flags overrule variables (HOPWATCH_GATEWAY_QUEUE=8), which overrule --config FILE.

Exit codes: 0 ended in order, also beyond the budget, 2 usage or configuration, 4 pipeline failed

See also: docs/live-page.md, docs/measurement.md, hopwatch doctor --help";

/// Of `run`.
pub(crate) const RUN: &str = "\
Examples:
  hopwatch run --for 60s --rate 1 --ai-ms 1000 --out out/minute
  hopwatch run --for 15s --rate 20 --ai-ms 10 --qos reliable
  hopwatch run --for 30s --lane best-effort --lane reliable    both, on the same messages
  hopwatch run --for 60s --no-sim --ai-url http://127.0.0.1:5000/infer
  hopwatch run --for 60s --loss 1% --budget-p99-ms 500 --budget-delivered 0.99

Units: options in -ms and <MS> are milliseconds; <TIME> is written with a unit (500ms, 60s, 2m); rates \
are of each robot, in Hz; <BYTES> are bytes; a <SHARE> is 0 to 1.
Settings: flags overrule variables (HOPWATCH_GATEWAY_QUEUE=8), which overrule --config FILE.

Exit codes: 0 within budget, 1 budget missed, 2 usage or configuration, 3 unstable, 4 pipeline failed

See also: docs/measurement.md (what the figures mean), docs/wire.md (the files of a run)";

/// Of `compare`.
pub(crate) const COMPARE: &str = "\
Examples:
  hopwatch compare --qos best-effort,reliable --loss 0,1%     does QoS matter (as root)
  hopwatch compare --link http1,udp --rate 20 --ai-ms 10      must HTTP be replaced
  hopwatch compare --plan plan.toml --out out/experiment      begin, or go on where it stopped

Exit codes: 0 decided, 2 usage or configuration, 3 inconclusive or stopped, 4 pipeline failed

See also: docs/compare.md, docs/measurement.md (how the verdict is made)";

/// Of `lab`.
pub(crate) const LAB: &str = "\
Examples:
  hopwatch lab shapes                            arrays of structures against primitive arrays
  hopwatch lab shapes --static --type sensor_msgs/msg/PointCloud2 --length data=1000
  hopwatch lab executor                          a 100 Hz loop beside a heavy callback
  hopwatch lab handover                          moved, shared, copied, DDS, shared memory, iceoryx2

Exit codes: 0 decided, 2 usage or configuration, 3 inconclusive or stopped, 4 failed

See also: docs/lab/shapes.md, docs/lab/executor.md, docs/lab/handover.md";

/// Of `lab shapes`.
pub(crate) const LAB_SHAPES: &str = "\
Examples:
  hopwatch lab shapes                                 some minutes: Rust and rclpy
  hopwatch lab shapes --full --out out/shapes         the published rounds, and more iterations
  hopwatch lab shapes --static --type sensor_msgs/msg/PointCloud2 --length data=1000 --length fields=4
  hopwatch lab shapes --static --type my_msgs/msg/Tracks --msg-path src --length tracks=50 --rate 20
  hopwatch lab shapes --type my_msgs/msg/Tracks --split my_msgs/msg/TracksSplit --length tracks=50
  hopwatch lab shapes --run out/minute                beside the figures of a run

Units: <HZ> messages a second; <TIME> is written with a unit (500ms, 2s); lengths are elements of \
sequences and characters of texts.

Exit codes: 0 decided, 2 usage or configuration, 3 inconclusive or stopped, 4 failed

See also: docs/lab/shapes.md (what the figures mean)";

/// Of `lab executor`.
pub(crate) const LAB_EXECUTOR: &str = "\
Examples:
  hopwatch lab executor                               some minutes: Rust, rclpy, and C++ if it is here
  hopwatch lab executor --full --out out/executor     60 s a run, five rounds, heavier work: an hour
  hopwatch lab executor --only python,python-numpy --threads 2 --rounds 5 --for 10s
  hopwatch lab executor --run out/minute              beside the figures of a run

Units: <TIME> is written with a unit (6s, 1m); <HZ> scans a second.

Exit codes: 0 decided, 2 usage or configuration, 3 inconclusive or stopped, 4 failed

See also: docs/lab/executor.md (what the figures mean)";

/// Of `lab handover`.
pub(crate) const LAB_HANDOVER: &str = "\
Examples:
  hopwatch lab handover                               some minutes: a message of 6 MB
  hopwatch lab handover --full --out out/handover     more consumers, messages and rounds: half an hour
  hopwatch lab handover --only shared,dds-shared-memory,iceoryx2 --consumers 1,2 --rounds 6
  hopwatch lab handover --size 100000 --rate 100      messages of yours
  hopwatch lab handover --run out/minute              beside the figures of a run

Units: <BYTES> of a message, without what a middleware adds; <HZ> messages a second.

Exit codes: 0 decided, 2 usage or configuration, 3 inconclusive or stopped, 4 failed

See also: docs/lab/handover.md (what the figures mean)";

/// Of `report`.
pub(crate) const REPORT: &str = "\
Examples:
  hopwatch report out/minute                       the report anew; the same exit code
  hopwatch report --records out/minute             each record as a line of JSON

See also: docs/wire.md (the files of a run, the columns of traces.csv)";

/// Of `respond`.
pub(crate) const RESPOND: &str = "\
Examples:
  hopwatch respond --listen 192.168.0.7:8010                 on the robot's host
  hopwatch run --no-sim --clock-peers 192.168.0.7:8010       on the gateway's host

See also: docs/measurement.md (clocks of other hosts)";

/// Of `certificates`.
pub(crate) const CERTIFICATES: &str = "\
Examples:
  hopwatch certificates --out tls --host gateway.lan,10.0.0.2 --host ai.lan,10.0.0.3
  hopwatch certificates --out tls --host web.lan --days 90     one more, by the same CA

Exit codes: 0 made, 2 usage or configuration, 4 failed

See also: docs/hosts.md";

/// Of `health`.
pub(crate) const HEALTH: &str = "\
Examples:
  hopwatch health http://127.0.0.1:8002/healthz

Exit codes: 0 well, 2 usage or configuration, 4 not well, or nobody there

See also: docs/running.md (Docker)";

/// Of `token`.
pub(crate) const TOKEN: &str = "\
Examples:
  hopwatch token /run/hopwatch/token             make it, unless it is there
  hopwatch token --show /run/hopwatch/token      and print it

See also: docs/running.md (Docker), docs/hosts.md";

/// Of `doctor`.
pub(crate) const DOCTOR: &str = "\
Examples:
  hopwatch doctor                                        this host and its ROS
  hopwatch doctor --topic /camera/image_raw              and whether messages of a topic arrive
  hopwatch doctor --topic /odom --qos reliable           with this QoS, and not the publishers' own
  hopwatch doctor --ai-url http://127.0.0.1:5000/infer   and an AI service: sends it 20 requests
  hopwatch doctor --config hopwatch.toml --json          what a run would use, for programs
  hopwatch doctor --clean                                and remove leftovers in /dev/shm

Severities: ok, note, warning (it works, and will bite or blur), problem (it doesn't work), unknown \
(it could not be looked at)

Exit codes: 0 no problem, 1 problems found, 2 usage or configuration, 4 failed to look or to print

See also: docs/doctor.md";

/// Of `completions`.
pub(crate) const COMPLETIONS: &str = "\
Examples:
  hopwatch completions bash > ~/.local/share/bash-completion/completions/hopwatch
  hopwatch completions zsh > ~/.zfunc/_hopwatch      and in ~/.zshrc: fpath+=~/.zfunc, then compinit
  hopwatch completions fish > ~/.config/fish/completions/hopwatch.fish

See also: hopwatch man --help";

/// Of `man`.
pub(crate) const MAN: &str = "\
Examples:
  hopwatch man > ~/.local/share/man/man1/hopwatch.1           then: man hopwatch
  hopwatch man run > ~/.local/share/man/man1/hopwatch-run.1   then: man hopwatch-run

See also: hopwatch completions --help";

#[cfg(test)]
mod tests {
    use crate::args::Cli;
    use clap::{CommandFactory, Parser};

    const WIDTH: usize = 100;

    /// The words of an example: up to its explanation, or to where its output goes.
    fn words(line: &str) -> Option<Vec<&str>> {
        let example = line.strip_prefix("  hopwatch")?;
        let end = example.find("  ").unwrap_or(example.len());
        let example = example[..end].split(" > ").next()?;
        Some(std::iter::once("hopwatch").chain(example.split_whitespace()).collect())
    }

    #[test]
    fn every_command_has_examples_that_are_taken_and_says_where_to_read_on() {
        let mut cli = Cli::command().term_width(WIDTH);
        cli.build();
        let mut helps = vec![("hopwatch".to_owned(), cli.render_long_help().to_string())];
        for command in cli.get_subcommands_mut().filter(|command| command.get_name() != "help") {
            helps.push((command.get_name().to_owned(), command.render_long_help().to_string()));
        }
        assert!(helps.len() > 8, "{helps:?}");
        for (name, help) in &helps {
            let mut examples = 0;
            for words in
                help.lines().filter_map(words).filter(|words| words[1..] != ["help", "run"])
            {
                examples += 1;
                let taken = Cli::try_parse_from(&words);
                assert!(taken.is_ok(), "{name}: {words:?}: {}", taken.unwrap_err());
            }
            assert!(examples > 0 && help.contains("\nExamples:\n"), "{help}");
            assert!(help.contains("\nSee also: "), "{help}");
            let long = help.lines().find(|line| line.chars().count() > WIDTH);
            assert_eq!(long, None, "{name}");
        }
    }

    /// A page that is named is there.
    #[test]
    fn what_to_read_on_is_there() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut named = 0;
        let all = [
            super::ALL,
            super::UP,
            super::RUN,
            super::COMPARE,
            super::LAB,
            super::LAB_SHAPES,
            super::LAB_EXECUTOR,
            super::LAB_HANDOVER,
            super::REPORT,
            super::RESPOND,
            super::DOCTOR,
            super::CERTIFICATES,
            super::HEALTH,
            super::TOKEN,
        ];
        for text in all {
            let words = text.split([' ', ',', '\n']).map(std::path::Path::new);
            for page in words.filter(|word| word.extension().is_some_and(|of| of == "md")) {
                named += 1;
                assert!(root.join(page).exists(), "{}", page.display());
            }
        }
        assert!(named >= all.len());
    }
}
