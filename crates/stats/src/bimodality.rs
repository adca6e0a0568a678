//! Whether durations have two modes: a mean ± sd of both together describes neither (METHOD 18).

use crate::quantile::quantile;
use serde::Serialize;
use statrs::function::beta::beta_reg;

/// The chance that the test finds two modes where there is one, at most.
const ALPHA: f64 = 0.05;

/// The smallest share of the values that counts as a mode: less does not reach P99.
const MIN_SHARE_PERCENT: usize = 1;

/// Sizes of samples whose look is told where the test says nothing.
const SHAPE_VALUES: std::ops::Range<usize> = 5..30;

/// How many times as wide as either side the gap of a sample is that looks bimodal. Of 5 values of
/// one mode below 2 % do, by simulation; of more, fewer.
const SHAPE_RATIO: f64 = 10.0;

/// Two modes of a sample of durations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Modes {
    /// The values below the valley.
    pub low: Mode,
    /// The values above it. Both shares sum to less than 1 when values lie in the valley.
    pub high: Mode,
    /// The largest value of the low mode and the smallest of the high one, in ns.
    pub valley_ns: (i64, i64),
    /// How sure this is.
    pub evidence: Evidence,
}

/// One of two modes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Mode {
    /// The median of its values, in ns.
    pub center_ns: i64,
    /// How many values.
    pub n: usize,
    /// Its part of all values, from 0 to 1.
    pub share: f64,
}

/// What two modes are claimed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// One mode is rejected at 5 %.
    Test,
    /// The sample looks like two modes and is too small to reject one: a hint, not a finding.
    Shape,
}

/// A stretch between two values of the sample that holds few values, by index.
#[derive(Clone, Copy)]
struct Valley {
    /// The last value before it.
    low_end: usize,
    /// The first value behind it.
    high_start: usize,
    /// Its width, and those of the values below and above it, on the scale of the search.
    width: f64,
    below: f64,
    above: f64,
}

impl Modes {
    /// Looks for two modes in `sorted`, values in ns that a clock of this resolution made.
    ///
    /// **Test.** If a density has one mode, it falls away from any valley on one side at least, so
    /// there the values are no denser than in the valley. In the least favourable case both are
    /// uniform: then the part that a valley of s spacings has of itself and the k − 1 spacings
    /// beside it is Beta(s, k − 1) (H. A. David, H. N. Nagaraja, *Order Statistics*, 3rd ed., 6.4).
    /// A valley counts when it is too wide for that against *both* sides. All gaps, each empty
    /// and with 1, 3, 7, … values inside, are tried; Bonferroni's correction for all of them and
    /// both sides keeps the chance of a false alarm below 5 % for every density of one mode on the
    /// scale of the search, if the values are independent; by simulation it is below 0.2 %.
    /// Besides, a valley is at most half as dense as either side, and each side has 1 % of the
    /// values.
    ///
    /// **Scale.** The search is on logarithms, on which latencies have like widths; if a value is
    /// 0 or negative, on the values themselves.
    ///
    /// **Resolution.** Values may lie one step nearer to each other, or farther: valleys are taken
    /// one step narrower and sides one step wider, so that the steps of a coarse clock are not
    /// modes. A resolution below 1 is taken for 1.
    ///
    /// **Power.** In simulations: a mode at 40 ms among latencies of 0.5 ms (lognormal, σ 0.5) is
    /// found with 5 % of 1000 values always, with 5 % strewn over the valley besides, too; with 2 %
    /// of 1000 in 99 %, with 5 % of 100 in 80 %. Two equal lognormal modes 5 σ apart are found
    /// among 1000 values always, 4 σ apart in 43 %; 6 σ apart among 100 values in 98 %, 8 σ apart
    /// among 30 in 86 %. A mode below 1 %, and one that lies on the other's slope, are not found:
    /// `None` is no proof of one mode.
    ///
    /// **Small samples.** A handful of values can't reject one mode: of five, one side has two at
    /// most. From 5 to 29 values, a gap that is 10 times as wide as the span of the values on
    /// either side is told as [`Evidence::Shape`], one value alone on a side included.
    pub fn find(sorted: &[i64], resolution_ns: i64) -> Option<Self> {
        let step = resolution_ns.max(1);
        tested(sorted, step)
            .map(|valley| (valley, Evidence::Test))
            .or_else(|| seen(sorted, step).map(|valley| (valley, Evidence::Shape)))
            .and_then(|(valley, evidence)| {
                let (low_end, high_start) = (valley.low_end, valley.high_start);
                Some(Self {
                    low: mode(&sorted[..=low_end], sorted.len())?,
                    high: mode(&sorted[high_start..], sorted.len())?,
                    valley_ns: (sorted[low_end], sorted[high_start]),
                    evidence,
                })
            })
    }
}

