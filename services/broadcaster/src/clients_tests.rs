use super::*;
use tokio::sync::broadcast;

fn at(received: u64) -> impl Fn() -> ((), u64) {
    move || ((), received)
}

#[track_caller]
fn adds_up(c: &ClientCounters) {
    assert_eq!(c.offered, c.frames_sent + c.frames_dropped + c.waiting, "{c:?}");
}

/// The ring's own count of what is unread and the tally's counts are independent: together
/// they are what was offered, however far the page fell behind.
#[test]
fn what_a_page_was_offered_was_sent_dropped_or_is_left() {
    let clients = Clients::new(4);
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
                if tally.take(&mut reader).is_ok() {
                    assert_eq!(tally.wrote(), 1);
                }
            }
            adds_up(clients.counters(at(received)).last().unwrap());
        }
        while hold && tally.take(&mut reader).is_ok() {}
        let told = tally.dropped.load(Ordering::Relaxed);
        let before = clients.counters(at(received)).pop().unwrap();
        let silently = tally.end(received, reader.len() as u64, clients.ring());
        clients.leave(&tally);
        let gone = clients.counters(at(received + 7)).pop().unwrap();
        assert_eq!((gone.connected, gone.offered), (0, sent_before + sent_between));
        adds_up(&gone);
        // What was overwritten was counted before it went, and is no longer waiting.
        assert_eq!(
            (gone.frames_dropped, told + silently),
            (before.frames_dropped, gone.frames_dropped)
        );
        assert!(gone.waiting <= 4 + tally.holding(), "{gone:?}");
    }
}

#[test]
fn pages_that_come_and_go_for_ever_take_no_more_memory() {
    let clients = Clients::new(4);
    for received in 0..3000 {
        let tally = clients.join(received);
        tally.end(received, 0, clients.ring());
        clients.leave(&tally);
    }
    assert_eq!(clients.each(at(3000)).len(), TOLD + REMEMBERED);
}

#[test]
fn beyond_64_pages_are_summed_up_and_no_count_falls() {
    let clients = Clients::new(4);
    let tallies: Vec<_> = (0..70).map(|_| clients.join(0)).collect();
    let others = |received| clients.counters(at(received)).into_iter().nth(TOLD).unwrap();
    assert_eq!(clients.counters(at(10)).len(), TOLD + 1);
    assert_eq!((others(10).connected, others(10).offered), (6, 60));
    for tally in [&tallies[69], &tallies[0]] {
        tally.end(10, 10, clients.ring());
        clients.leave(tally);
    }
    assert_eq!((others(11).connected, others(11).offered), (5, 10 + 5 * 11));
    drop(clients.join(11));
    assert_eq!(clients.counters(at(11)).len(), TOLD + 1);
    let each = clients.each(at(11));
    assert_eq!(each.len(), 71, "{each:?}");
    let gone = each.iter().find(|page| page.client == tallies[69].name).unwrap();
    assert_eq!((gone.connected, gone.offered), (0, 10));
    assert_eq!((gone.waiting, gone.frames_dropped), (4, 6));
    adds_up(&others(12));
    assert_eq!(clients.counters(at(12))[0].connected, 0);
}

/// A message that does something when it is taken out of the ring.
struct Watched(Arc<dyn Fn() + Send + Sync>);

impl Clone for Watched {
    fn clone(&self) -> Self {
        self.0();
        Self(Arc::clone(&self.0))
    }
}

/// The next message may come at any moment: a frame in between would look overwritten.
#[test]
fn a_frame_on_its_way_out_of_the_ring_is_not_dropped() {
    let clients = Arc::new(Clients::new(4));
    let (ring, mut reader) = broadcast::channel(4);
    let tally = clients.join(0);
    let looked = Arc::new(AtomicU64::new(0));
    let (of, looks) = (Arc::clone(&clients), Arc::clone(&looked));
    let look: Arc<dyn Fn() + Send + Sync> = Arc::new(move || {
        let now = of.counters(at(5)).pop().unwrap();
        assert_eq!((now.frames_sent, now.frames_dropped, now.waiting), (0, 0, 5), "{now:?}");
        looks.fetch_add(1, Ordering::Relaxed);
    });
    for _ in 0..4 {
        assert!(ring.send(Watched(Arc::clone(&look))).is_ok());
    }
    assert!(tally.take(&mut reader).is_ok());
    assert_eq!(looked.load(Ordering::Relaxed), 1);
    assert_eq!((tally.wrote(), tally.wrote()), (1, 0));
    // Two were overwritten, and stay so while the page looks for the next one.
    let dropped = || clients.counters(at(7)).pop().unwrap().frames_dropped;
    assert_eq!(dropped(), 2);
    tally.taken.fetch_add(1, Ordering::Relaxed);
    assert_eq!(dropped(), 2);
}

/// A page reads and writes while its counts are looked at.
#[test]
fn no_count_falls_while_frames_change_hands() {
    const MESSAGES: u64 = 50_000;
    let clients = Clients::new(4);
    let (ring, mut reader) = broadcast::channel::<u64>(4);
    let turn = Mutex::new(0);
    let tally = clients.join(0);
    let by_now = || {
        let guard = turn.lock().unwrap();
        let received = *guard;
        (guard, received)
    };
    std::thread::scope(|scope| {
        let page = scope.spawn(|| {
            loop {
                match tally.take(&mut reader) {
                    Err(TryRecvError::Closed) => return,
                    Err(TryRecvError::Empty) => drop(tally.wrote()),
                    Ok(message) if message % 3 == 0 => drop(tally.wrote()),
                    Ok(_) | Err(TryRecvError::Lagged(_)) => {}
                }
            }
        });
        scope.spawn(|| {
            let ring = ring;
            for message in 0..MESSAGES {
                let mut received = turn.lock().unwrap();
                ring.send(message).unwrap();
                *received += 1;
            }
        });
        let mut before = ClientCounters::default();
        while !page.is_finished() {
            let now = clients.counters(by_now).pop().unwrap();
            adds_up(&now);
            assert!(now.frames_sent >= before.frames_sent, "{before:?} {now:?}");
            assert!(now.frames_dropped >= before.frames_dropped, "{before:?} {now:?}");
            before = now;
        }
    });
    tally.wrote();
    let last = clients.counters(at(MESSAGES)).pop().unwrap();
    assert_eq!((last.waiting, last.offered), (0, MESSAGES), "{last:?}");
}

/// Whoever hands over waits for one page's numbers at most.
#[test]
fn each_page_has_a_turn_of_its_own() {
    let clients = Clients::new(4);
    let tallies: Vec<_> = (0..TOLD + 6).map(|_| clients.join(0)).collect();
    tallies[0].end(3, 0, clients.ring());
    clients.leave(&tallies[0]);
    let turns = std::cell::Cell::new(0);
    let turn = || {
        turns.set(turns.get() + 1);
        // Nobody who has the turn waits for who looks on.
        assert!(clients.state.try_lock().is_ok());
        ((), 7)
    };
    clients.counters(turn);
    assert_eq!(turns.replace(0), tallies.len() - 1);
    assert_eq!(clients.each(turn).len(), tallies.len());
    assert_eq!(turns.get(), tallies.len() - 1);
}
