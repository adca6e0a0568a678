//! The laser: scans on an absolute schedule, whatever the node does.

use super::messages::scan;
use super::{Executor, QOS, SCAN};
use crate::{ending, say};
use hopwatch_kit::clock::{mono_ns, wall_ns};
use hopwatch_tap::{TypeSupport, Writer, WriterConfig};
use serde_json::json;
use std::time::Duration;

pub(super) fn run(args: &Executor) -> anyhow::Result<()> {
    let ending = ending()?;
    let writer = Writer::new(&WriterConfig {
        node_name: "lab_laser".to_owned(),
        namespace: String::new(),
        domain_id: None,
        topic: SCAN.to_owned(),
        type_support: TypeSupport::named("sensor_msgs/msg/LaserScan")?,
        qos: QOS,
    })?;
    say(&json!({ "ready": true }))?;
    let began = mono_ns();
    let last = began + i64::from(args.for_ms) * 1_000_000;
    let mut published: i64 = 0;
    loop {
        // From the number: a sum of rounded periods drifts.
        let due = began + published * 1_000_000_000 / i64::from(args.rate_hz);
        if due >= last || ending.has_begun() {
            break;
        }
        let wait = u64::try_from(due - mono_ns()).unwrap_or(0);
        std::thread::sleep(Duration::from_nanos(wait));
        writer.publish(&scan(wall_ns()))?;
        published += 1;
    }
    say(&json!({ "scans": { "published": published } }))
}
