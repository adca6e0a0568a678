//! The publisher: each step alone, then publishing at the rate.

use super::{Publishing, Shapes, ready, timed, written};
use crate::say;
use anyhow::{bail, ensure};
use hopwatch_kit::Shutdown;
use hopwatch_kit::clock::mono_ns;
use hopwatch_kit::timer::sharpen_this_thread;
use hopwatch_lab::shapes::{Bench, Paced};
use serde_json::json;
use std::time::{Duration, Instant};

/// Iterations that are made whatever they take.
const AT_LEAST: usize = 5;
/// How long subscriptions are waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// A writer knows of a match before the reader does, who takes nothing until then: what is sent
/// meanwhile would look like loss.
const SETTLING: Duration = Duration::from_millis(500);
/// So that the last messages leave before the publisher does.
const LEAVING: Duration = Duration::from_millis(300);

/// Does all of it.
pub(super) fn publish(
    args: &Shapes,
    asked: &Shutdown,
    publishing: &impl Publishing,
) -> anyhow::Result<()> {
    ready()?;
    let bench = bench(args, asked, publishing)?;
    say(&json!({ "bench": bench }))?;
    if args.subscribers > 0 && wait_for_subscribers(args, asked, publishing)? {
        let paced = paced(args, asked, publishing)?;
        say(&json!({ "paced": paced }))?;
        std::thread::sleep(LEAVING);
    }
    Ok(())
}

fn bench<P: Publishing>(args: &Shapes, asked: &Shutdown, publishing: &P) -> anyhow::Result<Bench> {
    let mut all = Bench {
        bytes: 0,
        construct_ns: Vec::new(),
        serialize_ns: Vec::new(),
        publish_ns: Vec::new(),
        deserialize_ns: Vec::new(),
        round_trips: 0,
        sizes: Vec::new(),
    };
    let deadline = Instant::now() + Duration::from_millis(args.within_ms.into());
    let mut bytes = Vec::new();
    for done in 0..args.warm_up + args.iterations {
        let late = Instant::now() >= deadline && done >= args.warm_up + AT_LEAST;
        if late || asked.has_begun() {
            break;
        }
        let (construct_ns, message) = timed(|| Ok(publishing.construct()))?;
        let (serialize_ns, serialized) = timed(|| publishing.serialize(&message))?;
        let (publish_ns, ()) = timed(|| publishing.publish(&message))?;
        let (deserialize_ns, back) = timed(|| publishing.deserialize(&serialized))?;
        ensure!(publishing.same(&message, &back), "the round trip changed the message");
        all.round_trips += 1;
        bytes = serialized;
        if done >= args.warm_up {
            all.construct_ns.push(construct_ns);
            if !P::IS_BYTES {
                all.serialize_ns.push(serialize_ns);
            }
            all.publish_ns.push(publish_ns);
            all.deserialize_ns.push(deserialize_ns);
        }
    }
    all.bytes = u64::try_from(bytes.len())?;
    if let Some(path) = &args.bytes {
        written(path, &bytes)?;
    }
    for n in &args.sizes {
        all.sizes.push((*n, publishing.size_at(args, *n)?));
    }
    Ok(all)
}

/// False when the end was asked for.
fn wait_for_subscribers(
    args: &Shapes,
    asked: &Shutdown,
    publishing: &impl Publishing,
) -> anyhow::Result<bool> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let matched = publishing.matched()?;
        if matched >= args.subscribers {
            std::thread::sleep(SETTLING);
            return Ok(!asked.has_begun());
        }
        if asked.has_begun() {
            return Ok(false);
        }
        if Instant::now() > deadline {
            bail!(
                "only {matched} of {} subscriptions came within {} s",
                args.subscribers,
                PATIENCE.as_secs()
            );
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "times of a few seconds at rates of some Hz are far below 2^53 ns"
)]
fn paced(args: &Shapes, asked: &Shutdown, publishing: &impl Publishing) -> anyhow::Result<Paced> {
    ensure!(args.rate_hz.is_finite() && args.rate_hz > 0.0, "--rate-hz must be above 0");
    sharpen_this_thread();
    let period_ns = 1e9 / args.rate_hz;
    let due = (f64::from(args.paced_ms) * args.rate_hz / 1000.0).ceil() as i64;
    let begun = mono_ns() + 50_000_000;
    let mut all = Paced {
        due: u64::try_from(due)?,
        sent: 0,
        build_ns: Vec::new(),
        publish_ns: Vec::new(),
        late_ns: Vec::new(),
        took_ns: 0,
    };
    let mut at = 0;
    while at < due && !asked.has_begun() {
        let intended = begun + (at as f64 * period_ns) as i64;
        if let Ok(left) = u64::try_from(intended - mono_ns()) {
            std::thread::sleep(Duration::from_nanos(left));
        }
        let (build_ns, message) = timed(|| Ok(publishing.construct()))?;
        all.late_ns.push(mono_ns() - intended);
        let (publish_ns, ()) = timed(|| publishing.publish(&message))?;
        all.took_ns = mono_ns() - begun;
        all.sent += 1;
        all.build_ns.push(build_ns);
        all.publish_ns.push(publish_ns);
        // What is past by a whole period is left out: it would only come in a burst.
        at = (at + 1).max((all.took_ns as f64 / period_ns) as i64);
    }
    Ok(all)
}
