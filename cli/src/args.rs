//! The command line.

use crate::certificates::Host;
use crate::compare::Compare;
use crate::doctor::Doctor;
use crate::help;
use crate::lab::Lab;
use crate::network::NetworkArgs;
use clap::{Args, Parser, Subcommand, ValueEnum};
use hopwatch_link::LinkKind;
use hopwatch_model::lane::LaneSpec;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Something on the command line or in the configuration that can't be used: exit code 2.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// A stopwatch for every hop of a ROS 2 → HTTP → AI → WebSocket pipeline
#[derive(Debug, Parser)]
#[command(
    name = "hopwatch",
    version,
    after_help = help::ALL
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start the whole pipeline with its live page, until Ctrl-C
    Up(Up),
    /// Measure for a while, write the report and judge it
    Run(Run),
    /// Compare QoS, links and losses: trials in random order, and a verdict
    Compare(Box<Compare>),
    /// Study what happens before the network: the message's shape, the executor
    #[command(subcommand, after_help = help::LAB)]
    Lab(Lab),
    /// Report a run again from its folder, also one that was killed; or an experiment, or a study
    Report(Report),
    /// Tell this host's clocks to a gateway elsewhere, so that stamps of robots here can be placed
    Respond(Respond),
    /// Make certificates for TLS between hosts: a CA of your own, and one for each host
    Certificates(Certificates),
    /// Say why it doesn't work or measure well here, and what to do
    Doctor(Box<Doctor>),
    /// Print a script that lets a shell complete words
    Completions(Completions),
    /// Print a manual page, for man
    Man(Man),
    /// Ask a service whether it is well, for health checks of containers: 0 when it is
    #[command(hide = true)]
    Health(Health),
    /// Write a new token into a file, unless it holds one already, for services that share it
    #[command(hide = true)]
    Token(TokenFile),
}

#[derive(Debug, Args)]
#[command(after_help = help::CERTIFICATES)]
pub(crate) struct Certificates {
    /// A host, by the names and addresses that others call it by, with commas between; once for
    /// each host
    #[arg(long = "host", value_name = "NAME[,NAME…]", required = true)]
    pub(crate) hosts: Vec<Host>,
    /// Folder for the PEM files; the CA that is in it issues further ones
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// How long the hosts' certificates are good for, in days
    #[arg(long, default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub(crate) days: u32,
}

#[derive(Debug, Args)]
#[command(after_help = help::HEALTH)]
pub(crate) struct Health {
    /// What to ask, shown the token if there is one: http://127.0.0.1:8002/healthz
    #[arg(value_name = "URL")]
    pub(crate) url: String,
}

#[derive(Debug, Args)]
#[command(after_help = help::TOKEN)]
pub(crate) struct TokenFile {
    /// The file; its folder must exist
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print the token, for the live page's controls
    #[arg(long)]
    pub(crate) show: bool,
    /// Let everybody read the file who can reach its folder, such as containers that share a volume
    #[arg(long)]
    pub(crate) shared: bool,
}

#[derive(Debug, Args)]
#[command(after_help = help::COMPLETIONS)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
#[command(after_help = help::MAN)]
pub(crate) struct Man {
    /// One of the commands; without it, the page of hopwatch itself
    pub(crate) command: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = help::RESPOND)]
pub(crate) struct Respond {
    /// UDP address to answer on
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8010")]
    pub(crate) listen: SocketAddr,
}

#[derive(Debug, Args)]
#[command(after_help = help::UP)]
pub(crate) struct Up {
    #[command(flatten)]
    pub(crate) pipeline: Pipeline,
    /// Start no robots: watch those that publish on the topic already
    #[arg(long)]
    pub(crate) no_sim: bool,
    /// Port of the live page; 0 takes any free one
    #[arg(long, default_value_t = 3000)]
    pub(crate) page_port: u16,
    /// Choose free ports for the services, instead of 8000, 5000, 8001 and 8002
    #[arg(long)]
    pub(crate) any_ports: bool,
    #[command(flatten)]
    pub(crate) budget: BudgetArgs,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
}

#[derive(Debug, Args)]
#[command(after_help = help::RUN)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) pipeline: Pipeline,
    /// How long the robots publish (60s, 2m, 500ms)
    #[arg(long = "for", value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub(crate) duration: Duration,
    /// Start no robots: measure those that publish on the topic already
    #[arg(long)]
    pub(crate) no_sim: bool,
    /// Serve the live page too, on this port; 0 takes any free one
    #[arg(long)]
    pub(crate) page_port: Option<u16>,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    #[command(flatten)]
    pub(crate) budget: BudgetArgs,
    /// End when standard input does: for `hopwatch compare`
    #[arg(long, hide = true)]
    pub(crate) end_with_parent: bool,
}

#[derive(Debug, Args)]
#[command(after_help = help::REPORT)]
pub(crate) struct Report {
    /// Folder of a run or an experiment: its report is written anew, and its exit code is the same
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Print the records as NDJSON instead
    #[arg(long)]
    pub(crate) records: bool,
}

