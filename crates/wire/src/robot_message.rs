//! `hopwatch_msgs/msg/RobotMessage` and `Census`: from their CDR, and to the JSON of services.
//!
//! Hopwatch reads the bytes itself: ROS client libraries replace text that isn't UTF-8 by
//! nothing and cut it at a NUL, and a profiler must not change what it carries without a word.

use hopwatch_model::{Census, ClockId, Ns};
use hopwatch_rosmsg::cdr::{CdrError, Reader};
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// The type that Hopwatch's robots publish, by its ROS name.
pub const ROBOT_MESSAGE: &str = "hopwatch_msgs/msg/RobotMessage";

/// A robot message (SEEDS S1).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RobotMessage<'a> {
    /// Who, what, when, in which order.
    pub header: Header<'a>,
    /// Battery in percent. NaN and infinities become the strings `"NaN"`, `"Infinity"` and
    /// `"-Infinity"` in JSON, which has no numbers for them.
    #[serde(serialize_with = "float")]
    pub battery: f64,
    /// "running", "idle" or "error".
    pub robot_status: Cow<'a, str>,
    /// The command, if the message is one.
    pub command: Cow<'a, str>,
    /// The error, if the message is an alert.
    pub error_message: Cow<'a, str>,
}

/// The header of a robot message.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Header<'a> {
    /// A UUID, for the detection of duplicates.
    pub message_id: Cow<'a, str>,
    /// Publication, Unix time: whole seconds.
    pub timestamp_sec: i64,
    /// Publication, Unix time: nanoseconds.
    pub timestamp_nsec: i64,
    /// The robot ("robot_001").
    pub robot_id: Cow<'a, str>,
    /// "status", "alert" or "command".
    pub message_type: Cow<'a, str>,
    /// 1 (normal) to 5 (urgent).
    pub priority: i32,
    /// Order and loss.
    pub sequence: i32,
}

/// Something odd about a message that does not stop it; counted by these names.
pub mod oddity {
    use hopwatch_rosmsg::Oddity;

    /// A float is NaN or infinite.
    pub const NOT_FINITE: &str = Oddity::NotFinite.name();
    /// A text isn't UTF-8: the bytes at fault became U+FFFD.
    pub const NOT_UTF8: &str = Oddity::NotUtf8.name();
    /// A text holds NUL.
    pub const HOLDS_NUL: &str = Oddity::HoldsNul.name();
    /// A text has no terminator. Of foreign types; a robot message is refused for it.
    pub const UNTERMINATED: &str = Oddity::Unterminated.name();
    /// A wide text isn't UTF-16: the code units at fault became U+FFFD.
    pub const NOT_UTF16: &str = Oddity::NotUtf16.name();
    /// Bytes follow the last field. Of foreign types; a robot message is refused for it.
    pub const LEFT_OVER: &str = Oddity::LeftOver.name();
    /// The header's time is no Unix time: nanoseconds outside 0..10⁹, beyond what fits, or
    /// before September 2001.
    pub const BAD_TIME: &str = "bad_time";
}

impl<'a> RobotMessage<'a> {
    /// Decodes the CDR of a message, and tells what is odd about it.
    pub fn decode(cdr: &'a [u8]) -> Result<(Self, Vec<&'static str>), CdrError> {
        let mut odd = Vec::new();
        let mut r = Reader::new(cdr)?;
        let message = Self {
            header: Header {
                message_id: text(&mut r, &mut odd)?,
                timestamp_sec: r.i64()?,
                timestamp_nsec: r.i64()?,
                robot_id: text(&mut r, &mut odd)?,
                message_type: text(&mut r, &mut odd)?,
                priority: r.i32()?,
                sequence: r.i32()?,
            },
            battery: r.f64()?,
            robot_status: text(&mut r, &mut odd)?,
            command: text(&mut r, &mut odd)?,
            error_message: text(&mut r, &mut odd)?,
        };
        r.end()?;
        if !message.battery.is_finite() {
            odd.push(oddity::NOT_FINITE);
        }
        if message.header.published_ns().is_none() {
            odd.push(oddity::BAD_TIME);
        }
        odd.sort_unstable();
        odd.dedup();
        Ok((message, odd))
    }
}

