//! What the messages say. The same seed gives the same contents; ids and times differ.

use crate::schedule::sequence;
use hopwatch_model::Ns;
use r2r::WrappedTypesupport;
use r2r::hopwatch_msgs::msg::RobotMessage;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use uuid::Uuid;

const COMMANDS: &[&str] = &["dock", "resume", "pause", "move_to 4.20 1.75", "set_speed 0.8"];
const ERRORS: &[&str] = &[
    "motor 2 over temperature",
    "lidar returns no points",
    "path blocked for 12 s",
    "emergency stop pressed",
];

/// Percent of charge that one message costs.
const CHARGE_PER_MESSAGE: f64 = 0.01;

/// Below that charge a robot has been put on the charger and is full again.
const LOWEST_CHARGE: f64 = 10.0;

/// One robot's messages, one after another.
pub struct Content {
    robot_id: String,
    index: u64,
    random: ChaCha8Rng,
}

impl Content {
    /// The messages of a robot (from 0).
    pub fn new(robot: u32, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(u64::from(robot));
        Self { robot_id: robot_id(robot), index: 0, random }
    }

    /// The next message, but for its time.
    pub fn next_message(&mut self) -> RobotMessage {
        let mut message = RobotMessage::default();
        let header = &mut message.header;
        header.message_id = Uuid::new_v4().to_string();
        header.robot_id.clone_from(&self.robot_id);
        header.sequence = sequence(self.index);
        message.battery = charge(self.index);
        // Mostly nothing special, now and then a wish, seldom trouble.
        match self.random.random_range(0..100) {
            0..85 => {
                "status".clone_into(&mut header.message_type);
                header.priority = self.random.random_range(1..=2);
                message.robot_status = pick(&["running", "running", "idle"], &mut self.random);
            }
            85..95 => {
                "command".clone_into(&mut header.message_type);
                header.priority = 3;
                "running".clone_into(&mut message.robot_status);
                message.command = pick(COMMANDS, &mut self.random);
            }
            _ => {
                "alert".clone_into(&mut header.message_type);
                header.priority = self.random.random_range(4..=5);
                "error".clone_into(&mut message.robot_status);
                message.error_message = pick(ERRORS, &mut self.random);
            }
        }
        self.index += 1;
        message
    }
}

/// Sets the time of publication (Unix time in ns).
pub fn stamp(message: &mut RobotMessage, wall_ns: Ns) {
    message.header.timestamp_sec = wall_ns.div_euclid(1_000_000_000);
    message.header.timestamp_nsec = wall_ns.rem_euclid(1_000_000_000);
}

/// The id of a robot (from 0): `robot_001`, `robot_002`, ….
pub fn robot_id(robot: u32) -> String {
    format!("robot_{:03}", robot + 1)
}

/// Falls slowly, and is full again when it got low.
#[expect(clippy::cast_precision_loss, reason = "indices stay far below 2^53")]
fn charge(index: u64) -> f64 {
    100.0 - (index as f64 * CHARGE_PER_MESSAGE) % (100.0 - LOWEST_CHARGE)
}

fn pick(texts: &[&str], random: &mut ChaCha8Rng) -> String {
    (*texts.choose(random).unwrap_or(&"")).to_owned()
}

/// The message with its last field, `error_message`, lengthened until the whole has at least `bytes`
/// bytes when serialized.
pub fn padded(message: &RobotMessage, bytes: usize) -> Result<RobotMessage, r2r::Error> {
    let mut padded = message.clone();
    if bytes > 0 {
        let missing = bytes.saturating_sub(message.to_serialized_bytes()?.len());
        padded.error_message.extend(std::iter::repeat_n('.', missing));
    }
    Ok(padded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn messages(robot: u32, seed: u64, payload_bytes: usize, count: usize) -> Vec<RobotMessage> {
        let mut content = Content::new(robot, seed);
        (0..count).map(|_| padded(&content.next_message(), payload_bytes).unwrap()).collect()
    }

    fn without_id(mut messages: Vec<RobotMessage>) -> Vec<RobotMessage> {
        for message in &mut messages {
            message.header.message_id.clear();
        }
        messages
    }

    #[test]
    fn a_seed_gives_the_same_contents_and_no_id_twice() {
        let (a, b) = (messages(0, 5, 0, 500), messages(0, 5, 0, 500));
        let ids: BTreeSet<_> = a.iter().chain(&b).map(|m| m.header.message_id.clone()).collect();
        assert_eq!(ids.len(), 1_000);
        assert!(ids.iter().all(|id| Uuid::parse_str(id).unwrap().get_version_num() == 4));
        let a = without_id(a);
        assert_eq!(a, without_id(b));
        assert_ne!(a, without_id(messages(0, 6, 0, 500)));
        let mut of_another_robot = without_id(messages(1, 5, 0, 500));
        assert!(of_another_robot.iter().all(|m| m.header.robot_id == "robot_002"));
        for message in &mut of_another_robot {
            message.header.robot_id = "robot_001".into();
        }
        assert_ne!(a, of_another_robot);
    }

    #[test]
    fn messages_are_what_the_interface_says() {
        let messages = messages(0, 1, 0, 2_000);
        let of = |kind: &str| messages.iter().filter(|m| m.header.message_type == kind).count();
        assert_eq!(of("status") + of("command") + of("alert"), 2_000);
        assert!(of("status") > of("command") && of("command") > of("alert") && of("alert") > 0);
        for (index, message) in messages.iter().enumerate() {
            assert_eq!(message.header.sequence, i32::try_from(index).unwrap());
            assert_eq!(message.header.robot_id, "robot_001");
            let range = match message.header.message_type.as_str() {
                "status" => 1..=2,
                "command" => 3..=3,
                _ => 4..=5,
            };
            assert!(range.contains(&message.header.priority), "{message:?}");
            assert!(["running", "idle", "error"].contains(&message.robot_status.as_str()));
            assert_eq!(message.command.is_empty(), message.header.message_type != "command");
            assert_eq!(message.error_message.is_empty(), message.header.message_type != "alert");
        }
        assert!(messages.windows(2).all(|pair| pair[1].battery < pair[0].battery));
    }

    #[test]
    fn charge_stays_within_a_battery() {
        for index in (0..100_000).chain([u64::from(u32::MAX)]) {
            assert!((LOWEST_CHARGE..=100.0).contains(&charge(index)));
        }
    }

    #[test]
    fn messages_are_padded_to_the_size_asked_for() {
        for bytes in [512, 513, 514, 515, 100_000] {
            for message in messages(0, 1, bytes, 30) {
                assert_eq!(message.to_serialized_bytes().unwrap().len(), bytes);
            }
        }
        // A size below that of the content itself leaves it as it is.
        assert_eq!(without_id(messages(0, 1, 10, 30)), without_id(messages(0, 1, 0, 30)));
    }

    #[test]
    fn stamps_are_split_into_seconds() {
        let mut message = RobotMessage::default();
        stamp(&mut message, 1_700_000_000_000_000_042);
        assert_eq!(message.header.timestamp_sec, 1_700_000_000);
        assert_eq!(message.header.timestamp_nsec, 42);
    }
}
