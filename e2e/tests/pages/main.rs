//! Pages that send rubbish, lie, or never read: they hurt themselves, and nobody else.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod client;

use client::{Seen, ack, babble, behave, connect, next, page, say, sleeper};
use futures_util::SinkExt;
use hopwatch_e2e::{Ended, Running, World, get_json, legs_add_up};
use serde_json::Value;
use std::net::SocketAddr;
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::{Error, Message};

/// A pipeline that waits for robots, so that every client is there before the first message.
struct Stage {
    world: World,
    running: Running,
    broadcaster: SocketAddr,
    runtime: tokio::runtime::Runtime,
}

impl Stage {
    fn new() -> Self {
        let world = World::new();
        let running = world
            .hopwatch("run --no-sim --for 60s --ai-ms 1 --qos reliable --page-port 0")
            .env("HOPWATCH_BROADCASTER_CLIENT_QUEUE", "16")
            .env("HOPWATCH_BROADCASTER_WRITE_TIMEOUT_MS", "2000")
            .start();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let mut stage = Self { world, running, broadcaster: ([127, 0, 0, 1], 0).into(), runtime };
        // As our own page learns it.
        let page = stage.running.page();
        let page = page.trim_start_matches("http://").trim_end_matches('/').parse().unwrap();
        let port = get_json(page, "/config.json").unwrap()["broadcaster_port"].take();
        stage.broadcaster.set_port(u16::try_from(port.as_u64().unwrap()).unwrap());
        assert_eq!(stage.broadcaster, stage.running.address("broadcaster"));
        stage.running.address("gateway");
        stage
    }

    fn well_behaved(&self) -> (JoinHandle<Seen>, String) {
        let (socket, name) = self.runtime.block_on(page(self.broadcaster.port()));
        (self.runtime.spawn(behave(socket)), name)
    }

    /// The broadcaster's own counts.
    fn counts(&self) -> Result<Value, String> {
        Ok(get_json(self.broadcaster, "/healthz")?["detail"].take())
    }

    /// Waits until its counts are as they should be.
    #[track_caller]
    fn wait_for(&mut self, what: &str, enough: impl Fn(&Value) -> bool) {
        let broadcaster = self.broadcaster;
        self.running.wait_for(what, |_| {
            let counts = get_json(broadcaster, "/healthz")?["detail"].take();
            if enough(&counts) { Ok(()) } else { Err(counts.to_string()) }
        });
    }

    /// Waits until one of them is this.
    #[track_caller]
    fn count(&mut self, name: &str, expected: u64) {
        self.wait_for(&format!("{expected} {name}"), |counts| counts[name] == expected);
    }

    /// Publishes so many messages, and waits until all have gone the whole way.
    #[track_caller]
    fn publish(&mut self, count: u64, words: &str) {
        let words = format!("--qos reliable --count {count} {words}");
        self.world.robots(&words).end().has_code(0);
        self.running.delivered(count);
    }

    /// Ends it: the report, and what the well-behaved page saw.
    fn end(self, well_behaved: JoinHandle<Seen>) -> (World, Ended, Seen) {
        self.running.interrupt();
        let ended = self.running.end();
        let seen = self.runtime.block_on(well_behaved).unwrap();
        self.runtime.shutdown_background();
        self.world.is_empty_now();
        (self.world, ended, seen)
    }
}

/// The run is as if there were only the well-behaved page, which got everything.
fn unaffected(ended: &Ended, seen: &Seen, name: &str, count: u64) {
    let report = ended.has_code(0).report();
    report.ledger().all_delivered(count);
    let rows = ended.traces();
    legs_add_up(&rows);
    let sent: Vec<&str> = rows.iter().map(|row| row.text("trace_id")).collect();
    assert_eq!((seen.dropped, &seen.messages), (0, &sent.iter().map(|s| (*s).into()).collect()));
    let glass = ended.glass();
    let own = glass.iter().filter(|row| row.text("client") == name).count();
    assert_eq!(own, rows.len(), "each of its acknowledgements is a row");
    for leg in ["fanout", "push", "paint"] {
        assert!(report.lane().legs[leg].n >= own, "{leg}");
    }
}

