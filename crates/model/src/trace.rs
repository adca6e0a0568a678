//! Traces: the stamps of one message, and of one message at one browser.

use crate::clock::{ClockId, Ns, Stamp};
use crate::hop::Hop;
use crate::outcome::Outcome;
use std::fmt;
use std::str::FromStr;

/// Defines a fixed-size id that is written in lower-case hexadecimal.
macro_rules! hex_id {
    ($(#[$meta:meta])* $name:ident, $bytes:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; $bytes]);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                // Written for every message: a formatter for each byte takes many times as long.
                let digit = |nibble: u8| b"0123456789abcdef"[usize::from(nibble)];
                let mut text = [0; $bytes * 2];
                for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
                    pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
                }
                f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<str>::deserialize(from)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl FromStr for $name {
            type Err = NotHex;

            fn from_str(text: &str) -> Result<Self, NotHex> {
                let refuse = || NotHex { want: $bytes * 2, got: text.chars().take(64).collect() };
                let digits = text.as_bytes();
                if digits.len() != $bytes * 2 {
                    return Err(refuse());
                }
                let mut bytes = [0; $bytes];
                for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
                    let pair = std::str::from_utf8(pair).map_err(|_| refuse())?;
                    if pair.starts_with('+') {
                        return Err(refuse());
                    }
                    *byte = u8::from_str_radix(pair, 16).map_err(|_| refuse())?;
                }
                Ok(Self(bytes))
            }
        }
    };
}

hex_id! {
    /// A message's trace id, as W3C Trace Context has it (16 bytes). Given by the gateway at the
    /// take, so that even two copies of one message are two traces.
    TraceId, 16
}
hex_id! {
    /// A DDS writer's GUID as the middleware gives it (rmw: 16 bytes).
    PublisherId, 16
}

/// A text that should have been an id in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {want} hexadecimal digits, got {got:?}")]
pub struct NotHex {
    /// How many digits were wanted.
    pub want: usize,
    /// The (shortened) text.
    pub got: String,
}

/// The stamps of a message by hop; at most one stamp a hop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stamps(Vec<(Hop, Stamp)>);

impl Stamps {
    /// None yet, with room for those of a delivered message.
    pub fn new() -> Self {
        Self(Vec::with_capacity(16))
    }

    /// Sets the stamp of `hop`; an earlier one is replaced.
    pub fn set(&mut self, hop: Hop, clock: &ClockId, ns: Ns) {
        let stamp = Stamp::new(clock.clone(), ns);
        match self.0.binary_search_by_key(&hop, |(h, _)| *h) {
            Ok(at) => self.0[at].1 = stamp,
            Err(at) => self.0.insert(at, (hop, stamp)),
        }
    }

    /// The stamp of `hop`.
    pub fn get(&self, hop: Hop) -> Option<&Stamp> {
        self.0.binary_search_by_key(&hop, |(h, _)| *h).ok().map(|at| &self.0[at].1)
    }

    /// All stamps in the order of the way.
    pub fn iter(&self) -> impl Iterator<Item = (Hop, &Stamp)> {
        self.0.iter().map(|(hop, stamp)| (*hop, stamp))
    }
}

/// The oddity of a message that was taken after one that its writer had published later.
pub const REORDERED: &str = "reordered";

/// The oddity of a message whose service told of a longer time than its round trip took.
pub const IMPOSSIBLE_TIMING: &str = "impossible_timing";

/// Everything the gateway knows of one message that it took.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The condition under which it travelled.
    pub lane: String,
    /// The start of the gateway that took it: the source of its record.
    pub gateway: String,
    /// Its trace id.
    pub id: TraceId,
    /// The robot, by the message's header.
    pub robot_id: String,
    /// The header's sequence.
    pub sequence: i32,
    /// The header's message id (a UUID when all is well).
    pub message_id: String,
    /// The DDS writer it came from.
    pub publisher: PublisherId,
    /// Its number among that writer's messages, from 1; `None` when the middleware has none.
    pub publication_sequence: Option<u64>,
    /// What became of it.
    pub outcome: Outcome,
    /// A sentence on the outcome, where there is something to say.
    pub detail: Option<String>,
    /// Its stamps, up to the broadcaster's acknowledgement.
    pub stamps: Stamps,
    /// The AI service's own time in ns, when it told durations and no stamps
    /// (`Server-Timing`): (waiting line, model).
    pub ai_served_ns: Option<(Ns, Ns)>,
    /// The web service's own time in ns, likewise.
    pub web_served_ns: Option<Ns>,
    /// How often the request to the AI service was sent beyond the first time.
    pub ai_retries: u32,
    /// How often the request to the web service was sent beyond the first time.
    pub web_retries: u32,
    /// What the gateway's wall clock showed above its monotonic one at the take, in ns: it places
    /// wall-clock stamps of the gateway's own host. `None` in records that were made before
    /// wall-clock stamps were kept as such.
    pub wall_offset_ns: Option<Ns>,
    /// The header's time when it is no plausible one: (timestamp_sec, timestamp_nsec) as they
    /// came. It tells what the robot stamps with instead.
    pub header_time: Option<(i64, i64)>,
    /// How far, at most, the robot's and DDS' wall-clock stamps may be off on the monotonic
    /// clock because of the two clocks' readings not being simultaneous (METHOD 5).
    pub wall_half_width_ns: Ns,
    /// What was odd about it without stopping it ("not_finite", "not_utf8", …).
    pub oddities: Vec<&'static str>,
}

/// One message at one browser.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientTrace {
    /// The message.
    pub id: TraceId,
    /// The browser page, as the broadcaster knows it.
    pub client: String,
    /// The broadcaster's stamp before writing the frame.
    pub frame_sent: Stamp,
    /// The browser's stamp on receiving the frame.
    pub received: Stamp,
    /// The browser's stamp after painting; `None` when it did not paint (a hidden tab).
    pub painted: Option<Stamp>,
    /// The browser's stamp on sending the acknowledgement.
    pub ack_sent: Stamp,
    /// The broadcaster's stamp on receiving the acknowledgement.
    pub ack_received: Stamp,
    /// The smallest step of the browser's clock that was seen, in ns.
    pub resolution_ns: Ns,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_round_trip_and_refuse_nonsense() {
        let id = TraceId(*b"0123456789abcdef");
        assert_eq!(id.to_string().parse(), Ok(id));
        for bad in ["", "00", "zz", &"g".repeat(32), &"+1".repeat(16), &"é".repeat(16)] {
            assert!(bad.parse::<TraceId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn stamps_stay_in_the_order_of_the_way() {
        let clock = ClockId::new("c");
        let mut stamps = Stamps::new();
        stamps.set(Hop::WebAcked, &clock, 3);
        stamps.set(Hop::Taken, &clock, 1);
        stamps.set(Hop::Taken, &clock, 2);
        let all: Vec<_> = stamps.iter().map(|(hop, stamp)| (hop, stamp.ns)).collect();
        assert_eq!(all, [(Hop::Taken, 2), (Hop::WebAcked, 3)]);
        assert!(stamps.get(Hop::Started).is_none());
    }
}
