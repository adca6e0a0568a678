use super::*;

fn entries() -> Vec<Told> {
    let text = include_str!("../../../crates/wire/fixtures/records-v1.ndjson");
    let entries = text.lines().map(|line| Told::read(line).unwrap());
    let gone = |told: &Told| matches!(&told.what, What::Word { record: Record::Gone(_), .. });
    entries.filter(|told| !gone(told)).collect()
}

#[test]
fn the_same_entry_twice_is_taken_once() {
    let mut store = Store::new(Keep { messages: 10, samples: 10 }, "run".to_owned());
    for entry in entries() {
        assert!(store.take(entry));
    }
    let before = store.lines();
    for entry in entries() {
        assert!(!store.take(entry));
    }
    assert_eq!(store.lines(), before);
    let status = store.status();
    let ledger = &status.lanes["best-effort"];
    assert_eq!((ledger.published, ledger.delivered, ledger.duplicates), (4, 3, 0));
    assert_eq!(status.clients, 1);
}

#[test]
fn what_is_kept_comes_back_as_it_was() {
    let mut store = Store::new(Keep { messages: 10, samples: 10 }, "run".to_owned());
    for entry in entries() {
        assert!(store.take(entry));
    }
    let mut again = Store::new(Keep { messages: 10, samples: 10 }, "run".to_owned());
    for line in store.lines().lines() {
        assert!(again.take(Told::read(line).unwrap()));
    }
    assert_eq!(again.status().lanes, store.status().lanes);
}

#[test]
fn numbers_may_come_in_any_order() {
    let mut seen = Seen::default();
    for number in [3, 1, 2, 5] {
        assert!(seen.take(number));
    }
    assert!(!seen.take(2) && !seen.take(5) && seen.take(4));
    assert_eq!((seen.up_to, seen.beyond.len()), (5, 0));
}

#[test]
fn beyond_what_is_kept_the_ledger_still_counts() {
    let mut store = Store::new(Keep { messages: 1, samples: 1 }, "run".to_owned());
    for entry in entries() {
        assert!(store.take(entry));
    }
    let status = store.status();
    assert_eq!(status.messages_not_kept, 3);
    assert_eq!(status.lanes["best-effort"].published, 4);
}
#[test]
fn what_is_gone_comes_back_as_an_account() {
    let mut store = Store::new(Keep { messages: 1, samples: 1 }, "run".to_owned());
    for entry in entries() {
        store.take(entry);
    }
    let mut again = Store::new(Keep { messages: 1, samples: 1 }, "run".to_owned());
    for line in store.lines().lines() {
        again.take(Told::read(line).unwrap());
    }
    let (before, after) = (store.status(), again.status());
    assert_eq!(after.lanes, before.lanes);
    assert_eq!(after.messages_not_kept, before.messages_not_kept);
}

#[test]
fn entries_come_back_as_their_source_numbered_them() {
    let mut store = Store::new(Keep { messages: 10, samples: 10 }, "run".to_owned());
    for told in entries() {
        store.take(told);
    }
    let lines = store.lines();
    let origins = |text: &str| {
        let entries = text.lines().map(|line| serde_json::from_str::<Entry>(line).unwrap());
        let mut all: Vec<_> = entries.map(|entry| (entry.source, entry.number)).collect();
        all.sort();
        all
    };
    let mut told: Vec<_> = entries().into_iter().map(|told| told.origin).collect();
    // The gateway's first counters were replaced by its last ones, and so were those of pages.
    told.retain(|(source, number)| ![("g-1", 5), ("b-1", 4)].contains(&(&**source, *number)));
    assert_eq!(origins(&lines).len(), told.len());
    for (source, number) in told {
        assert!(origins(&lines).contains(&(source.to_string(), number)), "{source} {number}");
    }
}

#[test]
fn of_two_words_on_one_thing_the_later_one_stands() {
    let counters = |number: u64, clients: u64| {
        Told::read(&format!(
            r#"{{"source":"b","number":{number},"kind":"broadcaster","received":2,"frames_sent":1,"frames_dropped":0,"acks":1,"rubbish":0,"clients":{clients},"records_dropped":0}}"#
        ))
        .unwrap()
    };
    let mut store = Store::new(Keep { messages: 10, samples: 10 }, "run".to_owned());
    assert!(store.take(counters(1, 5)) && store.take(counters(3, 7)));
    // Late, and old.
    assert!(store.take(counters(2, 6)));
    assert_eq!(store.clients(), 7);
    assert_eq!(store.lines().lines().count(), 1);
}

/// A gateway that starts again is another source, also in what is kept.
#[test]
fn each_start_of_a_gateway_keeps_its_name() {
    let mut store = Store::new(Keep { messages: 1, samples: 1 }, "run".to_owned());
    for entry in entries() {
        store.take(entry);
    }
    // A second one: the first ended in order, so that it isn't missed.
    for mut entry in entries().into_iter().filter(|entry| &*entry.origin.0 == "g-1") {
        entry.origin.0 = "g-2".into();
        if let What::Trace(trace) = &mut entry.what {
            "g-2".clone_into(&mut trace.gateway);
        }
        store.take(entry);
    }
    let dataset = store.lines();
    for source in ["g-1", "g-2"] {
        let told = |line: &&str| {
            let entry: Entry = serde_json::from_str(line).unwrap();
            entry.source == source && matches!(entry.record, Record::Gateway(_))
        };
        assert_eq!(dataset.lines().filter(told).count(), 1, "{source}");
    }
    let ledger = &store.status().lanes["best-effort"];
    assert_eq!((ledger.published, ledger.duplicates, ledger.outcome_unknown), (4, 4, 0));
    let mut again = Store::new(Keep { messages: 1, samples: 1 }, "run".to_owned());
    for line in dataset.lines() {
        again.take(Told::read(line).unwrap());
    }
    assert_eq!(again.status().lanes, store.status().lanes);
}
