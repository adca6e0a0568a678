//! Counts of datagrams that were passed over.

use crate::call::Ignored;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Default)]
pub(crate) struct Counts {
    garbage: AtomicU64,
    foreign: AtomicU64,
    duplicate: AtomicU64,
    late: AtomicU64,
    overload: AtomicU64,
    stranger: AtomicU64,
}

impl Counts {
    pub(crate) fn garbage(&self) {
        self.garbage.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn foreign(&self) {
        self.foreign.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn duplicate(&self) {
        self.duplicate.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn late(&self) {
        self.late.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn overload(&self) {
        self.overload.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn stranger(&self) {
        self.stranger.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn now(&self) -> Ignored {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Ignored {
            garbage: of(&self.garbage),
            foreign: of(&self.foreign),
            duplicate: of(&self.duplicate),
            late: of(&self.late),
            overload: of(&self.overload),
            stranger: of(&self.stranger),
        }
    }
}
