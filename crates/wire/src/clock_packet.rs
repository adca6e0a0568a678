//! The datagrams of a clock responder (`hopwatch respond`): a question, and both of the host's
//! clocks around the answer.
//!
//! Fixed size, big-endian. A question is as long as the longest answer, so that a responder
//! sends nobody more than it got.
//!
//! | bytes | question | answer |
//! |---|---|---|
//! | 0..8 | `HOPWATCH` | the same |
//! | 8 | version, 1 | the same |
//! | 9 | 1 | 2 |
//! | 10..18 | a number of the asker's | the same |
//! | 18..34 | 0 | received: monotonic, wall (ns) |
//! | 34..50 | 0 | sent: monotonic, wall (ns) |
//! | 50 | 0 | length of the clock's name |
//! | 51..160 | 0 | the clock's name in UTF-8, then 0 |

use hopwatch_model::{ClockId, Ns};

/// The length of every datagram, in bytes.
pub const LENGTH: usize = 160;
const MAGIC: &[u8; 8] = b"HOPWATCH";
const VERSION: u8 = 1;
const QUESTION: u8 = 1;
const ANSWER: u8 = 2;
const NAME: usize = 51;

/// One reading of a host's monotonic and wall clock, in ns.
pub type Reading = (Ns, Ns);

/// What a responder answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The question's number.
    pub number: u64,
    /// When the question was there.
    pub received: Reading,
    /// When the answer left.
    pub sent: Reading,
    /// The name of the host's monotonic clock.
    pub clock: ClockId,
}

/// A question with a number that nobody can guess.
pub fn question(number: u64) -> [u8; LENGTH] {
    head(QUESTION, number)
}

/// The number of a question; `None` when the datagram is none.
pub fn read_question(packet: &[u8]) -> Option<u64> {
    number_of(packet, QUESTION)
}

impl Answer {
    /// As a datagram; `None` when the clock's name is too long for one.
    pub fn write(&self) -> Option<[u8; LENGTH]> {
        let mut packet = head(ANSWER, self.number);
        let name = self.clock.as_str().as_bytes();
        for (at, ns) in
            [(18, self.received.0), (26, self.received.1), (34, self.sent.0), (42, self.sent.1)]
        {
            packet[at..at + 8].copy_from_slice(&ns.to_be_bytes());
        }
        packet[NAME - 1] = u8::try_from(name.len()).ok()?;
        packet.get_mut(NAME..NAME + name.len())?.copy_from_slice(name);
        Some(packet)
    }

    /// From a datagram; `None` when it is no answer.
    pub fn read(packet: &[u8]) -> Option<Self> {
        let number = number_of(packet, ANSWER)?;
        let ns = |at: usize| Some(Ns::from_be_bytes(packet.get(at..at + 8)?.try_into().ok()?));
        let length = usize::from(*packet.get(NAME - 1)?);
        let name = std::str::from_utf8(packet.get(NAME..NAME + length)?).ok()?;
        if name.is_empty() || name.chars().any(char::is_control) {
            return None;
        }
        Some(Self {
            number,
            received: (ns(18)?, ns(26)?),
            sent: (ns(34)?, ns(42)?),
            clock: ClockId::new(name),
        })
    }
}

fn head(kind: u8, number: u64) -> [u8; LENGTH] {
    let mut packet = [0; LENGTH];
    packet[..8].copy_from_slice(MAGIC);
    packet[8] = VERSION;
    packet[9] = kind;
    packet[10..18].copy_from_slice(&number.to_be_bytes());
    packet
}

fn number_of(packet: &[u8], kind: u8) -> Option<u64> {
    let whole = packet.len() == LENGTH && packet.starts_with(MAGIC);
    let known = whole && packet[8] == VERSION && packet[9] == kind;
    known.then(|| packet[10..18].try_into().map(u64::from_be_bytes).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn answer() -> Answer {
        Answer {
            number: 7,
            received: (-1, 1_700_000_000_000_000_000),
            sent: (i64::MAX, i64::MIN),
            clock: ClockId::new("48b6c45d-2a1f-4b7e-8016-668c82db078a/4026531834"),
        }
    }

    #[test]
    fn round_trips() {
        assert_eq!(read_question(&question(u64::MAX)), Some(u64::MAX));
        assert_eq!(Answer::read(&answer().write().unwrap()), Some(answer()));
        let long = Answer { clock: ClockId::new("x".repeat(110)), ..answer() };
        assert_eq!(long.write(), None);
    }

    #[test]
    fn what_is_none_is_refused() {
        let good = answer().write().unwrap();
        assert_eq!(read_question(&good), None);
        assert_eq!(Answer::read(&question(7)), None);
        assert_eq!(Answer::read(&good[..LENGTH - 1]), None);
        for (at, byte) in
            [(0, b'h'), (8, 2), (9, 3), (NAME - 1, 0), (NAME - 1, 200), (NAME, 0xff), (NAME, 7)]
        {
            let mut bad = good;
            bad[at] = byte;
            assert_eq!(Answer::read(&bad), None, "byte {at} = {byte}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _question = read_question(&bytes);
            let _answer = Answer::read(&bytes);
        }
    }
}
