//! The live page in a real browser, while things happen to a real pipeline.
#![allow(clippy::unwrap_used, reason = "tests")]

mod driver;

use driver::Driver;
use hopwatch_e2e::{Browser, Hosts, Service, Services, World};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const MS: i64 = 1_000_000;
const CLASSES: [&str; 3] = ["ai", "transport", "overhead"];

fn p50(seen: &Value, class: &str) -> i64 {
    let shown = &seen["lanes"][0]["classes"][class]["p50"];
    shown.as_i64().unwrap_or_else(|| panic!("no P50 of {class}: {seen:#}"))
}

/// Chooses the window of ten seconds, and opens all figures.
fn ten_seconds(page: &mut Driver) {
    page.wait("[data-testid=lane-row]");
    page.click("[data-testid=window] input[value='10s']");
    page.click("[data-testid=all-figures]");
    page.wait("[data-testid=class-ai-p50]");
}

fn set(page: &mut Driver, field: &str, value: &str) {
    page.click("[data-testid=open-settings]");
    page.wait(&format!("[data-testid=setting-{field}][data-kind=known]"));
    page.fill(&format!("#field-{field}"), value);
    page.press("Enter");
    page.wait(&format!("[data-testid=said-{field}] .fine"));
    page.press("Escape");
}

/// 200 ms more of the AI service, set from the page, show as the AI's time and as nothing else. And
/// what is shown is what the collector sends.
#[test]
fn a_slower_ai_shows_as_ai_and_nowhere_else() {
    let Some(browser) = Browser::or_skip() else { return };
    let world = World::new();
    let words = "up --any-ports --page-port 0 --rate 20 --ai-ms 20 --qos reliable --probes 0";
    let mut running = world.hopwatch(words).start();
    let mut page = Driver::open(&browser, &running.page());
    ten_seconds(&mut page);
    running.delivered(250);
    let before = page.look();
    page.click("[data-testid=pause]");
    page.wait("[data-testid=paused]");
    let (frozen, fed) = (page.look(), page.fed());
    // Paused is as it was: the same twice, though the collector goes on sending.
    running.delivered(300);
    let later = page.look();
    for class in CLASSES.into_iter().chain(["communication", "total"]) {
        for figure in ["n", "mean", "min", "p50", "p95", "p99", "max"] {
            let shown = &frozen["lanes"][0]["classes"][class][figure];
            assert_eq!(shown, &later["lanes"][0]["classes"][class][figure], "{class} {figure}");
        }
    }
    assert_ne!(fed, page.fed());
    page.shot("real-paused");
    page.click("[data-testid=pause]");

    set(&mut page, "ai", "220");
    page.until("slow AI", |seen| p50(seen, "ai") > 200 * MS);
    // Until the window holds nothing else.
    let slow_only = |seen: &Value| {
        seen["lanes"][0]["classes"]["ai"]["min"].as_i64().is_some_and(|least| least > 200 * MS)
    };
    let after = page.until("a window of slow messages", slow_only);
    page.shot("real-slow-ai");
    let change = |class: &str| p50(&after, class) - p50(&before, class);
    let changes = CLASSES.map(change);
    println!("AI + 200 ms: AI, transport, overhead changed by {changes:?} ns at P50");
    assert!((change("ai") - 200 * MS).abs() < 20 * MS, "{changes:?}");
    assert!(
        change("transport").abs() < 20 * MS && change("overhead").abs() < 20 * MS,
        "{changes:?}"
    );

    // What is shown is what was sent: the newest frame of a page that nothing is sent to any more.
    page.click("[data-testid=window] input[value='run']");
    running.interrupt();
    page.wait("[data-testid=connection-collector][data-kind=disconnected]");
    let (shown, fed) = (page.look(), page.fed());
    let lane = &fed["reliable"];
    for class in CLASSES {
        for (figure, field) in [("n", "n"), ("p50", "p50_ns"), ("p99", "p99_ns"), ("max", "max_ns")]
        {
            let of_page = &shown["lanes"][0]["classes"][class][figure];
            assert_eq!(of_page, &lane["classes"][class][field], "{class} {figure}");
        }
    }
    for fault in ["csp_violations", "page_errors", "foreign_requests"] {
        assert_eq!(shown[fault], json!([]), "{fault}");
    }
    drop(page);
    running.end();
    world.is_empty_now();
}