/// No robot message was published before September 2001: a header with an earlier time was not
/// stamped, or by a clock that counts from something else (boot, a simulation).
const EARLIEST_NS: Ns = 1_000_000_000_000_000_000;

impl Header<'_> {
    /// The time of publication in ns of Unix time; `None` when the fields aren't one.
    pub fn published_ns(&self) -> Option<Ns> {
        published_ns(self.timestamp_sec, self.timestamp_nsec)
    }
}

/// A time of publication in ns of Unix time; `None` when the two numbers aren't one: nanoseconds
/// outside 0..10⁹, beyond what fits, or before September 2001.
pub fn published_ns(sec: i64, nanosec: i64) -> Option<Ns> {
    if !(0..1_000_000_000).contains(&nanosec) {
        return None;
    }
    let ns = sec.checked_mul(1_000_000_000)?.checked_add(nanosec)?;
    (ns >= EARLIEST_NS).then_some(ns)
}

/// Decodes the CDR of `hopwatch_msgs/msg/Census`.
///
/// Gives the topic that it counts, too. A census whose counts are negative or whose rate isn't a
/// positive number is refused as `None`: it is no robot of ours.
pub fn decode_census(cdr: &[u8]) -> Result<Option<(String, Census)>, CdrError> {
    let mut r = Reader::new(cdr)?;
    let mut odd = Vec::new();
    let robot_id = text(&mut r, &mut odd)?.into_owned();
    let instance = text(&mut r, &mut odd)?.into_owned();
    let topic = text(&mut r, &mut odd)?.into_owned();
    let clock = ClockId::new(text(&mut r, &mut odd)?.as_ref());
    let schedule_start_ns = r.i64()?;
    let rate_hz = r.f64()?;
    let first_sequence = r.i32()?;
    let published = r.i64()?;
    let failed = r.i64()?;
    let last = r.bool()?;
    r.end()?;
    let counts = u64::try_from(published).ok().zip(u64::try_from(failed).ok());
    Ok(counts.filter(|_| rate_hz.is_finite() && rate_hz > 0.0).map(|(published, failed)| {
        let census = Census {
            robot_id,
            instance,
            clock,
            schedule_start_ns,
            rate_hz,
            first_sequence,
            published,
            failed,
            last,
        };
        (topic, census)
    }))
}

