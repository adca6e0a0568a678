//! Histograms of durations that merge exactly (METHOD 13).

use crate::quantile::nearest_rank;
use hdrhistogram::Histogram as Counts;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use thiserror::Error;

/// The longest duration that a histogram tells from longer ones: one hour, in ns.
pub const HIGHEST_NS: i64 = 3_600_000_000_000;

/// Relative width of the widest bin is 1/1024.
const SIGNIFICANT_DIGITS: u8 = 3;

/// Bytes before the HdrHistogram: the two clipped counts.
const CLIPPED_BYTES: usize = 16;

/// Where in the bytes of an HdrHistogram V2 its payload's length stands, and its header's length.
const V2_LENGTH: std::ops::Range<usize> = 4..8;
const V2_HEADER_BYTES: usize = 40;

/// A histogram of durations from 0 ns to [`HIGHEST_NS`] at three significant digits.
///
/// It is for display, metrics and the wire; verdicts come from raw records. Merging adds counts,
/// so that the merged histogram is the histogram of all values. Values outside the range are
/// clipped: counted at their end of the range, and in [`Histogram::clipped_low`] (negative ones)
/// or [`Histogram::clipped_high`], so that none is mistaken for 0 ns or for an hour. Counts
/// beyond 2⁶⁴ − 1 stay there. It takes about 270 kB. G. Tene, HdrHistogram.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    counts: Counts<u64>,
    clipped_low: u64,
    clipped_high: u64,
}

/// A quantile of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistogramQuantile {
    /// It is among the values below 0 ns.
    BelowRange,
    /// In ns: the upper end of its bin, at most a thousandth above the value itself.
    Within(i64),
    /// It is among the values above [`HIGHEST_NS`].
    AboveRange,
}

