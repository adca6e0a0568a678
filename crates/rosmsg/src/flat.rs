//! Sizes that follow from the place alone: of primitives, and of structures made of such.
//!
//! Where a primitive's padding ends depends only on where it begins modulo 8, so a structure's
//! size is a table of eight entries, and of any number of structures in a row it can be told
//! without a look at them.

/// The bytes that something takes when it begins at a multiple of 8 and this many bytes, leading
/// padding included.
pub type Flat = [usize; 8];

/// `count` primitives of `size` bytes each, which is a power of two up to 8.
#[must_use]
pub fn primitives(size: usize, count: usize) -> Option<Flat> {
    let bytes = size.checked_mul(count)?;
    table(|begin| if count == 0 { Some(0) } else { bytes.checked_add(padding(begin, size)) })
}

/// One behind the other.
#[must_use]
pub fn behind(first: &Flat, second: &Flat) -> Option<Flat> {
    table(|begin| {
        let to = first[begin];
        to.checked_add(second[begin.checked_add(to)? % 8])
    })
}

/// `count` of them in a row. Too many to count are none.
#[must_use]
pub fn repeated(one: &Flat, count: usize) -> Option<Flat> {
    table(|begin| bytes_of(one, count, begin))
}

/// The bytes of `count` in a row that begin at `begin`.
#[must_use]
pub fn bytes_of(one: &Flat, count: usize, begin: usize) -> Option<usize> {
    // Where each one begins, modulo 8, soon repeats itself: behind it all is a multiple.
    let mut seen = [None; 8];
    let (mut at, mut done) = (begin, 0);
    while done < count {
        if let Some((earlier_done, earlier_at)) = seen[at % 8] {
            let (period, bytes) = (done - earlier_done, at - earlier_at);
            let rounds: usize = (count - done) / period;
            at = at.checked_add(rounds.checked_mul(bytes)?)?;
            done += rounds * period;
            seen = [None; 8];
            if done == count {
                break;
            }
        }
        seen[at % 8] = Some((done, at));
        at = at.checked_add(one[at % 8])?;
        done += 1;
    }
    Some(at - begin)
}

fn padding(begin: usize, align: usize) -> usize {
    begin.next_multiple_of(align) - begin
}

fn table(mut entry: impl FnMut(usize) -> Option<usize>) -> Option<Flat> {
    let mut all = [0; 8];
    for (begin, bytes) in all.iter_mut().enumerate() {
        *bytes = entry(begin)?;
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn many_at_once_are_as_long_as_one_by_one(
            sizes in prop::collection::vec((0usize..4).prop_map(|power| 1 << power), 1..6),
            count in 0usize..200,
            begin in 0usize..64,
        ) {
            let one = sizes.iter().fold([0; 8], |all, size| {
                behind(&all, &primitives(*size, 1).unwrap()).unwrap()
            });
            let mut at = begin;
            for _ in 0..count {
                for size in &sizes {
                    at = at.next_multiple_of(*size) + size;
                }
            }
            prop_assert_eq!(bytes_of(&one, count, begin), Some(at - begin));
        }
    }

    #[test]
    fn what_is_larger_than_memory_has_no_size() {
        let point = primitives(8, 3).unwrap();
        assert_eq!(repeated(&point, usize::MAX), None);
        assert_eq!(primitives(8, usize::MAX), None);
    }
}
