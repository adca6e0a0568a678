//! The tap against real DDS: messages, their stamps and counts, `QoS` events, the end.
//!
//! Publishers are processes of their own (this test program again, see `peer`), each test in a
//! ROS domain of its own, nothing beyond this host.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod ending;
mod lending;
mod looking;
mod peer;
mod refusal;
mod taking;
mod writing;

use hopwatch_tap::{Qos, Subscription, Tap, TapConfig, TapEvent, TypeSupport};
use peer::RobotMessage;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Longer than discovery and any exchange here takes, by far.
const PATIENCE: Duration = Duration::from_secs(30);

/// A tap and what its sink was given.
struct Listening {
    tap: Tap,
    events: Receiver<TapEvent>,
    log: Vec<String>,
}

impl Listening {
    fn to(domain: usize, topic: &str, qos: Qos) -> Self {
        loopback_only();
        let (sink, events) = channel();
        let tap = Tap::start(config(domain, topic, qos), move |event| {
            let _ = sink.send(event);
        })
        .unwrap();
        Self { tap, events, log: Vec::new() }
    }

    /// The next thing that `pick` wants of the events; others are passed over.
    fn next<T>(&mut self, what: &str, mut pick: impl FnMut(TapEvent) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(left) {
                Ok(event) => {
                    self.log.push(short(&event));
                    if let Some(picked) = pick(event) {
                        return picked;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    panic!("no {what} within {PATIENCE:?}; seen: {:?}", self.log)
                }
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("the tap ended before {what}; seen: {:?}", self.log)
                }
            }
        }
    }
}

fn short(event: &TapEvent) -> String {
    match event {
        TapEvent::Taken { message, .. } => format!("Taken {:?}", message.publication_sequence),
        other => format!("{other:?}"),
    }
}

fn config(domain: usize, topic: &str, qos: Qos) -> TapConfig {
    TapConfig {
        node_name: "tap_test".into(),
        namespace: String::new(),
        domain_id: Some(domain),
        subscriptions: vec![Subscription {
            topic: topic.into(),
            type_support: TypeSupport::of::<RobotMessage>(),
            qos,
        }],
    }
}

/// Refuses to talk DDS beyond this host.
fn loopback_only() {
    assert_eq!(
        std::env::var("ROS_AUTOMATIC_DISCOVERY_RANGE").as_deref(),
        Ok("LOCALHOST"),
        "these tests talk DDS: run them with ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST, so that \
         nothing leaves this host"
    );
}