/// Packets lost between robots and gateway show in ROS, soon, and nowhere else.
#[test]
fn loss_on_the_way_of_ros_shows_there() {
    let Some(browser) = Browser::or_skip() else { return };
    if Hosts::new().is_none() {
        return;
    }
    let world = World::new();
    let words = "up --any-ports --page-port 0 --rate 50 --ai-ms 5 --qos best-effort --probes 0 \
                 --loss 0 --loss-legs ros";
    let mut running = world.hopwatch(words).start();
    let mut page = Driver::open(&browser, &running.page());
    ten_seconds(&mut page);
    // Its services are in a network of their own, and want the token that it made for them.
    let ledger = |seen: &Value, fate: &str| seen["lanes"][0]["ledger"][fate].as_u64();
    let delivered = |seen: &Value| ledger(seen, "delivered").is_some_and(|n| n > 200);
    page.until("200 delivered messages", delivered);
    let told = running.stderr();
    let token = told.split("show it this token: ").nth(1).and_then(|rest| rest.lines().next());
    page.click("[data-testid=open-settings]");
    page.fill("[data-testid=token]", token.unwrap_or_else(|| panic!("no token: {told}")));
    page.press("Enter");
    page.wait("[data-testid=token-kept]");
    page.press("Escape");
    // A busy machine loses some in the reader's history by itself.
    let lost = |seen: &Value| ledger(seen, "lost_in_ros").unwrap_or(0);
    let before = lost(&page.look());
    set(&mut page, "loss", "30");
    let set_at = Instant::now();
    page.until("losses", |seen| lost(seen) >= before + 5);
    println!("five losses more are shown {:?} after the loss was set", set_at.elapsed());
    let seen = page.until("many losses", |seen| lost(seen) > before + 50);
    page.wait("[data-testid=flow] [data-fate=lost_in_ros]");
    page.shot("real-loss");
    for fate in ["ai_failed", "web_failed", "queue_dropped", "outcome_unknown"] {
        assert_eq!(ledger(&seen, fate), Some(0), "{fate}: {seen:#}");
    }
    drop(page);
    running.interrupt();
    running.end_within(Duration::from_secs(20));
    world.is_empty_within(Duration::from_secs(10));
}

/// The collector killed: the page says that its figures are old, and goes on when it is back, with
/// the messages that came meanwhile.
#[test]
fn a_collector_that_comes_back_is_shown_again() {
    let Some(browser) = Browser::or_skip() else { return };
    let world = World::new();
    let mut services = Services::start(&world, "--qos reliable");
    let port = |of| services.address(of).port();
    let ports = format!(
        "--listen 127.0.0.1:0 --broadcaster-port {} --collector-port {}",
        port(Service::Broadcaster),
        port(Service::Collector)
    );
    let mut server = world.program(&world.built("hopwatch-web-ui"), &ports);
    let mut server = server.without_dds().start();
    let url = format!("http://{}/", server.listening());
    let robots = world.robots("--rate 20 --for 40s --qos reliable").start();
    let mut page = Driver::open(&browser, &url);
    ten_seconds(&mut page);
    let delivered = |seen: &Value| seen["lanes"][0]["ledger"]["delivered"].as_u64().unwrap_or(0);
    let before = page.until("messages", |seen| delivered(seen) > 100);

    services.kill(Service::Collector);
    page.wait("[data-testid=stale]");
    page.wait("[data-testid=connection-collector][data-kind=disconnected]");
    let away = page.look();
    assert_eq!(
        (&away["stale"], &away["connection"]["broadcaster"]),
        (&json!(true), &json!("live"))
    );
    page.shot("real-collector-away");
    services.again(Service::Collector);
    page.wait("[data-testid=connection-collector][data-kind=live]");
    let after = page.until("more messages", |seen| delivered(seen) > delivered(&before) + 100);
    page.shot("real-collector-back");
    assert_eq!((&after["stale"], &after["run_id"]), (&json!(false), &before["run_id"]));
    assert_eq!(after["lanes"][0]["ledger"]["reconciles"], true, "{after:#}");
    drop(page);
    robots.interrupt();
    robots.end();
    services.stop();
    server.interrupt();
    server.end().has_code(0);
    world.is_empty_now();
}
