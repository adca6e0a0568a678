//! A message: its number, when it was handed over, and bytes that tell whether all of them came.

use super::Handover;

/// `number`, u64; `handed`, i64 on CLOCK_MONOTONIC; both little-endian, as `hopwatch_lab_msgs/FixedFrame`
/// has them.
const HEAD: usize = 16;
/// The number again: half a message is none.
const TAIL: usize = 8;

/// What all messages hold, and how to tell whether one does.
#[derive(Clone, Debug)]
pub(super) struct Template {
    bytes: Vec<u8>,
    sum: u64,
}

/// Serialized `sensor_msgs/msg/Image` with a message as its pixels.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) bytes: Vec<u8>,
    head: usize,
}

impl Template {
    pub(super) fn new(args: &Handover) -> Self {
        let size = args.size as usize;
        // Any bytes that aren't all the same: each word is another one.
        let words = (0..=size as u64 / 8).map(|at| at.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        bytes.truncate(size);
        let sum = sum(&bytes);
        Self { bytes, sum }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// What a message holds before it has a number.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// A message with this number, serialized.
    pub(super) fn frame(&self, number: u64) -> Frame {
        let mut frame = serialized(&self.bytes);
        number_it(frame.payload_mut(), number);
        frame
    }

    /// A message with this number as a typed node has it, not serialized.
    pub(super) fn message(&self, number: u64) -> Vec<u8> {
        let mut message = self.bytes.clone();
        number_it(&mut message, number);
        message
    }

    /// Makes a message with this number in memory of somebody else's, which is of its size.
    pub(super) fn put(&self, payload: &mut [u8], number: u64) {
        let all = payload.len().min(self.bytes.len());
        payload[..all].copy_from_slice(&self.bytes[..all]);
        number_it(payload, number);
    }

    /// Reads every byte; whether they are those of a message.
    pub(super) fn holds(&self, payload: &[u8]) -> bool {
        payload.len() == self.bytes.len()
            && payload[payload.len() - TAIL..] == payload[..TAIL]
            && sum(payload) == self.sum
    }
}

impl Frame {
    pub(super) fn payload(&self) -> &[u8] {
        &self.bytes[self.head..]
    }

    pub(super) fn payload_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.head..]
    }
}

/// Serializes a message.
pub(super) fn serialized(message: &[u8]) -> Frame {
    let (mut bytes, head) = image(message.len());
    bytes.extend_from_slice(message);
    Frame { bytes, head }
}

/// The pixels of a serialized image that one of these processes made.
pub(super) fn payload_of_image(bytes: &[u8]) -> &[u8] {
    let head = image(0).1;
    // The last thing ahead of them says how many there are; behind them DDS fills up to a multiple of 4.
    let count = bytes.get(head - 4..head).and_then(|of| of.try_into().ok());
    let count = count.map_or(0, u32::from_le_bytes) as usize;
    bytes.get(head..head + count).unwrap_or_default()
}

/// Gives a message its number.
pub(super) fn number_it(payload: &mut [u8], number: u64) {
    let number = number.to_le_bytes();
    payload[..8].copy_from_slice(&number);
    let tail = payload.len() - TAIL;
    payload[tail..].copy_from_slice(&number);
}

/// Notes when a message is handed over.
pub(super) fn stamp(payload: &mut [u8], at_ns: i64) {
    payload[8..HEAD].copy_from_slice(&at_ns.to_le_bytes());
}

/// A message's number and when it was handed over; none: it is too short for one.
pub(super) fn head(payload: &[u8]) -> Option<(u64, i64)> {
    let number = payload.get(..8)?.try_into().ok()?;
    let at = payload.get(8..HEAD)?.try_into().ok()?;
    (payload.len() >= HEAD + TAIL).then(|| (u64::from_le_bytes(number), i64::from_le_bytes(at)))
}

/// Of all bytes but those that every message has of its own.
fn sum(payload: &[u8]) -> u64 {
    let middle = &payload[HEAD..payload.len() - TAIL];
    let (words, rest) = middle.as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    let rest = rest.iter().map(|byte| u64::from(*byte));
    // Each word in a place of its own counts otherwise: swapped ones are seen.
    words.chain(rest).fold(0, |sum: u64, word| sum.wrapping_mul(31).wrapping_add(word))
}

