//! A publisher in a process of its own: this test program, started again for one "test".

use hopwatch_tap::{Durability, Qos, Reliability};
use r2r::QosProfile;
use r2r::hopwatch_msgs::msg::Census;
pub(crate) use r2r::hopwatch_msgs::msg::RobotMessage;
use std::env;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The node's name.
pub(crate) const NODE: &str = "peer";

/// A running publisher. Dropping it ends it in order, so that it leaves nothing in /dev/shm.
pub(crate) struct Peer(Child);

/// What a publisher does.
#[derive(Clone, Copy)]
pub(crate) struct Plan<'a> {
    pub(crate) domain: usize,
    pub(crate) topic: &'a str,
    pub(crate) qos: Qos,
    /// Messages; `message(0)`, `message(1)`, ….
    pub(crate) count: i32,
    pub(crate) period: Duration,
    /// Not to begin before a subscription is matched.
    pub(crate) wait: bool,
}

impl Peer {
    pub(crate) fn start(plan: Plan<'_>) -> Self {
        Self::start_with(plan, &[])
    }

    /// With more of the variables that `publish` reads.
    pub(crate) fn start_with(plan: Plan<'_>, more: &[(&str, &str)]) -> Self {
        Self::spawn(Command::new(env::current_exe().unwrap()), plan, more)
    }

    /// With a /dev/shm of its own, and the network that all share: a container without the host's
    /// IPC. `Err` tells why that can't be had here.
    pub(crate) fn start_apart(plan: Plan<'_>) -> Result<Self, String> {
        let unshare = |script: &str| {
            let mut command = Command::new("unshare");
            command.args(["--mount", "--propagation", "private", "sh", "-c", script]);
            command
        };
        let mount = "mount -t tmpfs tmpfs /dev/shm";
        let tried = unshare(mount).output().map_err(|error| format!("unshare: {error}"))?;
        if !tried.status.success() {
            return Err(String::from_utf8_lossy(&tried.stderr).trim().to_owned());
        }
        let mut command = unshare(&format!("{mount} && exec \"$0\" \"$@\""));
        command.arg(env::current_exe().unwrap());
        Ok(Self::spawn(command, plan, &[]))
    }

    fn spawn(mut command: Command, plan: Plan<'_>, more: &[(&str, &str)]) -> Self {
        super::loopback_only();
        let child = command
            .args(["--exact", "peer::publish", "--ignored", "--nocapture"])
            .env("ROS_DOMAIN_ID", plan.domain.to_string())
            .env("PEER_TOPIC", plan.topic)
            .env("PEER_RELIABILITY", plan.qos.reliability.to_string())
            .env("PEER_DURABILITY", plan.qos.durability.to_string())
            .env("PEER_DEPTH", plan.qos.depth.to_string())
            .env("PEER_COUNT", plan.count.to_string())
            .env("PEER_PERIOD_US", plan.period.as_micros().to_string())
            .env("PEER_WAIT", plan.wait.to_string())
            .envs(more.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self(child)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The end of its standard input tells it to end.
        drop(self.0.stdin.take());
        let deadline = Instant::now() + super::PATIENCE;
        while self.0.try_wait().unwrap().is_none() {
            if Instant::now() > deadline {
                self.0.kill().unwrap();
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The message of an index: every field holds something that depends on it.
pub(crate) fn message(index: i32) -> RobotMessage {
    let mut message = RobotMessage::default();
    message.header.message_id = format!("message-{index}");
    message.header.timestamp_sec = 1_700_000_000 + i64::from(index);
    message.header.timestamp_nsec = i64::from(index);
    message.header.robot_id = "robot_001".into();
    message.header.message_type = "status".into();
    message.header.priority = 1 + index % 5;
    message.header.sequence = index;
    message.battery = 100.0 - f64::from(index) / 16.0;
    message.robot_status = "running".into();
    message.command = "é".repeat(usize::try_from(index % 7).unwrap());
    message.error_message = "x".repeat(usize::try_from(index).unwrap());
    message
}

/// Not a test: the publisher's process.
#[test]
#[ignore = "the other tests start it as a process of its own"]
fn publish() {
    let Ok(topic) = env::var("PEER_TOPIC") else {
        return;
    };
    let set = |name: &str| env::var(name).unwrap();
    let number = |name: &str| set(name).parse::<u64>().unwrap();

    let done = Arc::new(AtomicBool::new(false));
    thread::spawn({
        let done = Arc::clone(&done);
        move || {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            done.store(true, Ordering::Relaxed);
        }
    });

    let mut qos = QosProfile::default().keep_last(usize::try_from(number("PEER_DEPTH")).unwrap());
    qos = if set("PEER_RELIABILITY") == Reliability::Reliable.to_string() {
        qos.reliable()
    } else {
        qos.best_effort()
    };
    qos = if set("PEER_DURABILITY") == Durability::TransientLocal.to_string() {
        qos.transient_local()
    } else {
        qos.volatile()
    };
    if let Ok(ms) = env::var("PEER_DEADLINE_MS") {
        qos = qos.deadline(Duration::from_millis(ms.parse().unwrap()));
    }
    let context = r2r::Context::create().unwrap();
    let mut node = r2r::Node::create(context, NODE, "").unwrap();
    if env::var_os("PEER_OTHER_TYPE").is_some() {
        let _publisher = node.create_publisher::<Census>(&topic, qos).unwrap();
        while !done.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(5));
        }
        return;
    }
    let publisher = node.create_publisher::<RobotMessage>(&topic, qos).unwrap();
    let done = || done.load(Ordering::Relaxed);
    while set("PEER_WAIT") == "true"
        && publisher.get_inter_process_subscription_count().unwrap() == 0
        && !done()
    {
        thread::sleep(Duration::from_millis(1));
    }
    for index in 0..i32::try_from(number("PEER_COUNT")).unwrap() {
        if done() {
            break;
        }
        publisher.publish(&message(index)).unwrap();
        thread::sleep(Duration::from_micros(number("PEER_PERIOD_US")));
    }
    while !done() {
        thread::sleep(Duration::from_millis(5));
    }
}
