//! What is asked of the network on the command line.

use crate::args::{Usage, duration};
use clap::{Args, ValueEnum};
use std::time::Duration;

/// A network of the run's own, with packets lost or late on it (needs root).
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct NetworkArgs {
    /// Share of packets to lose, for real (1% or 0.01): robot, gateway and services get a network
    /// namespace each; 0 makes the namespaces and loses nothing
    #[arg(long, value_name = "SHARE", value_parser = share, allow_negative_numbers = true)]
    pub(crate) loss: Option<f64>,
    /// By how much packets are late, one way, where the kernel has netem
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) delay: Option<Duration>,
    /// How far --delay varies, to either side
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "delay")]
    pub(crate) jitter: Option<Duration>,
    /// Legs that packets are lost or late on [default: ros,ai,web]
    #[arg(long, value_enum, value_name = "LEGS", value_delimiter = ',')]
    pub(crate) loss_legs: Vec<Leg>,
}

/// A leg between two namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Leg {
    /// Robot and gateway
    Ros,
    /// Gateway and AI service
    Ai,
    /// Gateway and broadcaster
    Web,
}

impl Leg {
    pub(crate) const ALL: [Self; 3] = [Self::Ros, Self::Ai, Self::Web];

    /// Its name, which is also its network devices'.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ros => "ros",
            Self::Ai => "ai",
            Self::Web => "web",
        }
    }
}

/// A network to be made.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Asked {
    /// 0 to below 1.
    pub(crate) loss: f64,
    pub(crate) delay: Duration,
    pub(crate) jitter: Duration,
    pub(crate) legs: Vec<Leg>,
}

impl Asked {
    /// Whether messages of the robots are lost, or their last words; or, where the loss can be
    /// `settable` later, may be.
    pub(crate) fn loses_messages(&self, settable: bool) -> bool {
        self.legs.contains(&Leg::Ros) && (settable || self.loss > 0.0)
    }
}

impl NetworkArgs {
    /// What is asked for; `None`: this host's own network, as it is.
    pub(crate) fn asked(&self) -> Result<Option<Asked>, Usage> {
        if self.loss.is_none() && self.delay.is_none() {
            if self.loss_legs.is_empty() {
                return Ok(None);
            }
            return Err(Usage(
                "--loss-legs says where: --loss or --delay must say what".to_owned(),
            ));
        }
        let (delay, jitter) = (self.delay.unwrap_or_default(), self.jitter.unwrap_or_default());
        if jitter > delay {
            return Err(Usage("--jitter must not be longer than --delay".to_owned()));
        }
        let mut legs = self.loss_legs.clone();
        legs.sort_unstable();
        legs.dedup();
        if legs.is_empty() {
            legs = Leg::ALL.to_vec();
        }
        Ok(Some(Asked { loss: self.loss.unwrap_or(0.0), delay, jitter, legs }))
    }
}

/// A share of packets: `1%` or `0.01`.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let refuse = || format!("{text:?} is no share of packets: write it as 1% or 0.01, below 100%");
    let text = text.trim();
    let (number, of) = match text.strip_suffix('%') {
        Some(percent) => (percent.trim_end(), 100.0),
        None => (text, 1.0),
    };
    let share = number.parse::<f64>().map_err(|_| refuse())? / of;
    if (0.0..1.0).contains(&share) { Ok(share.abs()) } else { Err(refuse()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        network: NetworkArgs,
    }

    fn asked(words: &str) -> Result<Option<Asked>, String> {
        let line = Line::try_parse_from(std::iter::once("x").chain(words.split_whitespace()));
        line.map_err(|e| e.to_string())?.network.asked().map_err(|e| e.to_string())
    }

    #[test]
    fn a_share_is_percent_or_a_fraction() {
        for (text, value) in [
            ("1%", 0.01),
            ("0.01", 0.01),
            ("0", 0.0),
            ("-0", 0.0),
            ("12.5 %", 0.125),
            ("99%", 0.99),
        ] {
            assert!((share(text).unwrap() - value).abs() < 1e-12, "{text}");
        }
        for text in ["", "%", "1", "100%", "-1%", "2", "nan", "inf", "one", "1%%"] {
            assert!(share(text).unwrap_err().contains("1% or 0.01"), "{text}");
        }
    }

    #[test]
    fn a_network_is_made_when_it_has_something_to_do() {
        assert_eq!(asked(""), Ok(None));
        let all = asked("--loss 0").unwrap().unwrap();
        assert_eq!((all.loss.to_bits(), all.legs.len()), (0, 3));
        let some = asked("--loss 5% --loss-legs web,ros,web").unwrap().unwrap();
        assert_eq!(some.legs, [Leg::Ros, Leg::Web]);
        let late = asked("--delay 2ms --jitter 500us").unwrap().unwrap();
        assert_eq!((late.delay.as_micros(), late.jitter.as_micros()), (2000, 500));
    }

    #[test]
    fn messages_may_be_lost_where_the_loss_can_be_set() {
        for (words, fixed, settable) in [
            ("--loss 1%", true, true),
            ("--loss 0", false, true),
            ("--delay 1ms", false, true),
            ("--loss 1% --loss-legs ai,web", false, false),
        ] {
            let network = asked(words).unwrap().unwrap();
            let loses = (network.loses_messages(false), network.loses_messages(true));
            assert_eq!(loses, (fixed, settable), "{words}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (words, said) in [
            ("--loss-legs ros", "--loss or --delay"),
            ("--jitter 1ms", "--delay"),
            ("--delay 1ms --jitter 2ms", "--jitter must not be longer"),
            ("--loss 1% --loss-legs radio", "radio"),
            ("--loss 200%", "below 100%"),
            ("--loss=-1%", "below 100%"),
        ] {
            let error = asked(words).unwrap_err();
            assert!(error.contains(said), "{words}: {error}");
        }
    }
}