#[test]
fn rubbish_is_counted_and_too_much_of_it_ends_the_connection() {
    let mut stage = Stage::new();
    let port = stage.broadcaster.port();
    let (good, name) = stage.well_behaved();

    // Another site's page must not listen in.
    for origin in ["http://evil.example", "null", "http://localhost.evil.example"] {
        let refused = stage.runtime.block_on(connect(port, origin));
        let Err(Error::Http(reply)) = refused else { panic!("{origin} was let in") };
        assert_eq!(reply.status().as_u16(), 403, "{origin}");
    }
    stage.count("clients", 1);

    // A frame beyond the limit ends a connection at once, and is never read to its end.
    let (socket, _) = stage.runtime.block_on(page(port));
    let huge = "x".repeat(300 << 10);
    let times = stage.runtime.block_on(babble(socket, &huge));
    assert!(times <= 2, "{times} huge frames");

    // A hundred texts that are none of ours do, too.
    let (socket, _) = stage.runtime.block_on(page(port));
    let times = stage.runtime.block_on(babble(socket, r#"{"type":"nuke"}"#));
    assert!(times >= 100, "{times} are too few to be thrown out");
    stage.count("clients", 1);
    let thrown_out = stage.counts().unwrap()["rubbish"].as_u64().unwrap();
    assert_eq!(thrown_out, 100);

    // One that now and then sends what is nothing stays, and is counted.
    let (mut socket, _) = stage.runtime.block_on(page(port));
    let rubbish = [
        "",
        "null",
        "[]",
        "\u{0}",
        r#"{"type":"ack"}"#,
        r#"{"type":"ack","sent_ns":12,"resolution_ns":1,"items":[]}"#,
        r#"{"type":"ack","sent_ns":"12","resolution_ns":-1,"items":[]}"#,
        r#"{"type":"ack","sent_ns":"1e9","resolution_ns":1,"items":[]}"#,
        r#"{"type":"ack","sent_ns":"12","resolution_ns":1,"items":[],"more":1}"#,
    ];
    stage.runtime.block_on(async {
        for text in rubbish {
            assert!(say(&mut socket, text).await);
        }
        socket.send(Message::binary(vec![0xff; 1000])).await.unwrap();
    });
    let rubbish = u64::try_from(rubbish.len()).unwrap() + 1 + thrown_out;
    stage.count("rubbish", rubbish);

    stage.publish(40, "--rate 20");
    stage.count("clients", 2);
    let (_world, ended, seen) = stage.end(good);
    unaffected(&ended, &seen, &name, 40);
    let told = ended.records("broadcaster").pop().unwrap();
    assert_eq!(told["rubbish"], rubbish, "the collector knows of it");
    assert_eq!(ended.glass().len(), 40);
}

#[test]
fn lies_about_messages_are_taken_for_what_they_are() {
    let mut stage = Stage::new();
    let port = stage.broadcaster.port();
    let (good, name) = stage.well_behaved();
    let (mut socket, liar) = stage.runtime.block_on(page(port));
    let lying = stage.runtime.spawn(async move {
        // Messages that nobody sent it.
        let foreign = "0123456789abcdef0123456789abcdef";
        for id in [foreign, "", "zz", &"0".repeat(3000)] {
            say(&mut socket, &ack(id, ["1", "2", "3"])).await;
        }
        // Of those it got: stamps in an order that no time has, of a message that it held for
        // longer than it was away, then of the end of all times.
        let most = i64::MAX.to_string();
        let stamps = [
            ["5", "4", "6"],
            ["5", "6", "4"],
            ["-5", "6", "7"],
            ["5", "6", "3600000000000"],
            [&most, &most, &most],
        ];
        for stamps in stamps {
            let frame = next(&mut socket).await.unwrap();
            let trace = frame["trace_id"].as_str().unwrap().to_owned();
            say(&mut socket, &ack(&trace, stamps)).await;
            // It was acknowledged already, rightly or not.
            say(&mut socket, &ack(&trace, ["5", "6", "7"])).await;
        }
        while next(&mut socket).await.is_some() {}
    });
    stage.publish(40, "--rate 20");
    // 4 foreign ones, 4 impossible ones, and each of 5 a second time; the last pair's first
    // can't be told from a page that has been open for 292 years.
    stage.count("rubbish", 4 + 4 + 5);
    stage.count("acks", 40 + 1);
    let (_world, ended, seen) = stage.end(good);
    assert!(lying.is_finished(), "its connection was closed in the end");
    unaffected(&ended, &seen, &name, 40);
    let lies = ended.glass().iter().filter(|row| row.text("client") == liar).count();
    assert_eq!(lies, 1);
}

/// One sleeps for a while, one for ever, and there is more to send than any buffer holds.
#[test]
fn pages_that_do_not_read_lose_messages_and_hold_up_nobody() {
    const COUNT: u64 = 160;
    let mut stage = Stage::new();
    let port = stage.broadcaster.port();
    let (good, name) = stage.well_behaved();
    let never = stage.runtime.block_on(sleeper(port));
    let for_a_while = stage.runtime.block_on(sleeper(port));
    stage.count("clients", 3);
    let words = format!("--qos reliable --count {COUNT} --rate 40 --payload-bytes 150000");
    let robots = stage.world.robots(&words).start();
    stage.wait_for("70 messages", |counts| counts["received"].as_u64() >= Some(70));
    let woken = stage.runtime.spawn(behave(for_a_while));
    robots.end().has_code(0);
    stage.running.delivered(COUNT);
    // It took nothing for two seconds: it is out.
    stage.count("clients", 2);
    // The other one got the rest, or was told what it lost.
    let broadcaster = stage.broadcaster;
    let pages = || get_json(broadcaster, "/v1/clients").map(|told| told["clients"].clone());
    let of = |page: &Value, name: &str| page[name].as_u64().unwrap();
    stage.running.wait_for("its last message", |_| {
        let pages = pages()?;
        let here = pages.as_array().unwrap().iter().filter(|page| page["connected"] == 1);
        let all = here.clone().all(|page| of(page, "acked") + of(page, "frames_dropped") == COUNT);
        if all && here.count() == 2 { Ok(()) } else { Err(pages.to_string()) }
    });
    // Each page has its own account; what the sleeper was never told of is counted as well.
    let pages = pages().unwrap();
    let dropped = |page: &Value| of(page, "frames_dropped");
    for page in pages.as_array().unwrap() {
        let all = of(page, "frames_sent") + dropped(page) + of(page, "waiting");
        assert_eq!(of(page, "offered"), all, "{page}");
    }
    let slept = pages.as_array().unwrap().iter().find(|page| page["connected"] == 0).unwrap();
    assert!(dropped(slept) > 0 && of(slept, "waiting") > 0, "{slept}");
    let (_world, ended, seen) = stage.end(good);
    drop(never);
    unaffected(&ended, &seen, &name, COUNT);

    let told = ended.records("broadcaster").pop().unwrap();
    let woken = tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(woken);
    let woken = woken.unwrap();
    assert!(woken.dropped > 0, "nothing was ever too much for it: {told}");
    assert_eq!(u64::try_from(woken.messages.len()).unwrap() + woken.dropped, COUNT);
    assert_eq!(told["frames_dropped"], woken.dropped + dropped(slept), "{told}");
    assert_eq!(told["received"], COUNT, "{told}");
}
