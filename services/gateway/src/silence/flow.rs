//! What has come of each publisher, and when: as much as tells a usual pause from a silence.

use hopwatch_model::{Ns, PublisherId};
use std::collections::{HashMap, VecDeque};

/// So many pauses are remembered.
const REMEMBERED: usize = 16;

/// The messages of each publisher.
pub(crate) type Flows = HashMap<PublisherId, Flow>;

/// The messages of one publisher.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flow {
    /// How many came.
    pub(crate) taken: u64,
    /// When the last one came.
    pub(crate) last: Ns,
    /// The pauses between the last of them.
    pauses: VecDeque<Ns>,
}

impl Flow {
    /// A message came.
    pub(crate) fn note(&mut self, now: Ns) {
        if self.taken > 0 {
            if self.pauses.len() == REMEMBERED {
                self.pauses.pop_front();
            }
            self.pauses.push_back(now - self.last);
        }
        self.taken += 1;
        self.last = now;
    }

    /// The longest of the last pauses; `None` with one message.
    pub(super) fn longest_pause(&self) -> Option<Ns> {
        self.pauses.iter().copied().max()
    }
}
