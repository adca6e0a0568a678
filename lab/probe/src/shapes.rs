//! Processes of `hopwatch lab shapes`. The protocol stands in `cli/src/lab/shapes.rs`.

mod publish;
mod raw;
mod take;
mod typed;

use crate::{ending, say};
use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use hopwatch_kit::ament::{message_definition, shares};
use hopwatch_lab::shapes::values::Columns;
use hopwatch_lab::shapes::{Given, Shape};
use hopwatch_rosmsg::{Schema, TypeName};
use hopwatch_tap::{Qos, Reliability};
use serde_json::json;
use std::path::PathBuf;

/// What a message costs by its shape: arrays of structures against primitive arrays
#[derive(Debug, Args)]
pub struct Shapes {
    /// What this process does
    #[arg(long, value_enum)]
    role: Role,
    /// The message's type
    #[arg(long = "type", value_name = "PACKAGE/msg/TYPE")]
    of: TypeName,
    /// The length of a sequence or a text
    #[arg(long = "length", value_name = "PATH=N", value_parser = length)]
    lengths: Vec<(String, u64)>,
    /// The topic
    #[arg(long)]
    topic: String,
    /// As a message of r2r, or as bytes
    #[arg(long, value_enum, default_value = "typed")]
    way: Way,
    /// Iterations at most
    #[arg(long, default_value_t = 20)]
    iterations: usize,
    /// Iterations before, which are not told
    #[arg(long, default_value_t = 2)]
    warm_up: usize,
    /// How long they may take
    #[arg(long, default_value_t = 1000)]
    within_ms: u32,
    /// Also tell the size with the longest sequences of this length
    #[arg(long = "size", value_name = "N")]
    sizes: Vec<u64>,
    /// Where the serialized message is written to
    #[arg(long)]
    bytes: Option<PathBuf>,
    /// Subscriptions that are waited for
    #[arg(long, default_value_t = 0)]
    subscribers: usize,
    /// Messages a second
    #[arg(long, default_value_t = 30.0)]
    rate_hz: f64,
    /// How long it is published at the rate
    #[arg(long, default_value_t = 1200)]
    paced_ms: u32,
    /// When a subscriber ends at the latest
    #[arg(long, default_value_t = 60_000)]
    for_ms: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Role {
    Publish,
    Take,
    TakeRaw,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Way {
    Typed,
    Raw,
}

/// KEEP_LAST 5, BEST_EFFORT: rmw_qos_profile_sensor_data.
const QOS: Qos = Qos { reliability: Reliability::BestEffort, depth: 5, ..Qos::RELIABLE };

fn length(said: &str) -> Result<(String, u64), String> {
    let (path, n) = said.rsplit_once('=').ok_or_else(|| format!("{said:?} is not PATH=N"))?;
    let n = n.parse().map_err(|_| format!("{n:?} is no length"))?;
    Ok((path.to_owned(), n))
}

/// A way to make, publish and read messages of one type.
trait Publishing {
    /// A message in memory.
    type Message;
    /// Whether a message is bytes already, so that serializing it is no step.
    const IS_BYTES: bool;

    /// Makes a message of the plain values.
    fn construct(&self) -> Self::Message;
    /// Its bytes.
    fn serialize(&self, message: &Self::Message) -> anyhow::Result<Vec<u8>>;
    /// Publishes it.
    fn publish(&self, message: &Self::Message) -> anyhow::Result<()>;
    /// Reads bytes; whether they hold what was to be published is told by what it gives back.
    fn deserialize(&self, bytes: &[u8]) -> anyhow::Result<Self::Message>;
    /// Whether two are the same.
    fn same(&self, a: &Self::Message, b: &Self::Message) -> bool;
    /// Subscriptions that are matched now.
    fn matched(&self) -> anyhow::Result<usize>;
    /// The bytes of a message whose longest sequences have this length.
    fn size_at(&self, args: &Shapes, n: u64) -> anyhow::Result<u64>;
}

/// Something for one of the types that this program was built with.
trait Typed: r2r::WrappedTypesupport + PartialEq + Send + 'static {
    /// From the columns of its leaves.
    fn construct(columns: &Columns) -> Self;
}

impl Shapes {
    fn given(&self) -> Given {
        self.lengths.iter().cloned().collect()
    }

    fn schema(&self) -> anyhow::Result<Schema> {
        let shares = shares();
        let load = |of: &TypeName| message_definition(&shares, of.package(), of.name());
        Ok(Schema::load(&self.of, load)?)
    }

    fn shape(&self, given: &Given) -> anyhow::Result<Shape> {
        Ok(Shape::new(&self.schema()?, given)?)
    }

    /// The lengths with those that are N set to this one.
    fn given_at(&self, shape: &Shape, n: u64) -> Given {
        let mut given = self.given();
        for path in shape.varying().map(|(_, of)| of).unwrap_or_default() {
            given.insert(path.to_owned(), n);
        }
        given
    }
}

/// Measures.
///
/// # Errors
/// When ROS fails, or the type isn't known.
pub fn run(args: &Shapes) -> anyhow::Result<()> {
    let asked = ending()?;
    match (args.role, args.way) {
        (Role::TakeRaw, _) => take::take(args, &asked, |_| Ok(true)),
        (Role::Publish, Way::Raw) => publish::publish(args, &asked, &raw::Raw::new(args)?),
        (Role::Take, Way::Raw) => {
            let reading = raw::Reading::new(args)?;
            take::take(args, &asked, move |bytes| reading.holds(bytes))
        }
        (Role::Publish | Role::Take, Way::Typed) => typed::run(args, &asked),
    }
}

/// Tells that all is set up.
fn ready() -> anyhow::Result<()> {
    say(&json!({ "ready": true }))
}

/// A step's time in ns, and what it gave.
fn timed<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<(i64, T)> {
    let begun = hopwatch_kit::clock::mono_ns();
    // Neither the work nor its result may be moved out of the two readings.
    let result = std::hint::black_box(work())?;
    Ok((hopwatch_kit::clock::mono_ns() - begun, result))
}

/// A type that this program wasn't built with.
fn unknown(of: &TypeName) -> anyhow::Result<()> {
    bail!("this program was built without {of}: publish it as bytes (--way raw)")
}

fn written(path: &PathBuf, bytes: &[u8]) -> anyhow::Result<()> {
    std::fs::write(path, bytes).with_context(|| format!("failed to write {}", path.display()))
}
