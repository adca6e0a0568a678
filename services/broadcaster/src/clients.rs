//! What became of the messages for each page.

use hopwatch_model::ClientCounters;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Pages that are told of one by one; later ones are summed up, for ever, so that no count ever
/// falls.
const TOLD: usize = 64;
/// Later pages that are gone and are still known one by one to who asks, the newest.
const REMEMBERED: usize = 1024;

/// One page's counts, written where it is served.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) name: String,
    /// Messages that the broadcaster had received when the page came.
    joined: u64,
    pub(crate) sent: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) acked: AtomicU64,
    pub(crate) rubbish: AtomicU64,
    /// Acknowledgements that are in no record.
    pub(crate) unrecorded: AtomicU64,
    /// Frames that are being written.
    holding: AtomicU64,
}

impl Tally {
    /// One more frame is out of the ring, and not written yet.
    pub(crate) fn takes(&self) {
        self.holding.fetch_add(1, Ordering::Relaxed);
    }

    /// All that were taken are written: how many.
    pub(crate) fn wrote(&self) -> u64 {
        let count = self.holding.swap(0, Ordering::Relaxed);
        self.sent.fetch_add(count, Ordering::Relaxed);
        count
    }

    /// The counts of a page that is connected, when the broadcaster has received so many.
    ///
    /// What the ring has overwritten is dropped, though the page hears of it when it reads again, or
    /// never.
    fn counters(&self, received: u64, ring: u64) -> ClientCounters {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let offered = received - self.joined;
        let (frames_sent, told) = (of(&self.sent), of(&self.dropped));
        let unread = offered.saturating_sub(frames_sent + told + of(&self.holding));
        let frames_dropped = told + unread.saturating_sub(ring);
        ClientCounters {
            client: self.name.clone(),
            offered,
            frames_sent,
            frames_dropped,
            waiting: offered.saturating_sub(frames_sent + frames_dropped),
            acked: of(&self.acked),
            rubbish: of(&self.rubbish),
            unrecorded: of(&self.unrecorded),
            connected: 1,
        }
    }
}

/// All pages that ever connected.
pub(crate) struct Clients {
    /// Messages in the ring; what a page has not read beyond those is overwritten.
    ring: u64,
    state: Mutex<State>,
}

struct State {
    /// The first ones, connected or gone.
    told: Vec<Page>,
    /// Later ones that are connected.
    later: Vec<Arc<Tally>>,
    /// Later ones that are gone: all of them.
    others: ClientCounters,
    /// The newest of them, also in `others`.
    remembered: VecDeque<ClientCounters>,
}

enum Page {
    Here(Arc<Tally>),
    Gone(ClientCounters),
}

impl Page {
    fn counters(&self, received: u64, ring: u64) -> ClientCounters {
        match self {
            Self::Here(tally) => tally.counters(received, ring),
            Self::Gone(counters) => counters.clone(),
        }
    }
}

impl Clients {
    /// None yet, at a ring of so many messages.
    pub(crate) fn new(ring: u64) -> Self {
        let client = format!("others {}", uuid::Uuid::new_v4());
        let others = ClientCounters { client, ..ClientCounters::default() };
        let (told, later, remembered) = (Vec::new(), Vec::new(), VecDeque::new());
        Self { ring, state: Mutex::new(State { told, later, others, remembered }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A page comes, when so many messages have been received.
    pub(crate) fn join(&self, received: u64) -> Arc<Tally> {
        let tally = Arc::new(Tally {
            name: uuid::Uuid::new_v4().to_string(),
            joined: received,
            sent: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            acked: AtomicU64::new(0),
            rubbish: AtomicU64::new(0),
            unrecorded: AtomicU64::new(0),
            holding: AtomicU64::new(0),
        });
        let mut state = self.state();
        if state.told.len() < TOLD {
            state.told.push(Page::Here(Arc::clone(&tally)));
        } else {
            state.later.push(Arc::clone(&tally));
        }
        tally
    }

    /// A page goes, with so many messages that it never read: how many were dropped that it was not
    /// told of.
    pub(crate) fn leave(&self, tally: &Arc<Tally>, received: u64, unread: u64) -> u64 {
        let overwritten = unread.saturating_sub(self.ring);
        tally.dropped.fetch_add(overwritten, Ordering::Relaxed);
        let waiting = unread - overwritten + tally.holding.load(Ordering::Relaxed);
        let now = tally.counters(received, self.ring);
        let gone = ClientCounters { waiting, connected: 0, ..now };
        let mut state = self.state();
        let is_it = |page: &&mut Page| matches!(page, Page::Here(it) if Arc::ptr_eq(it, tally));
        if let Some(page) = state.told.iter_mut().find(is_it) {
            *page = Page::Gone(gone);
        } else {
            state.later.retain(|it| !Arc::ptr_eq(it, tally));
            add(&mut state.others, &gone);
            if state.remembered.len() == REMEMBERED {
                state.remembered.pop_front();
            }
            state.remembered.push_back(gone);
        }
        overwritten
    }

    /// The counts of each page one by one, when so many messages have been received: of those that
    /// are connected, and of the first and the newest ones that are gone.
    pub(crate) fn each(&self, received: u64) -> Vec<ClientCounters> {
        let state = self.state();
        let later = state.later.iter().map(|tally| tally.counters(received, self.ring));
        let told = state.told.iter().map(|page| page.counters(received, self.ring));
        told.chain(later).chain(state.remembered.iter().cloned()).collect()
    }

    /// The counts of all, when so many messages have been received.
    pub(crate) fn counters(&self, received: u64) -> Vec<ClientCounters> {
        let state = self.state();
        let told = state.told.iter().map(|page| page.counters(received, self.ring));
        let mut all: Vec<ClientCounters> = told.collect();
        let mut others = state.others.clone();
        state.later.iter().for_each(|tally| add(&mut others, &tally.counters(received, self.ring)));
        if others.offered + others.connected > 0 {
            all.push(others);
        }
        all
    }
}

fn add(sum: &mut ClientCounters, of: &ClientCounters) {
    sum.offered += of.offered;
    sum.frames_sent += of.frames_sent;
    sum.frames_dropped += of.frames_dropped;
    sum.waiting += of.waiting;
    sum.acked += of.acked;
    sum.rubbish += of.rubbish;
    sum.unrecorded += of.unrecorded;
    sum.connected += of.connected;
}

#[cfg(test)]
#[path = "clients_tests.rs"]
mod tests;
