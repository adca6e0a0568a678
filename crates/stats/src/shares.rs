//! Which leg the variation of the total comes from (METHOD 9).

/// share_i = Cov(S_i, T) / Var(T) of each leg i over messages, T being the sum of the legs.
///
/// Each element of `messages` is the legs of one message in ns, in one order; a leg that a message
/// does not have is 0, and legs missing at the end are taken for that. The shares sum to 1, since
/// Σ Cov(S_i, T) = Cov(Σ S_i, T) = Var(T). A leg that is short when the others are long has a
/// negative share.
///
/// `None` when the total does not vary: fewer than two messages, or all totals the same. The order
/// of messages makes no difference to any digit.
#[expect(
    clippy::cast_precision_loss,
    reason = "a ratio is a float; i128 deviations keep the inputs exact"
)]
pub fn shares<L: AsRef<[i64]>>(messages: &[L]) -> Option<Vec<f64>> {
    let mut rows: Vec<&[i64]> = messages.iter().map(AsRef::as_ref).collect();
    rows.sort_unstable();
    let n = rows.len() as i128;
    let legs = rows.iter().map(|row| row.len()).max()?;
    let leg = |row: &[i64], i: usize| row.get(i).map_or(0, |v| i128::from(*v));
    let total = |row: &[i64]| row.iter().map(|v| i128::from(*v)).sum::<i128>();
    // n times the deviation from the mean is a whole number; the factor cancels out.
    let deviations = |of: &dyn Fn(&[i64]) -> i128| -> Vec<f64> {
        let sum: i128 = rows.iter().map(|row| of(row)).sum();
        rows.iter().map(|row| (of(row) * n - sum) as f64).collect()
    };
    let products = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let totals = deviations(&total);
    let variance = products(&totals, &totals);
    (variance > 0.0).then(|| {
        (0..legs).map(|i| products(&deviations(&|row| leg(row, i)), &totals) / variance).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shares_worked_out_by_hand() {
        // T = 4, 5, 9: deviations −2, −1, 3, Var 14; the second leg's are −7/3, −1/3, 8/3.
        let shares = shares(&[[3, 1], [2, 3], [3, 6]]).unwrap();
        assert!((shares[1] - 13.0 / 14.0).abs() < 1e-12, "{shares:?}");
        assert!((shares[0] - 1.0 / 14.0).abs() < 1e-12, "{shares:?}");
    }

    #[test]
    fn a_leg_against_the_rest_is_negative() {
        // T = 11, 12, 13: the first leg goes against it by as much.
        let shares = shares(&[[3, 8], [2, 10], [1, 12]]).unwrap();
        assert!((shares[0] + 1.0).abs() < 1e-12 && (shares[1] - 2.0).abs() < 1e-12, "{shares:?}");
    }

    #[test]
    fn a_total_that_does_not_vary_has_none() {
        assert_eq!(shares(&[[1, 5], [2, 4], [3, 3]]), None);
        assert_eq!(shares(&[[1, 5]]), None);
        assert_eq!(shares::<[i64; 2]>(&[]), None);
    }

    #[test]
    fn missing_legs_are_zero() {
        let ragged: [&[i64]; 3] = [&[1], &[2, 5], &[4, 0]];
        assert_eq!(shares(&ragged), shares(&[[1, 0], [2, 5], [4, 0]]));
    }

    proptest! {
        #[test]
        fn shares_sum_to_one(
            legs in 1usize..8,
            values in prop::collection::vec(-1_000_000_000_000i64..1_000_000_000_000, 0..400),
        ) {
            let rows: Vec<&[i64]> = values.chunks_exact(legs).collect();
            let totals: Vec<i64> = rows.iter().map(|row| row.iter().sum()).collect();
            let varies = totals.iter().any(|t| *t != totals[0]);
            let found = shares(&rows);
            prop_assert_eq!(found.is_some(), varies);
            if let Some(found) = found {
                // Where large shares cancel each other, their rounding is larger, too.
                let scale = found.iter().map(|s| s.abs()).fold(1.0, f64::max);
                let sum: f64 = found.iter().sum();
                prop_assert!((sum - 1.0).abs() <= 1e-9 * scale, "{found:?}");
            }
        }

        #[test]
        fn order_changes_no_digit(
            (rows, shuffled) in prop::collection::vec(any::<[i32; 3]>(), 2..60)
                .prop_flat_map(|rows| (Just(rows.clone()), Just(rows).prop_shuffle())),
        ) {
            let wide = |rows: &[[i32; 3]]| -> Vec<[i64; 3]> {
                rows.iter().map(|row| row.map(i64::from)).collect()
            };
            prop_assert_eq!(shares(&wide(&rows)), shares(&wide(&shuffled)));
        }
    }
}