fn text<'a>(r: &mut Reader<'a>, odd: &mut Vec<&'static str>) -> Result<Cow<'a, str>, CdrError> {
    let bytes = r.string()?;
    let text = String::from_utf8_lossy(bytes);
    // Borrowed means that every byte was UTF-8.
    if matches!(text, Cow::Owned(_)) {
        odd.push(oddity::NOT_UTF8);
    }
    if bytes.contains(&0) {
        odd.push(oddity::HOLDS_NUL);
    }
    Ok(text)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn float<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.is_finite() {
        serializer.serialize_f64(*value)
    } else if value.is_nan() {
        serializer.serialize_str("NaN")
    } else {
        serializer.serialize_str(if *value > 0.0 { "Infinity" } else { "-Infinity" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Writes little-endian XCDR1, as Fast DDS does here.
    struct Writer(Vec<u8>);

    impl Writer {
        fn new() -> Self {
            Self(vec![0, 1, 0, 0])
        }
        fn put(mut self, bytes: &[u8], align: usize) -> Self {
            let to = (self.0.len() - 4).next_multiple_of(align) + 4;
            self.0.resize(to, 0);
            self.0.extend_from_slice(bytes);
            self
        }
        fn string(self, bytes: &[u8]) -> Self {
            let length = u32::try_from(bytes.len() + 1).unwrap();
            self.put(&length.to_le_bytes(), 4).put(bytes, 1).put(&[0], 1)
        }
    }

    fn message(id: &[u8], sec: i64, nsec: i64, battery: f64, error: &[u8]) -> Vec<u8> {
        Writer::new()
            .string(id)
            .put(&sec.to_le_bytes(), 8)
            .put(&nsec.to_le_bytes(), 8)
            .string(b"robot_001")
            .string(b"status")
            .put(&1i32.to_le_bytes(), 4)
            .put(&42i32.to_le_bytes(), 4)
            .put(&battery.to_le_bytes(), 8)
            .string(b"running")
            .string(b"")
            .string(error)
            .0
    }

    #[test]
    fn decodes_a_plain_message() {
        let cdr = message(b"id", 1_700_000_000, 5, 97.5, b"");
        let (m, odd) = RobotMessage::decode(&cdr).unwrap();
        assert_eq!(odd, Vec::<&str>::new());
        assert_eq!(m.header.published_ns(), Some(1_700_000_000_000_000_005));
        assert_eq!((m.header.sequence, m.battery), (42, 97.5));
        let json = serde_json::to_value(&m).unwrap();
        assert_eq!(json["header"]["robot_id"], "robot_001");
        assert_eq!(json["battery"], 97.5);
    }

    #[test]
    fn a_census_tells_its_topic_and_impossible_ones_are_refused() {
        let census = |rate: f64, published: i64| {
            let cdr = Writer::new()
                .string(b"robot_001")
                .string(b"i")
                .string(b"/t")
                .string(b"c")
                .put(&7i64.to_le_bytes(), 8)
                .put(&rate.to_le_bytes(), 8)
                .put(&0i32.to_le_bytes(), 4)
                .put(&published.to_le_bytes(), 8)
                .put(&1i64.to_le_bytes(), 8)
                .put(&[1], 1);
            decode_census(&cdr.0).unwrap()
        };
        let (topic, told) = census(2.0, 5).unwrap();
        assert_eq!((topic.as_str(), told.robot_id.as_str()), ("/t", "robot_001"));
        assert_eq!((told.published, told.failed, told.last), (5, 1, true));
        assert_eq!((told.clock.as_str(), told.schedule_start_ns), ("c", 7));
        assert!(census(0.0, 5).is_none() && census(f64::NAN, 5).is_none());
        assert!(census(2.0, -1).is_none());
    }

    #[test]
    fn oddities_are_carried_and_named() {
        for (value, text) in
            [(f64::NAN, "NaN"), (f64::INFINITY, "Infinity"), (f64::NEG_INFINITY, "-Infinity")]
        {
            let cdr = message(b"id", 1_700_000_000, 0, value, b"");
            let (m, odd) = RobotMessage::decode(&cdr).unwrap();
            assert_eq!(odd, [oddity::NOT_FINITE]);
            assert_eq!(serde_json::to_value(&m).unwrap()["battery"], text);
        }
        let cdr = message(b"a\xffb", 0, 1_000_000_000, 1.0, b"x\0y");
        let (m, odd) = RobotMessage::decode(&cdr).unwrap();
        assert_eq!(odd, [oddity::BAD_TIME, oddity::HOLDS_NUL, oddity::NOT_UTF8]);
        assert_eq!((&*m.header.message_id, &*m.error_message), ("a\u{fffd}b", "x\0y"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = RobotMessage::decode(&bytes);
            let _ = decode_census(&bytes);
        }

        #[test]
        fn no_cut_message_decodes(cut in 0usize..120) {
            let cdr = message(b"0123456789", 1, 2, 3.0, b"an error");
            prop_assume!(cut < cdr.len());
            prop_assert!(RobotMessage::decode(&cdr[..cut]).is_err());
        }
    }
}