/// The valley that rejects one mode at [`ALPHA`]: the emptiest, and of those the clearest.
#[expect(clippy::cast_precision_loss, reason = "counts of a sample are far below 2⁵²")]
fn tested(sorted: &[i64], step: i64) -> Option<Valley> {
    let n = sorted.len();
    let smallest = (n * MIN_SHARE_PERCENT).div_ceil(100).max(2);
    // Valleys of 1, 2, 4, … spacings, up to a tenth of the sample. Every size tried is paid for in
    // the correction, also where the first is enough.
    let spacings = || std::iter::successors(Some(1), |s| Some(s * 2)).take_while(|s| s * 10 <= n);
    let places = n.saturating_sub(1) * spacings().count() * 2;
    let scaled = Scaled::new(sorted, step);
    // Those with the fewest values inside come first, lest a valley swallows the edge of a mode.
    for s in spacings() {
        let chance = |valley: &Valley, values: usize, width: f64| {
            let beside = (values - 1) as f64;
            if s as f64 / valley.width > 0.5 * beside / width {
                return 1.0;
            }
            beta_reg(beside, s as f64, width / (valley.width + width))
        };
        let clearest = (smallest - 1..(n + 1).saturating_sub(smallest + s))
            .filter_map(|low_end| scaled.valley(low_end, low_end + s))
            .map(|valley| {
                let below = chance(&valley, valley.low_end + 1, valley.below);
                let above = chance(&valley, n - valley.high_start, valley.above);
                (below.max(above), valley)
            })
            // Of equals (0 is reached) the widest.
            .min_by(|(p, a), (q, b)| p.total_cmp(q).then(b.width.total_cmp(&a.width)));
        if let Some((p, valley)) = clearest
            && p * places as f64 <= ALPHA
        {
            return Some(valley);
        }
    }
    None
}

/// The widest gap of a small sample, if it makes it look bimodal.
fn seen(sorted: &[i64], step: i64) -> Option<Valley> {
    if !SHAPE_VALUES.contains(&sorted.len()) {
        return None;
    }
    let scaled = Scaled::new(sorted, step);
    (0..sorted.len() - 1)
        .filter_map(|low_end| scaled.valley(low_end, low_end + 1))
        .max_by(|a, b| a.width.total_cmp(&b.width))
        .filter(|valley| valley.width >= SHAPE_RATIO * valley.below.max(valley.above))
}

/// A sample on the scale of the search.
struct Scaled {
    /// Each value, and each value one step later.
    points: Vec<(f64, f64)>,
}

impl Scaled {
    #[expect(clippy::cast_precision_loss, reason = "a scale for looking at a sample")]
    fn new(sorted: &[i64], step: i64) -> Self {
        let logarithmic = sorted.first().is_some_and(|v| *v > 0);
        let scale = |v: i64| if logarithmic { (v as f64).ln() } else { v as f64 };
        let points = sorted.iter().map(|v| (scale(*v), scale(v.saturating_add(step)))).collect();
        Self { points }
    }

    fn valley(&self, low_end: usize, high_start: usize) -> Option<Valley> {
        let (first, last) = (self.points.first()?, self.points.last()?);
        let (low, high) = (self.points.get(low_end)?, self.points.get(high_start)?);
        let valley = Valley {
            low_end,
            high_start,
            width: high.0 - low.1,
            below: low.1 - first.0,
            above: last.1 - high.0,
        };
        (valley.width > 0.0).then_some(valley)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of a sample are far below 2⁵²")]
fn mode(values: &[i64], of: usize) -> Option<Mode> {
    let center_ns = quantile(values, 500)?;
    Some(Mode { center_ns, n: values.len(), share: values.len() as f64 / of as f64 })
}

#[cfg(test)]
#[path = "bimodality_tests.rs"]
mod tests;
