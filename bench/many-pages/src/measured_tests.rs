use super::*;

fn well(stalled: bool) -> Page {
    let (sent, dropped, waiting) = if stalled { (3, 5, 2) } else { (10, 0, 0) };
    Page {
        stalled,
        received: if stalled { 0 } else { 10 },
        told_dropped: 0,
        odd: 0,
        offered: 10,
        sent,
        dropped,
        waiting,
        acked: if stalled { 0 } else { 10 },
        rubbish: 0,
        connected: true,
    }
}

fn measured() -> Measured {
    let sample = |at_ns, resident_bytes| Sample { at_ns, resident_bytes, socket_bytes: 1 << 20 };
    Measured {
        plan: Plan {
            broadcaster: "b".into(),
            words: Vec::new(),
            pages: 2,
            stalled: 1,
            rate_hz: 10,
            seconds: 1,
            body_bytes: vec![300],
        },
        took_ns: 1_000_000_000,
        all_there: true,
        way: Spread::of((1..=100).map(|ms| ms * 100_000).collect()),
        push: Spread::of(Vec::new()),
        answer: Spread::of(vec![200_000]),
        memory: Memory { idle_bytes: 10 << 20, samples: vec![sample(0, 11 << 20)] },
        broadcaster_cpu: 0.5,
        own_cpu: 0.5,
        pages: vec![well(false), well(true)],
    }
}

#[test]
fn what_is_as_promised_is_no_fault() {
    let measured = measured();
    assert_eq!(measured.accounts(), Vec::<String>::new());
    assert_eq!(measured.shortcomings(&Limits::default()), Vec::<String>::new());
    assert_eq!(measured.way.p99_ns, Some(9_900_000));
    let text = measured.to_string();
    assert!(text.contains("9.90 ms") && text.contains('–'), "{text}");
}

#[test]
fn a_page_that_does_not_add_up_is_named() {
    type Change = fn(&mut Page);
    let changes: [(usize, Change); 7] = [
        (0, |page| page.offered = 11),
        (0, |page| page.received = 9),
        (0, |page| page.told_dropped = 1),
        (0, |page| page.odd = 1),
        (0, |page| page.connected = false),
        (1, |page| page.rubbish = 1),
        (1, |page| page.waiting = 1),
    ];
    for (index, change) in changes {
        let mut measured = measured();
        change(&mut measured.pages[index]);
        let faults = measured.accounts();
        assert!(!faults.is_empty(), "{:?}", measured.pages);
        assert!(faults.iter().all(|fault| fault.starts_with(&format!("page {index} "))));
    }
    // One that never reads may be thrown out, and is offered no more then.
    let mut measured = measured();
    measured.pages[1] = Page { connected: false, offered: 8, dropped: 3, ..well(true) };
    assert_eq!(measured.accounts(), Vec::<String>::new());
}

#[test]
fn what_falls_short_is_told() {
    type Change = fn(&mut Measured);
    let changes: [(&str, Change); 4] = [
        ("P99", |m| m.way.p99_ns = Some(50_000_000)),
        ("P99", |m| m.way = Spread::default()),
        ("MiB", |m| m.memory.samples[0].resident_bytes = 1 << 30),
        ("10 s later", |m| m.all_there = false),
    ];
    for (word, change) in changes {
        let mut measured = measured();
        change(&mut measured);
        let short = measured.shortcomings(&Limits::default());
        assert!(short.len() == 1 && short[0].contains(word), "{short:?}");
    }
}

#[test]
fn a_page_that_the_broadcaster_forgot_is_an_error() {
    let seen = Seen { client: "c".to_owned(), ..Seen::default() };
    let error = pages(vec![seen], &[]).map_err(|error| error.to_string());
    assert_eq!(error, Err("the broadcaster forgot page c".to_owned()));
}
