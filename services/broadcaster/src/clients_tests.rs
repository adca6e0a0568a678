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
        let told = tally.dropped.load(Ordering::Relaxed);
        let before = clients.counters(received).pop().unwrap();
        let silently = clients.leave(&tally, received, reader.len() as u64);
        let gone = clients.counters(received + 7).pop().unwrap();
        assert_eq!((gone.connected, gone.offered), (0, sent_before + sent_between));
        adds_up(&gone);
        // What was overwritten was counted before it went, and is no longer waiting.
        assert_eq!(
            (gone.frames_dropped, told + silently),
            (before.frames_dropped, gone.frames_dropped)
        );
        assert!(gone.waiting <= 4 + tally.holding.load(Ordering::Relaxed), "{gone:?}");
    }
}

#[test]
fn pages_that_come_and_go_for_ever_take_no_more_memory() {
    let clients = Clients::new(4);
    for received in 0..3000 {
        clients.leave(&clients.join(received), received, 0);
    }
    assert_eq!(clients.each(3000).len(), TOLD + REMEMBERED);
}

#[test]
fn beyond_64_pages_are_summed_up_and_no_count_falls() {
    let clients = Clients::new(4);
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
    assert_eq!((gone.connected, gone.offered), (0, 10));
    assert_eq!((gone.waiting, gone.frames_dropped), (4, 6));
    adds_up(&others(12));
    assert_eq!(clients.counters(12)[0].connected, 0);
}
