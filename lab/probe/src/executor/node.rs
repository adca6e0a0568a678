//! The node under test in Rust: a spin thread with the loop, a thread that takes scans, and a pool of
//! workers for what is heavy.

use super::messages::twist;
use super::pool::{Pool, sines};
use super::{COMMANDS, Executor, QOS, SCAN};
use crate::{ending, say};
use hopwatch_kit::clock::mono_ns;
use hopwatch_tap::{Subscription, Tap, TapConfig, TapEvent, TypeSupport, Writer, WriterConfig};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long scans may keep a node waiting: discovery takes seconds at most.
const NO_SCAN_NS: i64 = 30_000_000_000;

pub(super) fn run(args: &Executor) -> anyhow::Result<()> {
    let ending = ending()?;
    let writer = Writer::new(&WriterConfig {
        node_name: "lab_loop".to_owned(),
        namespace: String::new(),
        domain_id: None,
        topic: COMMANDS.to_owned(),
        type_support: TypeSupport::named("geometry_msgs/msg/Twist")?,
        qos: QOS,
    })?;
    let pool = Pool::start(args.threads, sines)?;
    let (intake, heavy) = (pool.intake(), args.heavy);
    let taken = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&taken);
    let tap = Tap::start(
        TapConfig {
            node_name: "lab_scans".to_owned(),
            namespace: String::new(),
            domain_id: None,
            subscriptions: vec![Subscription {
                topic: SCAN.to_owned(),
                type_support: TypeSupport::named("sensor_msgs/msg/LaserScan")?,
                qos: QOS,
            }],
        },
        move |event| {
            if let TapEvent::Taken { .. } = event {
                count.fetch_add(1, Ordering::Relaxed);
                intake.put(heavy);
            }
        },
    )?;
    say(&json!({ "ready": true }))?;
    // A loop that has nothing beside it is another one: it counts from the first scan on.
    let patience = mono_ns() + NO_SCAN_NS;
    while taken.load(Ordering::Relaxed) == 0 && !ending.has_begun() {
        anyhow::ensure!(mono_ns() < patience, "no scan came within 30 s");
        std::thread::sleep(Duration::from_millis(1));
    }
    let period = i64::from(args.period_ms) * 1_000_000;
    let first = mono_ns() + period;
    let last = first + i64::from(args.for_ms) * 1_000_000;
    let mut turns = Vec::new();
    let mut due = first;
    while due <= last && !ending.has_begun() {
        let wait = u64::try_from(due - mono_ns()).unwrap_or(0);
        std::thread::sleep(Duration::from_nanos(wait));
        let now = mono_ns();
        turns.push(now);
        writer.publish(&twist(0.5))?;
        // As a timer of ROS: a turn that was missed as a whole isn't made up for.
        due += period * ((now - due) / period + 1);
    }
    tap.stop()?;
    let workers = pool.end();
    let heavy: Vec<i64> = workers.concat();
    let mut callbacks: Vec<[usize; 2]> = vec![[turns.len(), 0]];
    callbacks.extend(workers.iter().map(|done| [0, done.len()]));
    say(&json!({ "node": {
        "turns_ns": turns.iter().map(|at| at - turns.first().unwrap_or(at)).collect::<Vec<_>>(),
        "heavy_ns": heavy,
        "callbacks": callbacks,
        "taken": taken.load(Ordering::Relaxed),
    } }))
}
