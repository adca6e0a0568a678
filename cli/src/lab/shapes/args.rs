//! The command line of `hopwatch lab shapes`.

use crate::args::duration;
use crate::help;
use crate::lab::args::Common;
use clap::{Args, ValueEnum};
use hopwatch_lab::shapes::Way;
use hopwatch_rosmsg::TypeName;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
#[command(after_help = help::LAB_SHAPES)]
pub(crate) struct Shapes {
    /// Only what the definitions tell: nothing is run, no ROS is needed
    #[arg(long = "static")]
    pub(super) only_static: bool,
    /// A message type of your own, in place of Foo[], FooStamped[] and their splits; may be given
    /// again
    #[arg(long = "type", value_name = "PACKAGE/msg/TYPE")]
    pub(super) types: Vec<TypeName>,
    /// A type that holds the same as the first --type in primitive arrays, to be laid beside it
    #[arg(long, value_name = "PACKAGE/msg/TYPE", requires = "types")]
    pub(super) split: Option<TypeName>,
    /// How long a sequence or a text of the type is: data=1000, header.frame_id=12, names[]=8 (of
    /// the texts in an array); without it 100 elements and 10 characters are assumed
    #[arg(long = "length", value_name = "PATH=N", value_parser = length)]
    pub(super) lengths: Vec<(String, u64)>,
    /// Folder with PACKAGE/msg/TYPE.msg files; looked into before AMENT_PREFIX_PATH
    #[arg(long, value_name = "DIR")]
    pub(super) msg_path: Vec<PathBuf>,
    /// How often a message is published
    #[arg(long, value_name = "HZ", default_value_t = 30.0, value_parser = rate)]
    pub(super) rate: f64,
    /// Elements of Foo[], FooStamped[] and their splits
    #[arg(short, value_name = "N", default_value_t = 10_000)]
    pub(super) n: u64,
    /// Which ways are measured [default: all that are here]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WAYS")]
    pub(super) way: Vec<WayName>,
    /// How long each run publishes at the rate
    #[arg(long = "for", value_name = "TIME", default_value = "1200ms", value_parser = duration)]
    pub(super) paced: Duration,
    /// Iterations of each run, step by step [default: 20, with --full 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(5..=10_000))]
    pub(super) iterations: Option<u32>,
    /// A run of the pipeline to lay it beside: its folder
    #[arg(long, value_name = "DIR")]
    pub(super) run: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// A way to publish, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum WayName {
    /// Messages of r2r
    Rust,
    /// Bytes, from Rust
    RustRaw,
    /// Messages of rclpy
    Python,
}

impl WayName {
    pub(super) fn way(self) -> Way {
        match self {
            Self::Rust => Way::Rust,
            Self::RustRaw => Way::RustRaw,
            Self::Python => Way::Python,
        }
    }
}

fn length(text: &str) -> Result<(String, u64), String> {
    let wrong = || format!("{text:?} is no length: write PATH=N, as data=1000");
    let (path, n) = text.rsplit_once('=').filter(|(path, _)| !path.is_empty()).ok_or_else(wrong)?;
    Ok((path.to_owned(), n.parse().map_err(|_| wrong())?))
}

fn rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|_| format!("{text:?} is no rate"))?;
    if rate.is_finite() && (0.001..=10_000.0).contains(&rate) {
        Ok(rate)
    } else {
        Err(format!("{text} Hz is no rate that can be published at: 0.001 to 10000"))
    }
}
