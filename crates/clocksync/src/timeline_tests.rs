use super::*;
use proptest::prelude::*;

const S: Ns = 1_000_000_000;

fn around(at: Ns, theta: Ns, there: Ns, back: Ns) -> Exchange {
    Exchange {
        near_sent: at,
        far_received: at + there + theta,
        far_sent: at + there + theta,
        near_received: at + there + back,
    }
}

#[test]
fn later_exchanges_tell_of_earlier_ones() {
    // The first exchange is slow and leaves 2 ms open; the second one, 1 ms later, leaves 2 µs.
    let slow = around(0, 7, 1_000_000, 1_000_000);
    let quick = around(3_000_000, 7, 1_000, 1_000);
    let timeline = Timeline::of(vec![quick, slow]);
    let theta = timeline.at(slow.near_received).unwrap();
    assert!(theta.lo <= 7 && 7 <= theta.hi && theta.half_width() < 2_000, "{theta:?}");
    assert_eq!((timeline.epochs(), timeline.exchanges()), (1, 2));
}

#[test]
fn an_exchange_that_contradicts_itself_is_left_out() {
    // The far clock was set back while it worked: it answered before it was asked, by 1 s.
    let broken = Exchange { near_sent: 0, far_received: 100, far_sent: 2 * S, near_received: 200 };
    let timeline = Timeline::of(vec![broken, around(S, 0, 10, 10)]);
    assert_eq!((timeline.impossible(), timeline.exchanges(), timeline.epochs()), (1, 1, 1));
}

#[test]
fn one_step_stays_a_step_however_wide_the_allowance() {
    let mut all: Vec<_> = (0..50).map(|i| around(i * S, 0, 50_000, 50_000)).collect();
    all.extend((50..100).map(|i| around(i * S, 3_000_000, 50_000, 50_000)));
    let timeline = Timeline::of(all);
    assert_eq!((timeline.epochs(), timeline.rho_ppm()), (2, RHO_PPM));
    let by = timeline.steps().next().unwrap().by;
    assert!(by.lo <= 3_000_000 && 3_000_000 <= by.hi && by.lo > 2_700_000, "{by:?}");
}

proptest! {
    /// Whatever order the exchanges come in, the timeline is the same.
    #[test]
    fn order_makes_no_difference(seed in any::<u64>()) {
        let at = |i: u64| Ns::try_from((seed >> (i % 32)) % 1_000).unwrap();
        let mut all: Vec<_> =
            (0..30).map(|i| around(Ns::try_from(i).unwrap() * S, 5, at(i) * 100, at(i + 7) * 90)).collect();
        let one = Timeline::of(all.clone());
        all.rotate_left(usize::try_from(seed % 30).unwrap());
        all.swap(3, 17);
        let other = Timeline::of(all);
        for t in 0..40 {
            prop_assert_eq!(one.at(t * S), other.at(t * S));
        }
    }

    /// Any stamps at all, the absurdest too, make no panic and no interval that is upside down.
    #[test]
    fn no_stamps_make_it_panic(stamps in prop::collection::vec(any::<[i64; 4]>(), 0..40), near in any::<i64>()) {
        let all = stamps.iter().map(|s| Exchange {
            near_sent: s[0], far_received: s[1], far_sent: s[2], near_received: s[3],
        });
        let timeline = Timeline::of(all.collect());
        if let Ok(theta) = timeline.at(near) {
            prop_assert!(theta.lo <= theta.hi);
        }
        let _placed = timeline.to_near(near, near);
        let _steps = timeline.steps().count();
    }
}
