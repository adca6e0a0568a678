//! A thousand pages at once: how soon is a matter of `bench/many-pages`, how many of this test.
#![allow(clippy::unwrap_used, reason = "tests")]

use hopwatch_e2e::World;
use hopwatch_many_pages::{Limits, Plan, measure};

#[test]
fn a_thousand_pages_get_everything_though_a_hundred_never_read() {
    let world = World::new();
    let plan = Plan {
        broadcaster: world.built("hopwatch-broadcaster"),
        // Short enough for those who never read to lose messages here.
        words: vec!["--client-queue".to_owned(), "128".to_owned()],
        pages: 1000,
        stalled: 100,
        rate_hz: 50,
        seconds: 6,
        body_bytes: vec![2000, 3000, 4000],
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let measured = runtime.block_on(measure(&plan)).unwrap();
    assert!(measured.all_there, "{measured}");
    let faults = measured.accounts();
    assert!(faults.is_empty(), "{measured}\n{faults:#?}");
    for page in measured.readers() {
        assert_eq!((page.received, page.dropped, page.acked > 0), (300, 0, true), "{page:?}");
    }
    for page in measured.stalled() {
        assert!(page.dropped > 0, "nothing was ever too much for it: {page:?}\n{measured}");
        assert!(page.sent < 300 && page.acked == 0, "{page:?}");
    }
    // By what it may hold for a page, whatever the page does.
    let (most, allowed) = (measured.memory.most_bytes(), Limits::default().memory_bytes(&measured));
    assert!(most <= allowed, "{most} bytes of {allowed}\n{measured}");
    // Stamps are recorded of few: a collector must bear it.
    assert!(measured.push.n <= 8 * 300, "{measured}");
}
