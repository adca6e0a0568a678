//! Reading XCDR version 1, the encoding of a ROS 2 message on DDS (OMG DDS-XTypes 7.4.1).
//!
//! Only what primitive fields and strings need. Lengths are checked against what is there, so
//! nothing that arrives can make the reader allocate or read beyond the message.

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
}

/// Reads fields in order.
#[derive(Debug)]
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

    /// Ends the message: at most the padding to a multiple of four may be left.
    pub fn end(self) -> Result<(), CdrError> {
        match self.body.len().saturating_sub(self.at) {
            0..=3 => Ok(()),
            left => Err(CdrError::LeftOver(left)),
        }
    }

    fn bytes(&mut self, want: usize) -> Result<&'a [u8], CdrError> {
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
