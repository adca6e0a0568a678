//! What the messages near a quantile of the total are made of (METHOD 9).

use crate::quantile::nearest_rank;

/// The messages near a quantile of the total, and the sums of their legs.
///
/// Sums instead of means, so that Σ legs = total holds to the last ns: a mean is sum ÷ n.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breakdown {
    /// How many messages the window holds; an odd number.
    pub n: usize,
    /// The total at the quantile itself, in ns.
    pub quantile_ns: i64,
    /// The smallest total in the window, in ns.
    pub total_lo_ns: i64,
    /// The largest total in the window, in ns.
    pub total_hi_ns: i64,
    /// The sum of the totals in the window, in ns.
    pub total_sum_ns: i128,
    /// The sum of each leg over the window, in ns, in the order of the messages' legs.
    pub leg_sums_ns: Vec<i128>,
}

/// What the messages near the `p`-quantile (in thousandths) of the total are made of.
///
/// Each message is its total and its legs in ns, in one order; a leg that a message does not have
/// is 0, and legs missing at the end are taken for that. Where legs sum to the total in every
/// message, they do so in the window.
///
/// The window is the message at the nearest rank and as many neighbours by rank on either side:
/// 2.5 % of all messages, or half the share of messages beyond the quantile if that is less,
/// rounded up; and no more than there are on the shorter side. So P50 is P47.5–P52.5, P95
/// P92.5–P97.5 and P99 P98.5–P99.5. Where the quantile is the maximum, the window is that message.
///
/// `None` when there is no message. The order of messages makes no difference.
pub fn breakdown<L: AsRef<[i64]>>(messages: &[(i64, L)], thousandths: u32) -> Option<Breakdown> {
    // Sorted by legs, too: of messages with equal totals always the same ones are in the window.
    let mut sorted: Vec<(i64, &[i64])> =
        messages.iter().map(|(total, legs)| (*total, legs.as_ref())).collect();
    sorted.sort_unstable();
    let n = sorted.len();
    let at = nearest_rank(n, thousandths) - 1;
    let (quantile_ns, _) = *sorted.get(at)?;
    let beyond = 1000u32.saturating_sub(thousandths).min(thousandths).min(50);
    let reach = (n * beyond as usize).div_ceil(2000).min(at).min(n - 1 - at);
    let window = &sorted[at - reach..=at + reach];

    let mut leg_sums_ns = vec![0; sorted.iter().map(|(_, legs)| legs.len()).max()?];
    for (_, legs) in window {
        for (sum, leg) in leg_sums_ns.iter_mut().zip(*legs) {
            *sum += i128::from(*leg);
        }
    }
    Some(Breakdown {
        n: window.len(),
        quantile_ns,
        total_lo_ns: window.first()?.0,
        total_hi_ns: window.last()?.0,
        total_sum_ns: window.iter().map(|(total, _)| i128::from(*total)).sum(),
        leg_sums_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantile::quantile;
    use proptest::prelude::*;

    /// 1000 messages of 1, 2, … 1000: one leg always 1, one the rest, but 10 slow ones by a third.
    fn thousand() -> Vec<(i64, [i64; 3])> {
        (1..=1000).map(|t| if t > 980 { (t, [1, 0, t - 1]) } else { (t, [1, t - 1, 0]) }).collect()
    }

    #[test]
    fn windows_of_a_thousand() {
        let messages = thousand();
        let near = |p| breakdown(&messages, p).unwrap();
        let window = |b: &Breakdown| (b.total_lo_ns, b.quantile_ns, b.total_hi_ns, b.n);
        assert_eq!(window(&near(500)), (475, 500, 525, 51));
        assert_eq!(window(&near(950)), (925, 950, 975, 51));
        assert_eq!(window(&near(990)), (985, 990, 995, 11));
        assert_eq!(window(&near(999)), (998, 999, 1000, 3));
        assert_eq!(near(950).leg_sums_ns, [51, 949 * 51, 0]);
        // The slowest are made of something else.
        assert_eq!(near(990).leg_sums_ns, [11, 0, 989 * 11]);
        assert_eq!(near(990).total_sum_ns, 990 * 11);
    }

    #[test]
    fn small_samples() {
        let few: Vec<(i64, [i64; 1])> = (1..=58).map(|t| (t, [t])).collect();
        let slowest = breakdown(&few, 990).unwrap();
        assert_eq!((slowest.n, slowest.total_lo_ns, slowest.total_hi_ns), (1, 58, 58));
        assert_eq!(breakdown(&few, 500).unwrap().n, 5);
        assert_eq!(breakdown(&few[..1], 500).unwrap().leg_sums_ns, [1]);
        assert_eq!(breakdown::<[i64; 1]>(&[], 500), None);
    }

    #[test]
    fn missing_legs_are_zero() {
        let ragged: [(i64, &[i64]); 3] = [(1, &[1]), (7, &[2, 5]), (9, &[9, 0])];
        assert_eq!(breakdown(&ragged, 500).unwrap().leg_sums_ns, [12, 5]);
    }

    proptest! {
        #[test]
        fn legs_sum_to_the_total_and_order_is_nothing(
            (rows, shuffled) in prop::collection::vec(prop::array::uniform4(-50i64..50), 1..300)
                .prop_flat_map(|rows| (Just(rows.clone()), Just(rows).prop_shuffle())),
            p in 1u32..=1000,
        ) {
            let with_totals = |rows: Vec<[i64; 4]>| -> Vec<(i64, [i64; 4])> {
                rows.into_iter().map(|legs| (legs.iter().sum(), legs)).collect()
            };
            let messages = with_totals(rows);
            let found = breakdown(&messages, p).unwrap();
            prop_assert_eq!(found.leg_sums_ns.iter().sum::<i128>(), found.total_sum_ns);
            let mut totals: Vec<i64> = messages.iter().map(|(total, _)| *total).collect();
            totals.sort_unstable();
            prop_assert_eq!(Some(found.quantile_ns), quantile(&totals, p));
            prop_assert!((found.total_lo_ns..=found.total_hi_ns).contains(&found.quantile_ns));
            prop_assert_eq!(found.n % 2, 1);
            prop_assert_eq!(breakdown(&with_totals(shuffled), p), Some(found));
        }
    }
}
