//! A subscriber: it takes what comes until the publisher is gone.

use super::{QOS, Role, Shapes, ready};
use crate::say;
use anyhow::{Context, ensure};
use hopwatch_kit::Shutdown;
use hopwatch_kit::clock::mono_ns;
use hopwatch_lab::shapes::Taken;
use hopwatch_tap::{Subscription, Tap, TapConfig, TapEvent, TypeSupport};
use serde_json::json;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So long nothing may come once the publisher is gone.
const QUIET: Duration = Duration::from_millis(500);

/// What has come so far.
#[derive(Debug, Default)]
struct Come {
    at_ns: Vec<i64>,
    bytes: u64,
    as_due: bool,
    trouble: Option<anyhow::Error>,
}

/// Takes; `read` does with each message's bytes what the subscriber is for, on the tap's thread, so
/// that the next message waits for it.
pub(super) fn take(
    args: &Shapes,
    asked: &Shutdown,
    read: impl Fn(&[u8]) -> anyhow::Result<bool> + Send + 'static,
) -> anyhow::Result<()> {
    let come = Arc::new(Mutex::new(Come::default()));
    let tap = Tap::start(config(args)?, {
        let come = Arc::clone(&come);
        move |event| {
            if let TapEvent::Taken { message, .. } = event {
                let read = read(&message.bytes);
                let at_ns = mono_ns();
                let mut come = come.lock().unwrap_or_else(PoisonError::into_inner);
                come.at_ns.push(at_ns);
                come.bytes = u64::try_from(message.bytes.len()).unwrap_or(u64::MAX);
                match read {
                    Ok(as_due) => come.as_due = as_due,
                    Err(error) => come.trouble = Some(error),
                }
            }
        }
    })?;
    ready()?;
    wait(args, asked, &tap, &come)?;
    tap.stop()?;
    let mut come = come.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(trouble) = come.trouble.take() {
        return Err(trouble);
    }
    let received = u64::try_from(come.at_ns.len())?;
    ensure!(received == 0 || come.as_due, "what arrived is not what was sent");
    let raw = args.role == Role::TakeRaw && received > 0;
    let bytes = raw.then_some(come.bytes);
    say(&json!({ "took": Taken { received, at_ns: std::mem::take(&mut come.at_ns), bytes } }))
}

fn config(args: &Shapes) -> anyhow::Result<TapConfig> {
    let name = if args.role == Role::TakeRaw { "shapes_take_raw" } else { "shapes_take" };
    Ok(TapConfig {
        node_name: name.to_owned(),
        namespace: String::new(),
        domain_id: None,
        subscriptions: vec![Subscription {
            topic: args.topic.clone(),
            type_support: TypeSupport::named(&args.of.to_string())?,
            qos: QOS,
        }],
    })
}

fn wait(args: &Shapes, asked: &Shutdown, tap: &Tap, come: &Mutex<Come>) -> anyhow::Result<()> {
    let deadline = Instant::now() + Duration::from_millis(args.for_ms.into());
    let mut had_publisher = false;
    let (mut seen, mut quiet_since) = (0, Instant::now());
    while Instant::now() < deadline && !asked.has_begun() {
        std::thread::sleep(Duration::from_millis(20));
        let publishers = tap.publishers(&args.topic).context("failed to look for publishers")?;
        let now = come.lock().unwrap_or_else(PoisonError::into_inner).at_ns.len();
        had_publisher |= !publishers.is_empty() || now > 0;
        if now != seen || !publishers.is_empty() {
            (seen, quiet_since) = (now, Instant::now());
        }
        if had_publisher && quiet_since.elapsed() > QUIET {
            break;
        }
    }
    Ok(())
}