/// Why bytes are no histogram.
#[derive(Debug, Error)]
pub enum HistogramError {
    /// The bytes end early, go on too long, or begin as another format.
    #[error("failed to read a histogram: {0} bytes don't have its header and length")]
    Shape(usize),
    /// The counts in the bytes are not those of a histogram of this range.
    #[error("failed to read a histogram's counts")]
    Counts(#[source] hdrhistogram::serialization::DeserializeError),
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// A histogram without values.
    #[expect(
        clippy::expect_used,
        clippy::missing_panics_doc,
        reason = "the range is constant, and tests make it"
    )]
    pub fn new() -> Self {
        let counts = Counts::new_with_bounds(1, HIGHEST_NS.unsigned_abs(), SIGNIFICANT_DIGITS)
            .expect("the range is valid");
        Self { counts, clipped_low: 0, clipped_high: 0 }
    }

    /// Counts one duration, in ns.
    pub fn record(&mut self, duration_ns: i64) {
        match u64::try_from(duration_ns) {
            Err(_) => self.clipped_low = self.clipped_low.saturating_add(1),
            Ok(ns) if duration_ns <= HIGHEST_NS && self.counts.record(ns).is_ok() => {}
            Ok(_) => self.clipped_high = self.clipped_high.saturating_add(1),
        }
    }

    /// Adds all values of another histogram.
    #[expect(
        clippy::expect_used,
        clippy::missing_panics_doc,
        reason = "all histograms have the one range"
    )]
    pub fn merge(&mut self, other: &Self) {
        self.counts.add(&other.counts).expect("the ranges are the same");
        self.clipped_low = self.clipped_low.saturating_add(other.clipped_low);
        self.clipped_high = self.clipped_high.saturating_add(other.clipped_high);
    }

    /// How many values, clipped ones included.
    pub fn count(&self) -> u64 {
        self.counts.len().saturating_add(self.clipped_low).saturating_add(self.clipped_high)
    }

    /// How many values were below 0 ns.
    pub fn clipped_low(&self) -> u64 {
        self.clipped_low
    }

    /// How many values were above [`HIGHEST_NS`].
    pub fn clipped_high(&self) -> u64 {
        self.clipped_high
    }

    /// The quantile (in thousandths) by nearest rank over all values, clipped ones included.
    ///
    /// `None` when there is no value.
    pub fn quantile(&self, thousandths: u32) -> Option<HistogramQuantile> {
        if self.count() == 0 {
            return None;
        }
        let n = usize::try_from(self.count()).unwrap_or(usize::MAX);
        let rank = nearest_rank(n, thousandths) as u64;
        let mut seen = self.clipped_low;
        if rank <= seen {
            return Some(HistogramQuantile::BelowRange);
        }
        for bin in self.counts.iter_recorded() {
            seen = seen.saturating_add(bin.count_at_value());
            if rank <= seen {
                let upper_end =
                    i64::try_from(self.counts.highest_equivalent(bin.value_iterated_to()));
                return Some(HistogramQuantile::Within(
                    upper_end.map_or(HIGHEST_NS, |ns| ns.min(HIGHEST_NS)),
                ));
            }
        }
        Some(HistogramQuantile::AboveRange)
    }

    /// As bytes: the counts of clipped values, low and high, as big-endian u64, then HdrHistogram's
    /// own format V2.
    #[expect(
        clippy::expect_used,
        clippy::missing_panics_doc,
        reason = "writing to memory has no way to fail"
    )]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(self.clipped_low.to_be_bytes());
        bytes.extend(self.clipped_high.to_be_bytes());
        V2Serializer::new().serialize(&self.counts, &mut bytes).expect("memory takes all bytes");
        bytes
    }

    /// From the bytes of [`Histogram::to_bytes`].
    ///
    /// They may come from anywhere: range and length are checked before memory is taken for them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, HistogramError> {
        let shape = || HistogramError::Shape(bytes.len());
        let (low, rest) = bytes.split_first_chunk().ok_or_else(shape)?;
        let (high, counts) = rest.split_first_chunk().ok_or_else(shape)?;
        let header = counts.get(..V2_HEADER_BYTES).ok_or_else(shape)?;
        let mut expected = Self::new().to_bytes().split_off(CLIPPED_BYTES);
        expected.truncate(V2_HEADER_BYTES);
        let payload = u32::try_from(counts.len() - V2_HEADER_BYTES).map_err(|_| shape())?;
        expected[V2_LENGTH].copy_from_slice(&payload.to_be_bytes());
        // A run of zeros that long can't be, and its negation would overflow in the decoder.
        let endless = |run: &[u8]| run.iter().all(|byte| *byte == 0xff);
        if header != expected || counts[V2_HEADER_BYTES..].windows(9).any(endless) {
            return Err(shape());
        }
        let counts =
            Deserializer::new().deserialize(&mut &*counts).map_err(HistogramError::Counts)?;
        Ok(Self {
            counts,
            clipped_low: u64::from_be_bytes(*low),
            clipped_high: u64::from_be_bytes(*high),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantile::quantile;
    use HistogramQuantile::{AboveRange, BelowRange, Within};
    use proptest::prelude::*;

    fn of(values: &[i64]) -> Histogram {
        let mut histogram = Histogram::new();
        for value in values {
            histogram.record(*value);
        }
        histogram
    }

    /// Durations of every size, some negative and some too long.
    fn durations(n: std::ops::Range<usize>) -> impl Strategy<Value = Vec<i64>> {
        let any_size = (0u32..43).prop_flat_map(|bits| 0..=(1i64 << bits).min(HIGHEST_NS));
        let duration = prop_oneof![
            8 => any_size,
            1 => i64::MIN..0,
            1 => HIGHEST_NS..=i64::MAX,
        ];
        prop::collection::vec(duration, n)
    }

    #[test]
    fn what_is_clipped_is_counted_and_is_no_number() {
        let histogram = of(&[-1, i64::MIN, 0, 1, HIGHEST_NS, HIGHEST_NS + 1, i64::MAX]);
        assert_eq!(histogram.count(), 7);
        assert_eq!((histogram.clipped_low(), histogram.clipped_high()), (2, 2));
        let at = |rank: u32| histogram.quantile(rank * 1000 / 7).unwrap();
        assert_eq!((at(1), at(2)), (BelowRange, BelowRange));
        assert_eq!((at(3), at(4), at(5)), (Within(0), Within(1), Within(HIGHEST_NS)));
        assert_eq!((at(6), at(7)), (AboveRange, AboveRange));
    }

    #[test]
    fn nothing_is_not_zero() {
        assert_eq!(Histogram::new().quantile(500), None);
        assert_eq!(Histogram::new().count(), 0);
    }

    #[test]
    fn bytes_of_something_else_are_refused() {
        let good = of(&[-5, 7, 1_000_000, 40_000_000]).to_bytes();
        assert!(Histogram::from_bytes(&good).is_ok());
        for n in 0..good.len() {
            assert!(Histogram::from_bytes(&good[..n]).is_err(), "{n} bytes");
        }
        let mut longer = good.clone();
        longer.push(0);
        assert!(matches!(Histogram::from_bytes(&longer), Err(HistogramError::Shape(_))));
        let mut endless = Histogram::new().to_bytes();
        endless.truncate(CLIPPED_BYTES + V2_HEADER_BYTES);
        endless[CLIPPED_BYTES + 7] = 9;
        endless.extend([0xff; 9]);
        assert!(matches!(Histogram::from_bytes(&endless), Err(HistogramError::Shape(_))));
        // A range of others, which would take their memory and not ours.
        let mut counts = Counts::<u64>::new_with_bounds(1, u64::MAX, 5).unwrap();
        counts.record(7).unwrap();
        let mut foreign = vec![0; CLIPPED_BYTES];
        V2Serializer::new().serialize(&counts, &mut foreign).unwrap();
        assert!(matches!(Histogram::from_bytes(&foreign), Err(HistogramError::Shape(_))));
    }

    #[test]
    fn counts_end_at_their_largest() {
        let mut bytes = of(&[1, 2]).to_bytes();
        bytes[..8].fill(0xff);
        let mut most = Histogram::from_bytes(&bytes).unwrap();
        most.record(-1);
        most.merge(&of(&[-1, 3]));
        assert_eq!((most.clipped_low(), most.count()), (u64::MAX, u64::MAX));
        assert_eq!(most.quantile(500), Some(BelowRange));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn quantile_is_within_a_thousandth(mut values in durations(1..300), p in 1u32..=1000) {
            let histogram = of(&values);
            values.sort_unstable();
            let exact = quantile(&values, p).unwrap();
            match histogram.quantile(p).unwrap() {
                BelowRange => prop_assert!(exact < 0),
                AboveRange => prop_assert!(exact > HIGHEST_NS),
                Within(ns) => {
                    prop_assert!((0..=HIGHEST_NS).contains(&exact));
                    prop_assert!((ns - exact).abs() * 1000 <= exact, "{ns} for {exact}");
                }
            }
        }

        #[test]
        fn merged_parts_are_the_whole(
            values in durations(0..200),
            parts in prop::collection::vec(0usize..5, 200),
            order in Just([0usize, 1, 2, 3, 4]).prop_shuffle(),
        ) {
            let mut split = vec![Histogram::new(); 5];
            for (value, part) in values.iter().zip(parts) {
                split[part].record(*value);
            }
            let mut merged = Histogram::new();
            let mut received = Histogram::new();
            for part in order {
                merged.merge(&split[part]);
                received.merge(&Histogram::from_bytes(&split[part].to_bytes()).unwrap());
            }
            let whole = of(&values);
            prop_assert_eq!(merged.to_bytes(), whole.to_bytes());
            prop_assert!(merged == whole && received == whole);
            prop_assert!(Histogram::from_bytes(&whole.to_bytes()).unwrap() == whole);
        }

        #[test]
        fn any_counts_are_read_or_refused(payload in prop::collection::vec(any::<u8>(), 0..64)) {
            let mut bytes = Histogram::new().to_bytes();
            bytes.truncate(CLIPPED_BYTES + V2_HEADER_BYTES);
            let length = u32::try_from(payload.len()).unwrap();
            bytes[CLIPPED_BYTES + 4..CLIPPED_BYTES + 8].copy_from_slice(&length.to_be_bytes());
            bytes.extend(payload);
            if let Ok(read) = Histogram::from_bytes(&bytes) {
                prop_assert_eq!(read.quantile(500).is_some(), read.count() > 0);
            }
        }
    }
}
