//! What every producer does, whatever way it hands messages over.

use super::observe::{Maps, cpu_ns, loopback_bytes};
use super::{Addresses, Handover, done, ready};
use anyhow::bail;
use hopwatch_kit::Shutdown;
use hopwatch_kit::clock::mono_ns;
use hopwatch_kit::timer::sharpen_this_thread;
use hopwatch_lab::handover::{Buffer, Gave};
use std::time::{Duration, Instant};

/// How long consumers are waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// A writer knows of a match before the reader does, who takes nothing until then.
const SETTLING: Duration = Duration::from_millis(500);

/// One message that was handed over.
#[derive(Debug, Default)]
pub(super) struct Given {
    /// How long that kept the producer.
    pub(super) handed_ns: i64,
    /// Where it lay.
    pub(super) buffer: Option<Buffer>,
}

/// A way to hand messages over.
pub(super) trait Giving {
    /// Makes the message with this number and hands it over.
    fn give(&mut self, number: u64) -> anyhow::Result<Given>;
    /// Returns when all consumers have what is to come to them.
    fn settle(&mut self) -> anyhow::Result<()>;
}

/// A way between processes.
pub(super) trait Alone: Giving {
    /// How many consumers there are now.
    fn consumers(&self) -> anyhow::Result<usize>;
}

/// A producer in a process of its own: waits for its consumers, hands over, says what it measured, and stays.
pub(super) fn give_alone(
    args: &Handover,
    asked: &Shutdown,
    giving: &mut impl Alone,
    lends: Option<bool>,
) -> anyhow::Result<()> {
    ready()?;
    if !wait_for(args.consumers, asked, || giving.consumers())? {
        return done(None, &[]);
    }
    let gave = Gave { lends, ..produce(args, asked, giving)? };
    done(Some(&gave), &[])?;
    stay(asked, args.for_ms);
    Ok(())
}

/// Hands messages over, one after the other.
pub(super) fn produce(
    args: &Handover,
    asked: &Shutdown,
    giving: &mut impl Giving,
) -> anyhow::Result<Gave> {
    sharpen_this_thread();
    let mut gave = Gave::default();
    let (mut cpu_from, mut loopback_from) = (cpu_ns(), loopback_bytes()?);
    let period_ns = 1e9 / args.rate_hz;
    let mut due = mono_ns();
    for number in 0..args.end() {
        let first = u64::from(args.warm_up);
        if !args.burst || number <= first {
            let wait = u64::try_from(due - mono_ns()).unwrap_or(0);
            std::thread::sleep(Duration::from_nanos(wait));
        }
        if asked.has_begun() {
            break;
        }
        if number == first {
            (cpu_from, loopback_from) = (cpu_ns(), loopback_bytes()?);
        }
        let given = giving.give(number)?;
        if number >= first {
            gave.sent += 1;
            gave.handed_ns.push(given.handed_ns);
            gave.buffers.extend(given.buffer);
        }
        #[expect(clippy::cast_possible_truncation, reason = "a period is far below 2^63 ns")]
        let period = period_ns as i64;
        // What is past by a whole period is left out: it would only come in a burst.
        due = (due + period).max(mono_ns() - period);
    }
    giving.settle()?;
    gave.cpu_ns = cpu_ns() - cpu_from;
    gave.loopback_bytes = loopback_bytes()?.saturating_sub(loopback_from);
    gave.maps = Maps::now()?.shared();
    Ok(gave)
}

/// Waits until all consumers are there; false when the end was asked for.
pub(super) fn wait_for(
    wanted: u32,
    asked: &Shutdown,
    mut there: impl FnMut() -> anyhow::Result<usize>,
) -> anyhow::Result<bool> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let matched = there()?;
        if matched >= wanted as usize {
            std::thread::sleep(SETTLING);
            return Ok(!asked.has_begun());
        }
        if asked.has_begun() {
            return Ok(false);
        }
        if Instant::now() > deadline {
            bail!("only {matched} of {wanted} consumers came within {} s", PATIENCE.as_secs());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Stays until it is asked to end: consumers may still read what is in this process' memory.
pub(super) fn stay(asked: &Shutdown, for_ms: u32) {
    let until = Instant::now() + Duration::from_millis(for_ms.into());
    while !asked.has_begun() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Where a message lies, when that is asked.
pub(super) fn buffer(
    args: &Handover,
    number: u64,
    payload: &[u8],
) -> anyhow::Result<Option<Buffer>> {
    Ok(if args.addresses.is_some() { Some(Maps::now()?.buffer(number, payload)) } else { None })
}

/// Blocks that are held, so that no block that is freed comes back.
#[derive(Debug, Default)]
pub(super) struct Decoys(Vec<Vec<u8>>);

impl Decoys {
    pub(super) fn take(&mut self, args: &Handover, size: usize) {
        if args.addresses == Some(Addresses::Decoys) {
            self.0.push(vec![1; size]);
        }
    }
}
