//! Reading XCDR version 1, the encoding of a ROS 2 message on DDS (OMG DDS-XTypes 7.4.1).
//!
//! Alignment counts from behind the encapsulation header and is at most 8; an empty sequence
//! aligns nothing for its elements. Padding holds whatever the writer's memory held (Fast CDR
//! leaves it as it was), so it is never looked at. A wstring is its number of UTF-16 code units,
//! then each unit in four bytes, without a terminator: what the ROS 2 layers over Fast CDR and over
//! Cyclone write, where XTypes has two bytes.
//!
//! Lengths are checked against what is there, so nothing that arrives can make the reader allocate
//! or read beyond the message.

use std::cell::Cell;
use thiserror::Error;

/// What stopped the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CdrError {
    /// The message ended inside a field.
    #[error("the message ends at byte {at}, inside a field of {want} bytes")]
    Truncated {
        /// Where the field began.
        at: usize,
        /// How long it should have been.
        want: usize,
    },
    /// The first two bytes name no plain CDR.
    #[error("encapsulation {0:#06x} is no plain CDR (expected 0x0000 or 0x0001)")]
    Encapsulation(u16),
    /// A string whose length field is 0, which has no room for its terminator, or whose last
    /// byte isn't the terminator.
    #[error("the string at byte {0} isn't terminated")]
    Unterminated(usize),
    /// Bytes were left over after the last field, more than alignment accounts for.
    #[error("{0} bytes are left over after the last field")]
    LeftOver(usize),
    /// A sequence says that it has more elements than the bytes behind it can hold.
    #[error(
        "the sequence at byte {at} says that it has {length} elements, more than the {left} bytes \
         behind it can hold"
    )]
    Sequence {
        /// Where its length stands.
        at: usize,
        /// What it says.
        length: u32,
        /// How many bytes follow the length.
        left: usize,
    },
    /// A field's path names an element that the message doesn't have.
    #[error("there is no element {index}: the sequence has {length}")]
    NoElement {
        /// The element that was asked for, from 0.
        index: usize,
        /// How many there are.
        length: usize,
    },
}

/// Reads fields in order. Positions count from behind the encapsulation header.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    body: &'a [u8],
    at: usize,
    big_endian: bool,
}

