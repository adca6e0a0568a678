//! What can be odd about a message without stopping it.

use std::fmt;

/// Something odd about a message that does not stop it; counted by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oddity {
    /// A float is NaN or infinite.
    NotFinite,
    /// A text isn't UTF-8: the bytes at fault became U+FFFD.
    NotUtf8,
    /// A wide text isn't UTF-16: the code units at fault became U+FFFD.
    NotUtf16,
    /// A text holds NUL.
    HoldsNul,
    /// A text has no terminator.
    Unterminated,
    /// More than three bytes follow the last field: the publisher's type has more fields, or
    /// serialized into a larger buffer, as `rclpy.serialization` does for some types.
    LeftOver,
}

impl Oddity {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::HoldsNul,
        Self::LeftOver,
        Self::NotFinite,
        Self::NotUtf16,
        Self::NotUtf8,
        Self::Unterminated,
    ];

    /// The name that it is counted by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotFinite => "not_finite",
            Self::NotUtf8 => "not_utf8",
            Self::NotUtf16 => "not_utf16",
            Self::HoldsNul => "holds_nul",
            Self::Unterminated => "unterminated",
            Self::LeftOver => "left_over",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// The oddities of one message.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Oddities(u8);

impl Oddities {
    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether this one is among them.
    pub fn contains(self, oddity: Oddity) -> bool {
        self.0 & oddity.bit() != 0
    }

    /// Their names, in alphabetical order.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Oddity::ALL.into_iter().filter(move |oddity| self.contains(*oddity)).map(Oddity::name)
    }

    pub(crate) fn add(&mut self, oddity: Oddity) {
        self.0 |= oddity.bit();
    }
}

impl fmt::Debug for Oddities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_place_and_names_are_sorted() {
        let mut all = Oddities::default();
        assert!(all.is_empty());
        for oddity in Oddity::ALL {
            assert!(!all.contains(oddity));
            all.add(oddity);
        }
        let names: Vec<_> = all.names().collect();
        assert_eq!(names.len(), Oddity::ALL.len());
        assert!(names.is_sorted());
    }
}