/// What stands ahead of the pixels of a `sensor_msgs/msg/Image` of one row in CDR, little-endian, and how
/// long it is.
fn image(pixels: usize) -> (Vec<u8>, usize) {
    let width = u32::try_from(pixels).unwrap_or(u32::MAX).to_le_bytes();
    // Encapsulation (DDS-RTPS 2.3, 10.2), then stamp, frame_id and height.
    let mut cdr = vec![0, 1, 0, 0];
    cdr.extend([0; 8]);
    cdr.extend(4_u32.to_le_bytes());
    cdr.extend(b"cam\0");
    cdr.extend(1_u32.to_le_bytes());
    cdr.extend(width);
    // encoding, filled up behind is_bigendian to a multiple of 4.
    cdr.extend(6_u32.to_le_bytes());
    cdr.extend(b"mono8\0");
    cdr.extend([0, 0]);
    // step, and how many pixels follow.
    cdr.extend(width);
    cdr.extend(width);
    let head = cdr.len();
    cdr.reserve_exact(pixels);
    (cdr, head)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use hopwatch_rosmsg::{JsonOptions, Schema, TypeName, Value};

    fn template(size: u32) -> Template {
        let words = ["probe", "--role", "both", "--way", "moved", "--size", &size.to_string()];
        Template::new(&crate::handover::tests::parsed(&words))
    }

    #[test]
    fn a_message_is_whole_or_told_to_be_none() {
        for size in [64, 65, 71, 1000] {
            let template = template(size);
            let mut frame = template.frame(7);
            stamp(frame.payload_mut(), -5);
            assert_eq!(frame.payload().len(), size as usize);
            assert_eq!(head(frame.payload()), Some((7, -5)));
            assert!(template.holds(frame.payload()), "{size}");
            let mut lent = vec![0; size as usize];
            template.put(&mut lent, 8);
            assert!(template.holds(&lent));
            assert_eq!(head(&lent).unwrap().0, 8);
            // Any byte that is another one, but for the time.
            for at in (0..size as usize).filter(|at| !(8..16).contains(at)) {
                lent[at] ^= 1;
                assert!(!template.holds(&lent), "{size}, byte {at}");
                lent[at] ^= 1;
            }
            assert!(!template.holds(&lent[1..]) && !template.holds(&lent[..lent.len() - 1]));
        }
        let template = template(64);
        let mut swapped = template.frame(0);
        let payload = swapped.payload_mut();
        let (a, b) = (payload[16..24].to_vec(), payload[24..32].to_vec());
        payload[16..24].copy_from_slice(&b);
        payload[24..32].copy_from_slice(&a);
        assert!(!template.holds(swapped.payload()));
        assert_eq!(head(&[0; 23]), None);
    }

    #[test]
    fn it_is_an_image_by_its_definition() {
        let name: TypeName = "sensor_msgs/msg/Image".parse().unwrap();
        let definition = |of: &TypeName| {
            Ok::<_, std::io::Error>(
                match of.name() {
                    "Image" => {
                        "std_msgs/Header header\nuint32 height\nuint32 width\nstring encoding\n\
                         uint8 is_bigendian\nuint32 step\nuint8[] data"
                    }
                    "Header" => "builtin_interfaces/Time stamp\nstring frame_id",
                    "Time" => "int32 sec\nuint32 nanosec",
                    _ => unreachable!("{of:?}"),
                }
                .to_owned(),
            )
        };
        let schema = Schema::load(&name, definition).unwrap();
        let frame = template(100).frame(3);
        let read = |path: &str| schema.path(path).unwrap().read(&frame.bytes).unwrap();
        assert_eq!(read("step"), Value::UInt(100));
        assert_eq!(read("data[0]"), Value::UInt(3));
        // The whole message, to its last byte.
        let mut json = Vec::new();
        assert!(
            schema.to_json(&frame.bytes, &mut json, JsonOptions::default()).unwrap().is_empty()
        );
        assert_eq!(payload_of_image(&frame.bytes), frame.payload());
        // As DDS fills it up, and cut short.
        let filled = [frame.bytes.as_slice(), &[0; 3]].concat();
        assert_eq!(payload_of_image(&filled), frame.payload());
        assert_eq!(payload_of_image(&frame.bytes[..frame.bytes.len() - 1]), [0_u8; 0]);
        assert_eq!(payload_of_image(&[0; 7]), [0_u8; 0]);
    }
}