/// A primitive's bytes, reversed when the message is big-endian.
macro_rules! primitive {
    ($(#[$doc:meta])* $name:ident, $ty:ty) => {
        $(#[$doc])*
        pub fn $name(&mut self) -> Result<$ty, CdrError> {
            const SIZE: usize = size_of::<$ty>();
            self.at = self.at.next_multiple_of(SIZE);
            let mut bytes: [u8; SIZE] = self.bytes(SIZE)?.try_into().unwrap_or_default();
            if self.big_endian {
                bytes.reverse();
            }
            Ok(<$ty>::from_le_bytes(bytes))
        }
    };
}

impl<'a> Reader<'a> {
    /// Begins behind the four-byte encapsulation header.
    pub fn new(message: &'a [u8]) -> Result<Self, CdrError> {
        let Some((header, body)) = message.split_at_checked(4) else {
            return Err(CdrError::Truncated { at: 0, want: 4 });
        };
        let kind = u16::from_be_bytes([header[0], header[1]]);
        match kind {
            0 | 1 => Ok(Self { body, at: 0, big_endian: kind == 0 }),
            other => Err(CdrError::Encapsulation(other)),
        }
    }

    primitive!(
        /// An unsigned byte.
        u8, u8
    );
    primitive!(
        /// A signed byte.
        i8, i8
    );
    primitive!(
        /// A 16-bit signed integer.
        i16, i16
    );
    primitive!(
        /// A 16-bit unsigned integer.
        u16, u16
    );
    primitive!(
        /// A 32-bit signed integer.
        i32, i32
    );
    primitive!(
        /// A 32-bit unsigned integer.
        u32, u32
    );
    primitive!(
        /// A 64-bit signed integer.
        i64, i64
    );
    primitive!(
        /// A 64-bit unsigned integer.
        u64, u64
    );
    primitive!(
        /// A single; NaN and infinities included.
        f32, f32
    );
    primitive!(
        /// A double; NaN and infinities included.
        f64, f64
    );

    /// A boolean: any byte but 0 is true.
    pub fn bool(&mut self) -> Result<bool, CdrError> {
        Ok(self.bytes(1)?[0] != 0)
    }

    /// A string's bytes without the terminator: not checked to be UTF-8, and it may hold NUL.
    pub fn string(&mut self) -> Result<&'a [u8], CdrError> {
        let length = self.u32()? as usize;
        let at = self.at;
        match self.bytes(length)?.split_last() {
            Some((0, text)) => Ok(text),
            _ => Err(CdrError::Unterminated(at)),
        }
    }

    /// A string's bytes as [`Self::string`] gives them, and whether the terminator was there.
    ///
    /// ROS 2 takes strings without one, and a length of 0 for an empty string.
    pub fn lenient_string(&mut self) -> Result<(&'a [u8], bool), CdrError> {
        let length = self.u32()? as usize;
        let bytes = self.bytes(length)?;
        Ok(match bytes.split_last() {
            Some((0, text)) => (text, true),
            _ => (bytes, false),
        })
    }

    /// A wide string, and whether it is sound UTF-16: the code units that aren't become U+FFFD.
    pub fn wide_string(&mut self) -> Result<(String, bool), CdrError> {
        let big_endian = self.big_endian;
        let sound = Cell::new(true);
        let replaced = || {
            sound.set(false);
            char::REPLACEMENT_CHARACTER
        };
        let units = self.wide_units()?.chunks_exact(4).map(|unit| {
            let mut bytes: [u8; 4] = unit.try_into().unwrap_or_default();
            if big_endian {
                bytes.reverse();
            }
            u16::try_from(u32::from_le_bytes(bytes)).unwrap_or_else(|_| {
                replaced();
                0xfffd
            })
        });
        let text =
            char::decode_utf16(units).map(|next| next.unwrap_or_else(|_| replaced())).collect();
        let sound = sound.get();
        Ok((text, sound))
    }

    /// A wide string's bytes: four for each code unit.
    pub(crate) fn wide_units(&mut self) -> Result<&'a [u8], CdrError> {
        let length = self.sequence(4)?;
        self.bytes(4 * length)
    }

    /// A sequence's length, where each element takes at least `element_bytes`.
    pub fn sequence(&mut self, element_bytes: usize) -> Result<usize, CdrError> {
        let length = self.u32()?;
        let left = self.left();
        // Nothing that can be larger than memory gets past this.
        match (length as usize).checked_mul(element_bytes) {
            Some(bytes) if bytes <= left => Ok(length as usize),
            _ => Err(CdrError::Sequence { at: self.at - 4, length, left }),
        }
    }

    /// `count` elements of `size` bytes each, unread.
    pub fn elements(&mut self, count: usize, size: usize) -> Result<&'a [u8], CdrError> {
        if count > 0 {
            self.at = self.at.next_multiple_of(size);
        }
        self.bytes(count.saturating_mul(size))
    }

    /// Where the next field is looked for.
    pub fn position(&self) -> usize {
        self.at
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.body.len().saturating_sub(self.at)
    }

    /// Ends the message: at most the padding to a multiple of four may be left.
    pub fn end(self) -> Result<(), CdrError> {
        match self.left() {
            0..=3 => Ok(()),
            left => Err(CdrError::LeftOver(left)),
        }
    }

    /// The next bytes, not aligned.
    pub(crate) fn bytes(&mut self, want: usize) -> Result<&'a [u8], CdrError> {
        let at = self.at;
        let end = at.checked_add(want).filter(|end| *end <= self.body.len());
        let end = end.ok_or(CdrError::Truncated { at, want })?;
        self.at = end;
        Ok(&self.body[at..end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligns_behind_the_header_in_both_byte_orders() {
        let little = [0, 1, 0, 0, 2, 0, 0, 0, b'a', 0, 0, 0, 7, 0, 0, 0];
        let mut r = Reader::new(&little).unwrap();
        assert_eq!((r.string(), r.i32()), (Ok(&b"a"[..]), Ok(7)));
        assert_eq!(r.end(), Ok(()));
        let big = [0, 0, 0, 0, 0, 0, 0, 2, b'a', 0, 0, 0, 0, 0, 0, 7];
        let mut r = Reader::new(&big).unwrap();
        assert_eq!((r.string(), r.i32()), (Ok(&b"a"[..]), Ok(7)));
    }

    #[test]
    fn what_is_not_a_message_is_named() {
        assert_eq!(Reader::new(&[0, 1]).unwrap_err(), CdrError::Truncated { at: 0, want: 4 });
        assert_eq!(Reader::new(&[0, 9, 0, 0]).unwrap_err(), CdrError::Encapsulation(9));
        let huge = [0, 1, 0, 0, 0xff, 0xff, 0xff, 0xff, b'a'];
        assert!(matches!(Reader::new(&huge).unwrap().string(), Err(CdrError::Truncated { .. })));
        let open = [0, 1, 0, 0, 1, 0, 0, 0, b'a'];
        assert_eq!(Reader::new(&open).unwrap().string(), Err(CdrError::Unterminated(4)));
        assert_eq!(
            Reader::new(&[0, 1, 0, 0, 1, 2, 3, 4]).unwrap().end(),
            Err(CdrError::LeftOver(4))
        );
    }
}
