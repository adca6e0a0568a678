//! What became of the messages for each page.

use hopwatch_model::ClientCounters;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::broadcast::{Receiver, error::TryRecvError};

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
    sent: AtomicU64,
    /// Those that the page was told of, and when it goes those that it wasn't.
    dropped: AtomicU64,
    /// The most that were ever counted as dropped.
    most_dropped: AtomicU64,
    pub(crate) acked: AtomicU64,
    pub(crate) rubbish: AtomicU64,
    /// Acknowledgements that are in no record.
    pub(crate) unrecorded: AtomicU64,
    /// Frames that are out of the ring, sent or being written; for a moment one more than there are,
    /// never one less.
    taken: AtomicU64,
    /// When the page went: its last counts.
    gone: OnceLock<Counts>,
}

/// A page's counts at a moment.
#[derive(Clone, Copy, Debug)]
struct Counts {
    offered: u64,
    sent: u64,
    dropped: u64,
    waiting: u64,
    acked: u64,
    rubbish: u64,
    unrecorded: u64,
    connected: u64,
}

impl Tally {
    fn new(joined: u64) -> Self {
        Self {
            name: uuid::Uuid::new_v4().to_string(),
            joined,
            sent: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            most_dropped: AtomicU64::new(0),
            acked: AtomicU64::new(0),
            rubbish: AtomicU64::new(0),
            unrecorded: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            gone: OnceLock::new(),
        }
    }

    /// The page's next frame out of the ring, which is held until it is written.
    ///
    /// At no moment a frame is neither in the ring nor counted as taken or dropped: it would look
    /// overwritten.
    pub(crate) fn take<T: Clone>(&self, frames: &mut Receiver<T>) -> Result<T, TryRecvError> {
        self.taken.fetch_add(1, Ordering::AcqRel);
        let taken = frames.try_recv();
        if let Err(TryRecvError::Lagged(count)) = taken {
            self.dropped.fetch_add(count, Ordering::Relaxed);
        }
        if taken.is_err() {
            self.taken.fetch_sub(1, Ordering::Release);
        }
        taken
    }

    /// All that were taken are written: how many.
    pub(crate) fn wrote(&self) -> u64 {
        // Nobody else takes any.
        let count = self.holding();
        self.sent.fetch_add(count, Ordering::Relaxed);
        count
    }

    /// Frames that are being written.
    fn holding(&self) -> u64 {
        self.taken.load(Ordering::Relaxed) - self.sent.load(Ordering::Relaxed)
    }

    /// The page goes, when so many messages have been received and it has so many in the ring that it
    /// never read: how many were dropped that it was not told of. In a turn.
    pub(crate) fn end(&self, received: u64, unread: u64, ring: u64) -> u64 {
        let overwritten = unread.saturating_sub(ring);
        self.dropped.fetch_add(overwritten, Ordering::Relaxed);
        let waiting = unread - overwritten + self.holding();
        let now = self.counts(received, ring);
        let _ends_once = self.gone.set(Counts { waiting, connected: 0, ..now });
        overwritten
    }

    /// The counts when the broadcaster has received so many messages. In a turn.
    ///
    /// What the ring has overwritten is dropped, though the page hears of it when it reads again, or
    /// never. While a frame is counted twice there is less than that: the most is kept.
    fn counts(&self, received: u64, ring: u64) -> Counts {
        if let Some(gone) = self.gone.get() {
            return *gone;
        }
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let offered = received.saturating_sub(self.joined);
        // First: one that turns out not to be taken is dropped.
        let taken = self.taken.load(Ordering::Acquire);
        let (sent, told) = (of(&self.sent), of(&self.dropped));
        let unread = offered.saturating_sub(taken + told);
        let dropped = told + unread.saturating_sub(ring);
        let dropped = dropped.max(self.most_dropped.fetch_max(dropped, Ordering::Relaxed));
        Counts {
            offered,
            sent,
            dropped,
            waiting: offered.saturating_sub(sent + dropped),
            acked: of(&self.acked),
            rubbish: of(&self.rubbish),
            unrecorded: of(&self.unrecorded),
            connected: 1,
        }
    }

    fn told(&self, counts: Counts) -> ClientCounters {
        ClientCounters {
            client: self.name.clone(),
            offered: counts.offered,
            frames_sent: counts.sent,
            frames_dropped: counts.dropped,
            waiting: counts.waiting,
            acked: counts.acked,
            rubbish: counts.rubbish,
            unrecorded: counts.unrecorded,
            connected: counts.connected,
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

#[derive(Clone)]
enum Page {
    Here(Arc<Tally>),
    Gone(ClientCounters),
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
        let tally = Arc::new(Tally::new(received));
        let mut state = self.state();
        if state.told.len() < TOLD {
            state.told.push(Page::Here(Arc::clone(&tally)));
        } else {
            state.later.push(Arc::clone(&tally));
        }
        tally
    }

    /// Messages in the ring.
    pub(crate) fn ring(&self) -> u64 {
        self.ring
    }

    /// A page has gone, and its counts have [ended](Tally::end).
    pub(crate) fn leave(&self, tally: &Arc<Tally>) {
        // Its counts are its last ones, however many were received.
        let gone = tally.told(tally.counts(0, self.ring));
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
    }

    /// A page's counts. `turn` tells how many messages have been received, by now and until its guard
    /// is dropped: whoever hands over a message waits for one page's numbers at most.
    fn of<G>(&self, tally: &Tally, turn: impl Fn() -> (G, u64)) -> ClientCounters {
        let counts = {
            let (_guard, received) = turn();
            tally.counts(received, self.ring)
        };
        tally.told(counts)
    }

    fn of_page<G>(&self, page: Page, turn: impl Fn() -> (G, u64)) -> ClientCounters {
        match page {
            Page::Here(tally) => self.of(&tally, turn),
            Page::Gone(counters) => counters,
        }
    }

    /// The counts of each page one by one: of those that are connected, and of the first and the
    /// newest ones that are gone.
    pub(crate) fn each<G>(&self, turn: impl Fn() -> (G, u64)) -> Vec<ClientCounters> {
        let (told, later, remembered) = {
            let state = self.state();
            (state.told.clone(), state.later.clone(), state.remembered.clone())
        };
        let told = told.into_iter().map(|page| self.of_page(page, &turn));
        let later = later.iter().map(|tally| self.of(tally, &turn));
        told.chain(later).chain(remembered).collect()
    }

    /// The counts of all.
    pub(crate) fn counters<G>(&self, turn: impl Fn() -> (G, u64)) -> Vec<ClientCounters> {
        // The pages of one moment: each is in one of these, whatever it does meanwhile.
        let (told, later, mut others) = {
            let state = self.state();
            (state.told.clone(), state.later.clone(), state.others.clone())
        };
        let mut all: Vec<ClientCounters> =
            told.into_iter().map(|page| self.of_page(page, &turn)).collect();
        for tally in &later {
            add(&mut others, &self.of(tally, &turn));
        }
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
