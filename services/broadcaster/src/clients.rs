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
    fn counters(&self, received: u64) -> ClientCounters {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let offered = received - self.joined;
        let (frames_sent, frames_dropped) = (of(&self.sent), of(&self.dropped));
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
pub(crate) struct Clients(Mutex<State>);

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
    fn counters(&self, received: u64) -> ClientCounters {
        match self {
            Self::Here(tally) => tally.counters(received),
            Self::Gone(counters) => counters.clone(),
        }
    }
}

impl Clients {
    /// None yet.
    pub(crate) fn new() -> Self {
        let client = format!("others {}", uuid::Uuid::new_v4());
        let others = ClientCounters { client, ..ClientCounters::default() };
        let (told, later, remembered) = (Vec::new(), Vec::new(), VecDeque::new());
        Self(Mutex::new(State { told, later, others, remembered }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// A page goes, with so many messages left in the ring that it never read.
    pub(crate) fn leave(&self, tally: &Arc<Tally>, received: u64, unread: u64) {
        let waiting = unread + tally.holding.load(Ordering::Relaxed);
        let gone = ClientCounters { waiting, connected: 0, ..tally.counters(received) };
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

    /// The counts of each page one by one, when so many messages have been received: of those that
    /// are connected, and of the first and the newest ones that are gone.
    pub(crate) fn each(&self, received: u64) -> Vec<ClientCounters> {
        let state = self.state();
        let later = state.later.iter().map(|tally| tally.counters(received));
        let told = state.told.iter().map(|page| page.counters(received));
        told.chain(later).chain(state.remembered.iter().cloned()).collect()
    }

    /// The counts of all, when so many messages have been received.
    pub(crate) fn counters(&self, received: u64) -> Vec<ClientCounters> {
        let state = self.state();
        let told = state.told.iter().map(|page| page.counters(received));
        let mut all: Vec<ClientCounters> = told.collect();
        let mut others = state.others.clone();
        state.later.iter().for_each(|tally| add(&mut others, &tally.counters(received)));
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
mod tests {
    use super::*;
    use tokio::sync::broadcast::{self, error::TryRecvError};

    #[track_caller]
    fn adds_up(c: &ClientCounters) {
        assert_eq!(c.offered, c.frames_sent + c.frames_dropped + c.waiting, "{c:?}");
    }

    /// The ring's own count of what is unread and the tally's counts are independent: together
    /// they are what was offered, however far the page fell behind.
    #[test]
    fn what_a_page_was_offered_was_sent_dropped_or_is_left() {
        let clients = Clients::new();
        let (ring, _) = broadcast::channel::<u64>(4);
        let mut received = 0;
        for (sent_before, reads, sent_between, reads_more, hold) in
            [(3, 0, 0, 0, false), (0, 2, 9, 3, true), (5, 5, 4, 9, false), (1, 9, 30, 2, true)]
        {
            let mut reader = ring.subscribe();
            let tally = clients.join(received);
            for (sends, reads) in [(sent_before, reads), (sent_between, reads_more)] {
                for _ in 0..sends {
                    received += 1;
                    ring.send(received).unwrap();
                }
                for _ in 0..reads {
                    match reader.try_recv() {
                        Ok(_) => {
                            tally.takes();
                            assert_eq!(tally.wrote(), 1);
                        }
                        Err(TryRecvError::Lagged(n)) => {
                            tally.dropped.fetch_add(n, Ordering::Relaxed);
                        }
                        Err(_) => {}
                    }
                }
                adds_up(clients.counters(received).last().unwrap());
            }
            while hold && reader.try_recv().is_ok() {
                tally.takes();
            }
            clients.leave(&tally, received, reader.len() as u64);
            let gone = clients.counters(received + 7).pop().unwrap();
            assert_eq!((gone.connected, gone.offered), (0, sent_before + sent_between));
            adds_up(&gone);
        }
    }

    #[test]
    fn pages_that_come_and_go_for_ever_take_no_more_memory() {
        let clients = Clients::new();
        for received in 0..3000 {
            clients.leave(&clients.join(received), received, 0);
        }
        assert_eq!(clients.each(3000).len(), TOLD + REMEMBERED);
    }

    #[test]
    fn beyond_64_pages_are_summed_up_and_no_count_falls() {
        let clients = Clients::new();
        let tallies: Vec<_> = (0..70).map(|_| clients.join(0)).collect();
        let others = |received| clients.counters(received).into_iter().nth(TOLD).unwrap();
        assert_eq!(clients.counters(10).len(), TOLD + 1);
        assert_eq!((others(10).connected, others(10).offered), (6, 60));
        clients.leave(&tallies[69], 10, 10);
        clients.leave(&tallies[0], 10, 10);
        assert_eq!((others(11).connected, others(11).offered), (5, 10 + 5 * 11));
        drop(clients.join(11));
        assert_eq!(clients.counters(11).len(), TOLD + 1);
        let each = clients.each(11);
        assert_eq!(each.len(), 71, "{each:?}");
        let gone = each.iter().find(|page| page.client == tallies[69].name).unwrap();
        assert_eq!((gone.connected, gone.offered, gone.waiting), (0, 10, 10));
        adds_up(&others(12));
        assert_eq!(clients.counters(12)[0].connected, 0);
    }
}
