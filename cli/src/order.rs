//! In which order the trials go: blocks in which every arm has its turn once, at random.
//!
//! What changes slowly (a machine that warms up, another program) then changes all arms alike, and
//! no arm always runs behind the same other one (METHOD 15).

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// For each block, the arms (by their number) in their order. The same seed gives the same.
pub(crate) fn order(arms: &[usize], blocks: u32, seed: u64) -> Vec<Vec<usize>> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut block = |_| {
        let mut block = arms.to_vec();
        block.shuffle(&mut random);
        block
    };
    (0..blocks).map(&mut block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_has_every_arm_once() {
        for block in order(&[0, 1, 2, 4], 50, 7) {
            let mut sorted = block.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 4], "{block:?}");
        }
    }

    #[test]
    fn the_seed_gives_the_order_and_another_one_another() {
        let arms = [0, 1, 2];
        assert_eq!(order(&arms, 20, 7), order(&arms, 20, 7));
        assert_ne!(order(&arms, 20, 7), order(&arms, 20, 8));
        // What a version of the generator would change, an experiment that goes on must notice.
        assert_eq!(order(&arms, 3, 7), [[0, 2, 1], [1, 2, 0], [0, 2, 1]]);
    }

    #[test]
    fn every_arm_comes_at_every_place() {
        let blocks = order(&[0, 1, 2], 600, 42);
        for arm in 0..3 {
            for place in 0..3 {
                let times = blocks.iter().filter(|block| block[place] == arm).count();
                // 200 are due; the standard deviation is 11.5.
                assert!((140..=260).contains(&times), "arm {arm} at place {place}: {times}");
            }
        }
    }
}
