// The live page in Chromium against services that do what each test tells them.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { launch } from "../chromium.mjs";
import { lane, ledger, message, push, shadow, snapshot, waiting } from "../fake/figures.mjs";
import { until } from "../fake/servers.mjs";
import { clean, kind, live, onOneScreen, openWorld } from "./world.mjs";

describe("the live page", { concurrency: false }, () => {
  let browser;
  let world;

  before(async () => {
    browser = await launch();
  });
  after(() => browser?.close());
  afterEach(async () => {
    await world?.end();
    world = undefined;
  });

  async function open(options) {
    world = await openWorld(browser, options);
    return world;
  }

  test("shows a running pipeline", async () => {
    const w = await open();
    await live(w);
    for (let i = 1; i <= 5; i += 1) w.broadcaster.send(push(i));
    await until("five messages", async () => (await w.look()).received === 5);
    const shown = await w.look();
    clean(shown);
    assert.equal(shown.state, "running");
    assert.equal(shown.cross_origin_isolated, true);
    assert.equal(shown.client, "page-1");
    assert.equal(shown.messages.length, 20);
    const [only] = shown.lanes;
    assert.equal(only.classes.total.n, 1234);
    assert.equal(only.classes.ai.p50, 10_500_000);
    assert.match(only.classes.ai["p99-interval"], /12\.5 … 13\.8\sms/);
    assert.equal(only.ledger.published, 1242);
    assert.equal(only.ledger.ai_failed, 3);
    assert.equal(only.ledger.source, "census");
    assert.equal(only.ledger.reconciles, true);
    assert.equal(shown.legs.rows.ai_infer.p50, 10_100_000);
    assert.equal(shown.legs.rows.ai_request.resolved, false);
    assert.match(shown.legs.rows.ai_request.unresolved, /not resolved/);
    assert.match(shown.last_message, /robot_001 #5.*battery 97.5.*label: "normal"/);
    await onOneScreen(w.page);
    await w.shot("running-light");
  });

  test("in the dark", async () => {
    const w = await open({ colorScheme: "dark" });
    await live(w);
    w.broadcaster.send(push(7, { robot_status: "error", error_message: "wheel 3 blocked" }));
    await w.page.waitForSelector('[data-testid="last-message"]');
    clean(await w.look());
    await onOneScreen(w.page);
    await w.shot("running-dark");
  });

  test("two lanes, and legs of the one that was chosen by keyboard", async () => {
    const reliable = lane("reliable", 800, {
      qos: "RELIABLE KEEP_LAST 10 VOLATILE",
      legs: { wake: { ...lane("best-effort", 1234).legs.wake, n: 777 } },
    });
    const first = snapshot({ lanes: [lane("best-effort", 1234), reliable] });
    const w = await open({ first });
    await live(w);
    await w.page.focus('[name="lane"]');
    await w.page.keyboard.press("ArrowDown");
    await w.page.waitForSelector(
      '[data-testid="lane-row"][data-lane="reliable"][data-looked="true"]',
    );
    const shown = await w.look();
    clean(shown);
    assert.deepEqual(
      shown.lanes.map(({ name }) => name),
      ["best-effort", "reliable"],
    );
    assert.equal(shown.legs.lane, "reliable");
    assert.equal(shown.legs.rows.wake.n, 777);
    await w.shot("two-lanes");
  });

  for (const colorScheme of ["light", "dark"]) {
    test(`fits 375 px (${colorScheme})`, async () => {
      const w = await open({ viewport: { width: 375, height: 812 }, colorScheme });
      await live(w);
      const long = "x".repeat(3000);
      w.broadcaster.send(push(1, { error_message: long, ai: { label: long } }));
      w.collector.send(snapshot({ events: [{ at_ms: 1, kind: "incompatible_qos", text: long }] }));
      await w.page.waitForSelector('[data-testid="event"]');
      const shown = await w.look();
      clean(shown);
      assert.equal(shown.scrolls_sideways, false);
      await w.shot(`narrow-${colorScheme}`, true);
    });
  }

  test("waits, then comes alive", async () => {
    const w = await open({ first: waiting() });
    await live(w);
    const before = await w.look();
    assert.equal(before.state, "waiting");
    assert.equal(before.lanes[0].classes.total.p50, "–");
    assert.equal(before.messages.length, 0);
    await w.shot("waiting");
    w.collector.send(snapshot());
    await w.page.waitForSelector('main[data-run="running"]');
    w.collector.send(snapshot({ state: "ended", elapsed_ms: 64_000 }));
    await w.page.waitForSelector('main[data-run="ended"]');
    const shown = await w.look();
    clean(shown);
    assert.equal(shown.messages.length, 20);
    await w.shot("ended");
  });

  test("disconnected, and back again", async () => {
    const w = await open();
    await live(w);
    await Promise.all([w.broadcaster.stop(), w.collector.stop()]);
    await kind(w.page, "broadcaster", "disconnected");
    await w.page.waitForSelector('[data-testid="stale"]');
    const away = await w.look();
    assert.equal(away.stale, true);
    assert.equal(away.lanes[0].classes.total.n, 1234);
    await w.shot("disconnected");
    await Promise.all([w.broadcaster.start(), w.collector.start()]);
    await live(w);
    // The client's name is the new connection's, acknowledgements go there.
    w.broadcaster.send(push(9));
    await until("an acknowledgement", () => w.broadcaster.received.length === 1);
    const back = await w.look();
    assert.equal(back.stale, false);
    assert.deepEqual([back.csp_violations, back.page_errors], [[], []]);
    assert.equal(w.broadcaster.connections, 2);
  });

  test("nobody is there", async () => {
    const w = await open();
    await live(w);
    await Promise.all([w.broadcaster.stop(), w.collector.stop()]);
    await w.page.reload();
    await kind(w.page, "collector", "disconnected");
    const shown = await w.look();
    assert.equal(shown.state, "unknown");
    assert.deepEqual(shown.lanes, []);
    await w.shot("nobody");
  });

  test("unstable: the reason instead of percentiles", async () => {
    const reason =
      "1.00 messages/s × 1.037 s = 1.037 workers of 1: the queue grows 37 ms a message.";
    const unstable = lane("best-effort", 58, {
      stability: {
        unstable: true,
        utilisation: 1.037,
        utilisation_ci: [1.037, 1.038],
        waiting_slope_us_per_s: 37_000,
        waiting_grows: true,
        reason,
      },
    });
    const w = await open({ first: snapshot({ lanes: [unstable] }) });
    await live(w);
    const [shown] = (await w.look()).lanes;
    assert.equal(shown.unstable, true);
    assert.match(shown.unstable_text, /UNSTABLE.*1\.037/);
    assert.equal(shown.classes.total.p99, undefined);
    assert.equal(shown.classes.total.n, 58);
    assert.equal((await w.look()).legs.rows.queue.p99, undefined);
    await w.shot("unstable");
  });

  test("other links: what they would change, and without probes nothing", async () => {
    const w = await open();
    await live(w);
    const rows = await w.page.$$eval('[data-testid="link"]', (found) =>
      found.map((row) => row.textContent.replace(/\s+/g, " ")),
    );
    assert.equal(rows.length, 3);
    assert.match(rows[0], /^http1 in use/);
    assert.match(rows[1], /^http1-fresh\+310 µs\+290 µs … \+340 µs830µs1.25ms0$/);
    assert.match(rows[2], /^udp−281 µs−301 µs … −251 µs240µslost2 of 60$/);
    const note = () => w.page.$eval(".panel-links .note", (found) => found.textContent);
    assert.match(await note(), /^Shadow probes, 2 a second: requests to both services with/);
    w.collector.send(snapshot({ shadow: { ...shadow(), stages: ["web"] } }));
    await w.page.waitForFunction(() =>
      document.querySelector(".panel-links .note").textContent.includes("the web service alone"),
    );
    w.collector.send(snapshot({ shadow: null }));
    await w.page.waitForSelector('[data-testid="links"]', { state: "detached" });
    clean(await w.look());
  });

  test("few values: no upper bound", async () => {
    const w = await open({ first: snapshot({ lanes: [lane("best-effort", 58)] }) });
    await live(w);
    const [shown] = (await w.look()).lanes;
    assert.match(shown.classes.total["p99-interval"], /≥.*no upper bound at n\s=\s58/);
  });

  test("another version asks for a reload and stays away", async () => {
    const w = await open({ hello: { type: "hello", version: 1, who: [] } });
    await w.page.waitForSelector('[data-testid="incompatible"]');
    await kind(w.page, "collector", "live");
    await w.page.waitForTimeout(1000);
    assert.equal(w.broadcaster.connections, 1);
    assert.match((await w.look()).incompatible, /version 2.*broadcaster.*version 1/);
    await w.shot("incompatible");
  });

  test("rubbish is counted and breaks nothing", async () => {
    const w = await open();
    await live(w);
    const rubbish = ["", "{", "[]", "null", '{"type":"nuke"}', Buffer.from([0, 255])];
    for (const frame of rubbish) w.broadcaster.send(frame);
    const torn = snapshot();
    torn.parts[0].lane.classes.ai.p99_ci_ns = null;
    for (const frame of [...rubbish, torn]) w.collector.send(frame);
    w.broadcaster.send({ type: "dropped", count: 17 });
    w.broadcaster.send(push(3));
    await until("all frames", async () => (await w.look()).received === 1);
    await until("all rubbish", async () => (await w.look()).notices.rubbish_collector === 7);
    const shown = await w.look();
    clean(shown);
    assert.equal(shown.notices.rubbish_broadcaster, 6);
    assert.equal(shown.notices.dropped_for_this_page, 17);
    assert.equal(shown.state, "running");
    await w.shot("rubbish");
  });

  test("failed messages and impossible legs are said in words", async () => {
    const [legs] = [message(5).legs];
    const late = legs.map((l) => (l.leg === "wake" ? { ...l, ns: -200_000 } : l));
    const first = snapshot({
      latest: [
        message(6, {
          outcome: "ai timed_out",
          detail: "no reply within 5 s",
          total_ns: null,
          glass: [],
          legs: legs.slice(0, 6),
        }),
        message(5, { legs: late }),
        message(4, { outcome: "queue_dropped", total_ns: null, legs: [], glass: [] }),
        message(3, { outcome: "web failed", total_ns: null, glass: [] }),
        message(2),
      ],
      lanes: [
        lane("best-effort", 3, {
          legs: { wake: { ...lane("best-effort", 1234).legs.wake, min_ns: -200_000, negative: 1 } },
          ledger: ledger(3, { reconciles: false, notes: ["The robots counted 2 more."] }),
        }),
      ],
      events: [
        {
          at_ms: 1200,
          kind: "incompatible_qos",
          text: "robot_002 offers BEST_EFFORT where lane reliable asks for RELIABLE: nothing of it can arrive.",
        },
      ],
    });
    const w = await open({ first });
    await live(w);
    const shown = await w.look();
    clean(shown);
    assert.deepEqual(
      shown.messages.map((m) => m.outcome_text.replace(/\s+/g, " ")),
      [
        "✗ AI timed out",
        "✓ delivered ⚠ wake −200 µs",
        "✗ queue full",
        "✗ web failed",
        "✓ delivered",
      ],
    );
    assert.equal(shown.messages[1].legs.length, legs.length);
    assert.equal(shown.lanes[0].ledger.reconciles, false);
    assert.equal(shown.legs.rows.wake.negative, 1);
    assert.equal(shown.events[0].kind, "incompatible_qos");
    assert.ok(await w.page.isVisible('[data-testid="message-newest"] >> text=no reply within 5 s'));
    await w.shot("failures");
    await w.page.click('[data-testid="all-figures"]');
    await w.page.focus("summary");
    await w.page.keyboard.press("Enter");
    assert.ok(await w.page.isVisible(".way >> text=no reply within 5 s"));
    await w.shot("failures-all", true);
  });

  test("acknowledges what it painted, after it was received", async () => {
    const w = await open();
    await live(w);
    // What is acknowledged as painted must stand on the page when it is said.
    await w.page.evaluate(() => {
      globalThis.unseen = [];
      const send = WebSocket.prototype.send;
      WebSocket.prototype.send = function (text) {
        for (const { trace_id, painted_ns } of JSON.parse(text).items ?? []) {
          const there = document.querySelector(`.ticker [data-trace="${trace_id}"]`);
          if (painted_ns !== null && there === null) globalThis.unseen.push(trace_id);
        }
        send.call(this, text);
      };
    });
    for (let i = 1; i <= 30; i += 1) {
      w.broadcaster.send(push(i));
      await w.page.waitForTimeout(20);
    }
    const items = () => w.broadcaster.received.flatMap((ack) => ack.items);
    await until("thirty acknowledgements", () => items().length === 30);
    assert.deepEqual(await w.page.evaluate(() => globalThis.unseen), []);
    const ids = new Set(items().map((item) => item.trace_id));
    assert.equal(ids.size, 30);
    for (const { sent_ns, resolution_ns, items: some } of w.broadcaster.received) {
      // Cross-origin isolated, the clock's step is some 5 µs; without, it would be 100 µs.
      assert.ok(resolution_ns > 0 && resolution_ns < 50_000, `${resolution_ns} ns`);
      for (const { received_ns, painted_ns } of some) {
        assert.match(received_ns, /^\d+$/);
        if (painted_ns === null) continue;
        assert.ok(BigInt(painted_ns) > BigInt(received_ns));
        assert.ok(BigInt(sent_ns) >= BigInt(painted_ns));
      }
    }
    const painted = items().filter((item) => item.painted_ns !== null);
    assert.ok(painted.length >= 25, `${painted.length} of 30 painted`);
    clean(await w.look());
  });

  test("a hidden page acknowledges without a paint", async () => {
    const w = await open();
    await live(w);
    await w.page.evaluate(() => {
      Object.defineProperty(document, "hidden", { get: () => true });
      globalThis.requestAnimationFrame = () => 0;
    });
    w.broadcaster.send(push(1));
    await until("an acknowledgement", () => w.broadcaster.received.length === 1);
    assert.equal(w.broadcaster.received[0].items[0].painted_ns, null);
  });

  test("huge and odd bodies are shown safely", async () => {
    const w = await open();
    await live(w);
    const evil = `<img src=x onerror="alert(1)">\u0000\ufffd\u202e`;
    w.broadcaster.send(push(1, { error_message: "y".repeat(1_000_000), battery: "NaN", ai: evil }));
    w.broadcaster.send({ type: "message", trace_id: "a".repeat(32), body: "just a text" });
    w.broadcaster.send(push(2, { error_message: "y".repeat(1_000_000), battery: "NaN", ai: evil }));
    await until("three messages", async () => (await w.look()).received === 3);
    const shown = await w.look();
    clean(shown);
    assert.match(shown.last_message, /battery NaN.*<img src=x.*␀�/);
    assert.ok(shown.last_message.length < 600);
    assert.equal(await w.page.locator("img").count(), 1);
    await until("acknowledgements", () => w.broadcaster.received.length > 0);
  });
});