/// What is measured, and how. A flag that isn't given is left to the configuration file, the
/// environment and the programs' own defaults, which the help repeats.
#[derive(Clone, Debug, Args)]
pub(crate) struct Pipeline {
    /// Messages a second of each robot [default: 1]
    #[arg(long, value_name = "HZ", allow_negative_numbers = true)]
    pub(crate) rate: Option<f64>,
    /// How many robots, at most 1000 [default: 1]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) robots: Option<u32>,
    /// A lane, which is a condition under measurement; given several times, they run side by side:
    /// `[name=NAME,][qos=]best-effort|reliable[,depth=N][,link=LINK][,topic=/T][,payload=BYTES]`.
    /// Lanes that differ only in the link get the very same messages; of others, robots publish the
    /// same messages on a topic each, in alternating order [default: of `up` with simulated robots
    /// best-effort and reliable, else one of --qos, --link and --payload-bytes]
    #[arg(
        long = "lane",
        value_name = "SPEC",
        conflicts_with_all = ["qos", "link", "payload_bytes"]
    )]
    pub(crate) lanes: Vec<LaneSpec>,
    /// QoS of the topic, with one lane [default: best-effort]
    #[arg(long, value_enum)]
    pub(crate) qos: Option<Qos>,
    /// Serialized size of a message, at least, with one lane; at most 4000000 [default: 0]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(..=i64::from(MOST_BYTES)))]
    pub(crate) payload_bytes: Option<u32>,
    /// Model time of the AI service [default: 1000]
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    pub(crate) ai_ms: Option<f64>,
    /// Spread of a lognormal model time; 0 is fixed [default: 0]
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) ai_sigma: Option<f64>,
    /// Requests that the AI service works on at once [default: 64]
    #[arg(long, value_name = "N")]
    pub(crate) ai_concurrency: Option<usize>,
    /// Share of requests that the AI service fails, 0 to 1 [default: 0]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub(crate) ai_failure_rate: Option<f64>,
    /// An AI service of your own, instead of ours
    #[arg(long, value_name = "URL")]
    pub(crate) ai_url: Option<String>,
    /// Link to both services, with one lane [default: http1]
    #[arg(long, value_enum)]
    pub(crate) link: Option<LinkKind>,
    /// Messages that the gateway works on at once in each lane [default: 64]
    #[arg(long, value_name = "N")]
    pub(crate) in_flight: Option<usize>,
    /// One message after the other in each lane, as a callback that blocks its executor does
    #[arg(long)]
    pub(crate) serial: bool,
    /// Shadow probes a second, which tell what other links would change; 0: none [default: 2 for
    /// `up`, 0 for `run`]
    #[arg(long, value_name = "HZ", allow_negative_numbers = true)]
    pub(crate) probes: Option<f64>,
    /// Clock responders (`hopwatch respond`) on robots' hosts: ADDRESS:PORT, or
    /// ROBOT@ADDRESS:PORT for a robot that sends no census; commas between several
    #[arg(long, value_name = "PEERS")]
    pub(crate) clock_peers: Option<String>,
    /// ROS topic [default: /robot_messages]
    #[arg(long)]
    pub(crate) topic: Option<String>,
    /// ROS domain; default: ROS_DOMAIN_ID, else one of our own for simulated robots, else 0
    #[arg(long, value_parser = clap::value_parser!(u8).range(0..=232))]
    pub(crate) domain: Option<u8>,
    /// TOML file with a table for each program, and `[hopwatch]` for lanes and budgets; flags
    /// overrule it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Folder for records and report; default: out/TIME
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// Limits for the exit code, and for the live page. One that isn't given is that of the configuration, or the default.
#[derive(Clone, Copy, Debug, Default, Args)]
#[expect(clippy::struct_field_names, reason = "a field's name is its flag's")]
pub(crate) struct BudgetArgs {
    /// Limit for the mean pipeline total [default: 2000]
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    pub(crate) budget_total_ms: Option<f64>,
    /// Limit for the mean communication: everything but AI [default: 100]
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    pub(crate) budget_communication_ms: Option<f64>,
    /// Limit for the 99th percentile of the pipeline total [default: 2000]
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    pub(crate) budget_p99_ms: Option<f64>,
    /// Delivered ÷ published, at least, 0 to 1 [default: none]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub(crate) budget_delivered: Option<f64>,
}

/// Larger messages overrun what DDS fragments here.
pub(crate) const MOST_BYTES: u32 = 4_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Qos {
    Reliable,
    BestEffort,
}

/// The name that the services know a value by.
pub(crate) fn name<V: ValueEnum>(value: &V) -> String {
    value.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default()
}

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if duration.is_zero() || duration > Duration::from_secs(7 * 86_400) {
        return Err("must lie between 1ms and 7days".to_owned());
    }
    Ok(duration)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    /// What `hopwatch compare --help` prints is what the documents say.
    #[test]
    fn the_help_of_compare() {
        let mut cli = Cli::command().term_width(100);
        cli.build();
        let compare = cli.find_subcommand_mut("compare").unwrap();
        insta::assert_snapshot!(compare.render_help());
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in [
            "run --for 0s",
            "run --for soon",
            "run --qos maybe",
            "run --unknown",
            "fly",
            "run --domain 233",
            "report",
            "report a b",
        ] {
            let words = std::iter::once("hopwatch").chain(bad.split(' '));
            assert!(Cli::try_parse_from(words).is_err(), "{bad}");
        }
    }

    #[test]
    fn lanes_exclude_what_describes_a_single_one() {
        let parse = |words: &str| Cli::try_parse_from(words.split(' '));
        for other in ["--qos reliable", "--link http1", "--payload-bytes 9"] {
            let error = parse(&format!("hopwatch up --lane reliable {other}")).unwrap_err();
            let flag = other.split(' ').next().unwrap();
            let text = error.to_string();
            assert!(text.contains("--lane") && text.contains(flag), "{text}");
        }
        let error = parse("hopwatch run --lane reliable,speed=9").unwrap_err().to_string();
        assert!(error.contains("speed") && error.contains("--lane"), "{error}");
        let Command::Run(run) =
            parse("hopwatch run --lane reliable --lane http1,payload=9").unwrap().command
        else {
            panic!("another command");
        };
        assert_eq!(
            LaneSpec::join(&run.pipeline.lanes),
            "reliable;best-effort,link=http1,payload=9"
        );
    }
}
