//! The command line of `hopwatch compare`. What isn't given is left to the plan's file and to the
//! defaults, which the help repeats.

use crate::args::{Qos, duration};
use crate::network::{Leg, share};
use clap::Args;
use hopwatch_link::LinkKind;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Default, Args)]
#[command(after_help = crate::help::COMPARE)]
pub(crate) struct Compare {
    /// Levels of the topic's QoS; of each factor, the first level is the baseline
    /// [default: best-effort,reliable]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LEVELS")]
    pub(super) qos: Vec<Qos>,
    /// Levels of the link to both services [default: http1]
    #[arg(long, value_parser = LinkKind::ALL.map(LinkKind::name), value_delimiter = ',', value_name = "LEVELS")]
    pub(super) link: Vec<String>,
    /// Shares of packets to lose, for real (0,1%): needs root [default: 0]
    #[arg(long, value_parser = share, value_delimiter = ',', value_name = "LEVELS")]
    pub(super) loss: Vec<f64>,
    /// Messages a second of each robot [default: 20]
    #[arg(long, value_delimiter = ',', value_name = "LEVELS")]
    pub(super) rate: Vec<f64>,
    /// Serialized size of a message, at least [default: 0]
    #[arg(long, value_delimiter = ',', value_name = "LEVELS")]
    pub(super) payload_bytes: Vec<u32>,
    /// Trials of each combination: as many blocks, in each of which all have their turn in random
    /// order [default: 6]
    #[arg(long, value_name = "N")]
    pub(super) trials: Option<u32>,
    /// How long the robots publish in a trial [default: 20s]
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    pub(super) duration: Option<Duration>,
    /// What is left out at the beginning of each trial [default: 2s]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(super) warm_up: Option<Duration>,
    /// Differences below this are of no importance [default: 10]
    #[arg(long, value_name = "MS")]
    pub(super) margin_ms: Option<f64>,
    /// A message that takes longer than this is as good as lost [default: 2000]
    #[arg(long, value_name = "MS")]
    pub(super) budget_total_ms: Option<f64>,
    /// Model time of the AI service [default: 10]
    #[arg(long, value_name = "MS")]
    pub(super) ai_ms: Option<f64>,
    /// Spread of a lognormal model time; 0 is fixed [default: 0]
    #[arg(long)]
    pub(super) ai_sigma: Option<f64>,
    /// How many robots [default: 1]
    #[arg(long)]
    pub(super) robots: Option<u32>,
    /// Messages that the gateway works on at once [default: 64]
    #[arg(long, value_name = "N")]
    pub(super) in_flight: Option<u32>,
    /// One message after the other, as a callback that blocks its executor does
    #[arg(long)]
    pub(super) serial: bool,
    /// Legs that packets are lost on [default: ros,ai,web]
    #[arg(long, value_enum, value_name = "LEGS", value_delimiter = ',')]
    pub(super) loss_legs: Vec<Leg>,
    /// Leave out the control: the first combination once more, which must show no difference
    #[arg(long)]
    pub(super) no_control: bool,
    /// What the order is drawn by; the same seed gives the same order [default: random]
    #[arg(long)]
    pub(super) seed: Option<u64>,
    /// TOML file with any of these by their names (payload_bytes, for, …); flags overrule it
    #[arg(long, value_name = "FILE")]
    pub(super) plan: Option<PathBuf>,
    /// Folder of the experiment; an unfinished one goes on where it stopped
    /// [default: out/compare-TIME]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Begin, though it takes more than a day or 1000 trials
    #[arg(long)]
    pub(super) yes: bool,
}

/// A time that may be none.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if time > Duration::from_secs(86_400) {
        return Err("must lie between 0s and 1day".to_owned());
    }
    Ok(time)
}
