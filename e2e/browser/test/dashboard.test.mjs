// What can be chosen, set and seen on the live page, in Chromium, against services that do what
// each test tells them. Each test leaves a picture in out/ for a person to look at.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, afterEach, before, describe, test } from "node:test";
import { launch } from "../chromium.mjs";
import {
  budget,
  changes,
  course,
  lane,
  ledger,
  message,
  push,
  snapshot,
  waiting,
} from "../fake/figures.mjs";
import { fakeSettings, until } from "../fake/servers.mjs";
import { clean, kind, live, onOneScreen, openWorld } from "./world.mjs";

const MS = 1_000_000;
const RELIABLE = { qos: "RELIABLE KEEP_LAST 10 VOLATILE" };
const two = (change = {}) =>
  snapshot({ lanes: [lane("best-effort", 1234), lane("reliable", 800, RELIABLE)], ...change });

describe("the dashboard", { concurrency: false }, () => {
  let browser;
  let world;
  let services = [];

  before(async () => {
    browser = await launch();
  });
  after(() => browser?.close());
  afterEach(async () => {
    await world?.end();
    world = undefined;
    for (const service of services) service.close();
    services = [];
  });

  async function open(options) {
    world = await openWorld(browser, options);
    return world;
  }

  async function settings(...args) {
    const service = await fakeSettings(...args);
    services.push(service);
    return service;
  }

  const id = (name) => `[data-testid="${name}"]`;
  const text = (w, name) => w.page.textContent(id(name));
  const frames = (w, type) => w.collector.received.filter((frame) => frame.type === type);
  const last = (w, type) => frames(w, type).at(-1);

  /** Does as if the tab went into the background, or came back. */
  const hide = (page, hidden) =>
    page.evaluate((now) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => now });
      document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);

  test("two lanes side by side, and honest about it", async () => {
    const w = await open({
      first: two({ events: [{ at_ms: 40_000, kind: "mark", text: "door opened" }] }),
    });
    await live(w);
    w.broadcaster.send(push(1));
    await onOneScreen(w.page);
    assert.equal(await text(w, "headline-qos"), "no difference shown");
    assert.match(await text(w, "answer-qos"), /overlap.*hopwatch compare decides/);
    assert.equal(await w.page.getAttribute(id("headline-where"), "data-class"), "ai");
    assert.equal(await w.page.getAttribute(id("headline-lost"), "data-count"), "10");
    // Of what the link was given: without what is in flight and what came before discovery.
    assert.match(await text(w, "answer-lost"), /10 of 2\s044.*before discovery 2/);
    assert.match(await text(w, "answer-lost"), /since the start, all robots/);
    for (const place of ["compare", "flow", "lane-table"])
      assert.match((await text(w, place)).toLowerCase(), /since the start, all robots/, place);
    // Each of several lanes is judged, and the figure is that of the one that stands worst.
    const total = w.page.locator(id("total-p99"));
    const worst = await w.page.getAttribute(id("budget-p99_total"), "data-lane");
    assert.equal(await total.getAttribute("data-lane"), worst);
    assert.match(await text(w, "headline-total"), /14\.8.*of 2\ss · n\s=\s1\s234 · best-effort/);
    // Nothing of a robot that is silent is made up.
    const silent = await w.page.textContent('[data-robot="robot_004"]');
    assert.match(silent, /robot_004.*–.*–.*0\/0–$/);
    assert.match(await text(w, "certainty"), /Not proven/);
    assert.equal(await w.page.locator(`${id("budget")} [data-passed="true"]`).count(), 3);
    assert.equal(await w.page.locator("svg.budget-bar").count(), 3);
    clean(await w.look());
    await w.shot("two-lanes-light");
  });

  test("intervals apart are a difference of this window, and lost messages another", async () => {
    const slow = lane("reliable", 8000, RELIABLE);
    const fast = lane("best-effort", 8000, {
      ledger: ledger(8000, { lost_in_ros: 2001, published: 10_008 }),
    });
    slow.classes.total = {
      ...slow.classes.total,
      p50_ci_ns: [20 * MS, 21 * MS],
      p99_ci_ns: [30 * MS, 31 * MS],
    };
    const w = await open({ first: snapshot({ lanes: [fast, slow] }) });
    await live(w);
    assert.equal(
      await text(w, "headline-qos"),
      "RELIABLE delivers more, BEST_EFFORT has the lower P99",
    );
    assert.match(await text(w, "answer-qos"), /apart.*hopwatch compare decides/);
    await w.shot("qos-differs");
  });

  test("says what is watched, and shows what comes of it", async () => {
    const answer = (frame) =>
      frame.type === "watch" && frame.window !== "1min"
        ? [two({ watch: { window: frame.window, robot: frame.robot }, elapsed_ms: 63_200 })]
        : [];
    const w = await open({ first: two(), answer });
    await live(w);
    await until("the first watch", () => frames(w, "watch").length === 1);
    assert.deepEqual(last(w, "watch"), { type: "watch", window: "1min", robot: null });
    await w.page.click('[name="window"][value="10s"] + span');
    await until("ten seconds", () => last(w, "watch").window === "10s");
    await w.page.waitForSelector('main[data-late="false"]');
    await w.page.selectOption(id("robot"), "robot_002");
    await until("a robot", () => last(w, "watch").robot === "robot_002");
    assert.deepEqual(last(w, "watch"), { type: "watch", window: "10s", robot: "robot_002" });
    // It is said once, whatever comes of it.
    for (let i = 1; i <= 3; i += 1)
      w.collector.send(changes(63_200 + i, [], { watch: last(w, "watch") }));
    w.broadcaster.send(push(1));
    await w.page.waitForSelector(id("last-message"));
    assert.equal(frames(w, "watch").length, 3);
    clean(await w.look());
    await w.shot("watching-a-robot");
  });

  test("only what changed is sent, and the rest stays", async () => {
    const w = await open({ first: two() });
    await live(w);
    const changed = lane("reliable", 900, RELIABLE);
    const bins = course("best-effort", 64_000).slice(-1);
    w.collector.send(changes(63_500, [{ kind: "lane", lane: changed }, ...bins]));
    await until("the change", async () => (await w.look()).lanes[1].classes.total.n === 900);
    const shown = await w.look();
    clean(shown);
    assert.deepEqual(
      shown.lanes.map(({ name, classes }) => [name, classes.total.n]),
      [
        ["best-effort", 1234],
        ["reliable", 900],
      ],
    );
    assert.equal(shown.messages.length, 20);
    // After a whole one nothing is left of what was.
    w.collector.send(snapshot({ lanes: [changed], elapsed_ms: 63_600 }));
    await until("one lane", async () => (await w.look()).lanes.length === 1);
  });

  test("a message is picked from the chart, asked for, and shown with its trace id", async () => {
    const wanted = message(7, { trace_id: "ab".repeat(16), robot_id: "robot_042" });
    const answer = (frame) =>
      frame.type === "message"
        ? [
            {
              type: "message",
              trace_id: frame.trace_id,
              message: { ...wanted, trace_id: frame.trace_id },
            },
          ]
        : [];
    const w = await open({
      first: two(),
      answer,
      permissions: ["clipboard-write", "clipboard-read"],
    });
    await live(w);
    const over = w.page.locator(".u-over").first();
    const box = await over.boundingBox();
    await over.click({ position: { x: box.width * 0.5, y: box.height * 0.3 } });
    await until("the question", () => frames(w, "message").length === 1);
    const asked = last(w, "message").trace_id;
    assert.match(asked, /^[0-9a-f]{32}$/);
    await w.page.waitForSelector(`${id("message-picked")}[data-trace="${asked}"]`);
    assert.match(await text(w, "message-picked"), /robot_042/);
    await w.page.click(id("copy-picked"));
    await w.page.waitForSelector(`${id("copy-picked")} >> text=copied`);
    assert.equal(await w.page.evaluate(() => navigator.clipboard.readText()), asked);
    await w.shot("picked");
    await w.page.click(id("unpick"));
    await w.page.waitForSelector(id("message-newest"));
    clean(await w.look());
  });

  test("by keyboard, too; and a message that isn't kept is said to be gone", async () => {
    const answer = (frame) =>
      frame.type === "message"
        ? [{ type: "message", trace_id: frame.trace_id, message: null }]
        : [];
    const w = await open({ first: two(), answer });
    await live(w);
    await w.page.focus(id("course"));
    await w.page.keyboard.press("ArrowLeft");
    await w.page.keyboard.press("Enter");
    await until("the question", () => frames(w, "message").length === 1);
    await w.page.waitForSelector(`${id("no-newest")} >> text=doesn't keep`);
    clean(await w.look());
  });

  test("stands still when told to, and loses nothing", async () => {
    const w = await open({ first: two() });
    await live(w);
    await w.page.click(id("pause"));
    await w.page.waitForSelector(id("paused"));
    const later = lane("best-effort", 4321);
    w.collector.send(changes(63_500, [{ kind: "lane", lane: later }]));
    w.collector.send(changes(64_000, []));
    for (let i = 1; i <= 3; i += 1) w.broadcaster.send(push(i));
    await w.page.waitForSelector(`${id("paused-since")}[data-count="2"]`);
    await w.page.waitForSelector(`${id("paused")}[data-messages="3"]`);
    const still = await w.look();
    assert.equal(still.lanes[0].classes.total.n, 1234);
    // The live line goes on: it is what "painted" means.
    assert.match(still.last_message, /#3/);
    await until(
      "acknowledgements",
      () => w.broadcaster.received.flatMap((ack) => ack.items).length === 3,
    );
    await w.shot("paused");
    await w.page.click(id("follow"));
    await until("the newest", async () => (await w.look()).lanes[0].classes.total.n === 4321);
    // The collector was never told: nothing was missed.
    assert.equal(frames(w, "pause").length, 0);
    clean(await w.look());
  });

  test("a tab in the background pauses, and comes back right", async () => {
    const w = await open({ first: two() });
    await live(w);
    await until("the watch", () => frames(w, "watch").length === 1);
    await hide(w.page, true);
    await until("a pause", () => frames(w, "pause").length === 1);
    w.broadcaster.send(push(1));
    await until("an acknowledgement", () => w.broadcaster.received.length === 1);
    assert.equal(w.broadcaster.received[0].items[0].painted_ns, null);
    await hide(w.page, false);
    await until("a watch", () => frames(w, "watch").length === 2);
    w.collector.send(two({ elapsed_ms: 900_000, lanes: [lane("best-effort", 99_999)] }));
    await until("figures", async () => (await w.look()).lanes[0].classes.total.n === 99_999);
    assert.equal(w.collector.connections, 1);
    const shown = await w.look();
    assert.equal(shown.lanes.length, 1);
    clean(shown);
  });

  test("a connection that died asleep is replaced", async () => {
    const w = await open({ first: two() });
    await live(w);
    await hide(w.page, true);
    await until("a pause", () => frames(w, "pause").length === 1);
    // Nothing answers the watch on this connection any more; a new one begins with figures.
    await hide(w.page, false);
    await until("another connection", () => w.collector.connections === 2);
    await live(w);
    await until("its watch", () => last(w, "watch") === w.collector.received.at(-1));
    clean(await w.look());
  });

  test("the collector is killed and comes back as another run", async () => {
    let run = "run-1";
    const first = () => two({ run_id: run, elapsed_ms: run === "run-1" ? 63_000 : 1_000 });
    const w = await open({ first });
    await live(w);
    await w.page.click('[name="window"][value="run"] + span');
    await until("the whole run", () => last(w, "watch")?.window === "run");
    await w.collector.stop();
    await w.page.waitForSelector(id("stale"));
    await kind(w.page, "collector", "disconnected");
    await w.shot("collector-away");
    run = "run-2";
    await w.collector.start();
    await kind(w.page, "collector", "live");
    await until("its watch", () => frames(w, "watch").length >= 3);
    // What is watched is said anew on each connection.
    assert.equal(last(w, "watch").window, "run");
    const shown = await w.look();
    assert.equal(shown.run_id, "run-2");
    assert.equal(shown.stale, false);
    assert.deepEqual([shown.csp_violations, shown.page_errors], [[], []]);
  });

  test("the broadcaster is away: figures go on", async () => {
    const w = await open({ first: two() });
    await live(w);
    await w.broadcaster.stop();
    await w.page.waitForSelector(id("broadcaster-away"));
    w.collector.send(changes(63_500, [{ kind: "lane", lane: lane("reliable", 901, RELIABLE) }]));
    await until("figures", async () => (await w.look()).lanes[1].classes.total.n === 901);
    await w.shot("broadcaster-away");
  });

  test("nothing has come yet", async () => {
    const w = await open({ first: "{}" });
    await w.page.waitForSelector(id("answers"));
    await onOneScreen(w.page);
    assert.match(await text(w, "run-state"), /no figures yet/);
    assert.equal(await w.page.isDisabled(id("pause")), true);
    await w.shot("loading");
  });

  test("nothing is published yet", async () => {
    const w = await open({ first: waiting() });
    await live(w);
    await onOneScreen(w.page);
    assert.match(await text(w, "answer-total"), /Nothing measured yet/);
    assert.equal(await w.page.getAttribute(id("answer-total"), "data-tone"), "none");
    assert.match(await text(w, "no-newest"), /Waiting for the first message/);
    await w.shot("empty");
  });

  test("a QoS that doesn't fit is told with what to do", async () => {
    const fix =
      "robot_002 offers BEST_EFFORT where lane reliable asks for RELIABLE: start it with RELIABLE.";
    const events = [{ at_ms: 1200, kind: "incompatible_qos", text: fix }];
    const w = await open({ first: two({ events }) });
    await live(w);
    await w.page.waitForSelector(id("qos"));
    assert.match(await text(w, "qos"), /start it with RELIABLE/);
    await onOneScreen(w.page, { crowded: true });
    await w.shot("incompatible-qos");
    await w.page.click(`${id("qos")} button`);
    await w.page.waitForSelector(id("qos"), { state: "detached" });
    assert.equal((await w.look()).events[0].kind, "incompatible_qos");
  });

  test("unstable, over budget, too few, ended", async () => {
    const stability = {
      unstable: true,
      utilisation: 1.037,
      utilisation_ci: [1.037, 1.038],
      waiting_slope_us_per_s: 37_000,
      waiting_grows: true,
      reason: "1.00 messages/s × 1.037 s = 1.037 workers of 1: the queue grows 37 ms a message.",
    };
    const w = await open({ first: two({ lanes: [lane("best-effort", 58, { stability })] }) });
    await live(w);
    assert.match(await text(w, "headline-total"), /UNSTABLE/);
    assert.match(await text(w, "where-unstable"), /1\.037/);
    assert.match(await text(w, "answer-total"), /queue grows/);
    await w.shot("unstable-dashboard");
    const lanes = [lane("best-effort", 58)];
    w.collector.send(
      two({ lanes, budget: budget(lanes, { p99_ns: 10 * MS }), elapsed_ms: 63_200 }),
    );
    await w.page.waitForSelector(`${id("budget-p99_total")}[data-passed="false"]`);
    assert.match(await text(w, "answer-total"), /budget missed/);
    // 58 messages give no upper end of a P99, and the page doesn't make one up.
    assert.match(await text(w, "lane-table"), /14\.8\sms≥\s14\.2\sms/);
    const told = await w.page.getAttribute(`${id("lane-row")} [data-explain="p99"]`, "data-more");
    assert.match(told, /≥\s14\.2\sms, no upper bound at n\s=\s58/);
    await w.shot("over-budget");
    w.collector.send(two({ state: "ended", elapsed_ms: 63_400 }));
    await w.page.waitForSelector(id("ended"));
    await onOneScreen(w.page, { crowded: true });
    await w.shot("ended-dashboard");
  });

  test("what is lost is said shortly, and fills its bar", async () => {
    const lanes = [lane("best-effort", 1234), lane("reliable", 800, RELIABLE)];
    const judged = budget(lanes, { min_delivered: 0.999 });
    const check = judged.checks.find(
      (one) => one.quantity === "p99_total" && one.lane === "reliable",
    );
    Object.assign(check, {
      measured_value: null,
      measured: "lost: more than 1 % of the messages were",
      passed: false,
    });
    const w = await open({ first: two({ budget: { ...judged, passed: false } }) });
    await live(w);
    assert.match(await text(w, "headline-total"), /^P99 lost of 2\ss.*reliable$/);
    const wide = await w.page.getAttribute(`${id("budget-p99_total")} .fill`, "width");
    assert.equal(Number.parseFloat(wide), 100);
    // As the collector judges it: of all that was published.
    const least = await w.page.getAttribute(id("budget-delivered"), "data-more");
    assert.match(least, /reliable: 99\.00\s%/);
    await onOneScreen(w.page);
    await w.shot("lost-over-budget");
  });

  test("few messages: holds, and isn't sure; the verdict's bound is in sight", async () => {
    const bound = "in at least 90.5 % of those to come (95 %); nothing is said of its P99";
    const reason = `the requirements are met with HTTP: ${"communication 1.38 ms < 100 ms, ".repeat(8)} so ${bound}`;
    const few = lane("best-effort", 30, {
      ledger: ledger(30, {
        published: 33,
        published_source: "header_sequence",
        lost_in_ros: 0,
        dds_lost: 0,
        outcome_unknown: 0,
        ai_failed: {},
      }),
    });
    const verdict = { decision: "KEEP", reason };
    const w = await open({ first: snapshot({ lanes: [few], verdict }) });
    await live(w);
    assert.equal(await w.page.getAttribute(id("answer-total"), "data-tone"), "warn");
    assert.match(await text(w, "answer-total"), /not yet sure.*n\s=\s30/);
    assert.doesNotMatch(await text(w, "answer-http"), /[Ss]ure/);
    const seen = await w.page.evaluate(() => {
      const card = document.querySelector('[data-testid="answer-http"]').getBoundingClientRect();
      const told = document.querySelector('[data-testid="verdict-bound"]').getBoundingClientRect();
      return [card.bottom, told.bottom];
    });
    assert.ok(seen[1] <= seen[0], `${seen}`);
    await w.page.hover(id("verdict-bound"));
    await w.page.waitForSelector(`${id("explanation")} >> text=90.5 %`);
    // Without the robots' own count nobody knows that nothing was lost.
    assert.equal(await text(w, "headline-lost"), "none known lost");
    assert.equal(await w.page.getAttribute(id("answer-lost"), "data-tone"), "plain");
    assert.match(await text(w, "lost-source"), /header's sequence/);
    assert.match(await text(w, "answer-lost"), /before discovery 1/);
    await w.shot("few");
  });

  test("an unstable lane beside a stable one: no percentiles of it anywhere", async () => {
    const { stability } = lane("x", 1);
    const unstable = { ...stability, unstable: true, reason: "the queue grows" };
    const lanes = [
      lane("best-effort", 500),
      lane("reliable", 800, { ...RELIABLE, stability: unstable }),
    ];
    const w = await open({ first: two({ lanes }) });
    await live(w);
    assert.match(await text(w, "headline-qos"), /unstable: not compared/);
    assert.equal(await w.page.getAttribute(id("compare-p99"), "data-shown"), "unstable");
    assert.equal(await w.page.locator(`${id("distribution")} path.line`).count(), 1);
    const key = '.panel-course .chart-key [data-lane="reliable"]';
    assert.match(await w.page.textContent(key), /UNSTABLE/);
    assert.doesNotMatch(await w.page.textContent(key), /P99/);
    await w.shot("one-unstable");
  });

  test("an AI service that tells nothing is said to include transport", async () => {
    const one = lane("best-effort", 1234);
    const { ai_wait, ai_infer, ai_request, ai_reply, ...legs } = one.legs;
    const untold = { ...one, legs: { ...legs, ai_round_trip: ai_infer } };
    const w = await open({ first: snapshot({ lanes: [untold] }) });
    await live(w);
    for (const place of ["headline-where", "split", "quantity"])
      assert.match(await text(w, place), /AI incl\. transport/, place);
  });

  test("a collector that hangs: its figures are old, and it is connected to anew", async () => {
    const w = await open({ first: two() });
    await live(w);
    await w.page.waitForSelector(`main[data-stale="true"]`, { timeout: 8000 });
    await w.page.waitForSelector(id("hung"));
    await until("another connection", () => w.collector.connections === 2);
    await w.page.waitForSelector(`main[data-stale="false"]`);
  });

  test("a QoS that didn't fit is over once messages come", async () => {
    const text = "/status: /pub offers BEST_EFFORT, lane reliable asks for RELIABLE: publish so";
    const events = [
      { at_ms: 62_900, kind: "incompatible_qos", text },
      { at_ms: 60_000, kind: "incompatible_qos", text: text.replace("/pub", "/other") },
    ];
    const w = await open({ first: two({ events }) });
    await live(w);
    await w.page.waitForSelector(`${id("qos")}[data-count="2"] >> text=since 1\u00a0min 02\u00a0s`);
    const latest = [message(9, { lane: "reliable", at_ms: 63_400 })];
    w.collector.send(changes(63_500, [{ kind: "latest", messages: latest }]));
    await w.page.waitForSelector(id("qos"), { state: "detached" });
  });

  test("what is spoken of the course changes with keys only", async () => {
    const w = await open({ first: two() });
    await live(w);
    await w.page.focus(id("course"));
    const spoken = () =>
      w.page.$eval(id("course"), (one) => [one.ariaLabel, one.ariaValueNow, one.ariaValueText]);
    const before = await spoken();
    w.collector.send(two({ elapsed_ms: 70_000 }));
    await w.page.waitForSelector(`${id("elapsed")} >> text=1\u00a0min 10`);
    assert.deepEqual(await spoken(), before);
    await w.page.keyboard.press("ArrowLeft");
    await until("another moment", async () => (await spoken())[1] !== before[1]);
  });

  test("fifteen lanes stay usable", async () => {
    const lanes = Array.from({ length: 15 }, (_, i) =>
      lane(`topic_${i}.${i % 2 ? "reliable" : "best-effort"}`, 1000 + i, i % 2 ? RELIABLE : {}),
    );
    const w = await open({ first: snapshot({ lanes }) });
    await live(w);
    await onOneScreen(w.page, { crowded: true });
    const drawn = () => w.page.locator(`${id("lane-row")}[data-drawn="true"]`).count();
    assert.equal(await drawn(), 6);
    await w.page.click(id("draw-all"));
    await until("all", async () => (await drawn()) === 15);
    await w.shot("fifteen-lanes");
    await w.page.click(id("draw-none"));
    await w.page.click(`${id("lane-row")}[data-lane="topic_9.reliable"] input[type="checkbox"]`);
    await until("one alone", async () => (await drawn()) === 1);
    await w.page.click(`${id("lane-row")}[data-lane="topic_9.reliable"] .lane-key`);
    await w.page.waitForSelector(
      `${id("lane-row")}[data-lane="topic_9.reliable"][data-looked="true"]`,
    );
    const shown = await w.look();
    assert.equal(shown.legs.lane, "topic_9.reliable");
    clean(shown);
  });

  test("in Korean, and so again the next time", async () => {
    const w = await open({ first: two(), locale: "en-GB" });
    await live(w);
    await w.page.selectOption(id("language"), "ko");
    await w.page.waitForSelector('html[lang="ko"]');
    w.broadcaster.send(push(1));
    await onOneScreen(w.page);
    // What the page itself says is Korean; names and sentences of services stay as they are.
    const headings = await w.page.$$eval("h2", (found) => found.map((one) => one.textContent));
    for (const heading of headings) assert.match(heading, /[가-힣]/, heading);
    const labels = await w.page.$$eval("[aria-label]", (found) =>
      found.map((one) => one.getAttribute("aria-label")).filter((label) => /[a-z]{4}/.test(label)),
    );
    for (const label of labels) assert.match(label, /[가-힣]/, label);
    await w.page.hover("#title-account");
    await w.page.waitForSelector(`${id("explanation")} >> text=장부`);
    // What the page noticed is Korean, too; what a service wrote is told to be English.
    w.collector.send("{");
    await w.page.waitForSelector(`${id("notice")} >> text=수집기의 이해할 수 없는 프레임`);
    assert.equal(await w.page.getAttribute(id("verdict-reason"), "lang"), "en");
    await w.shot("korean");
    await w.page.reload();
    await w.page.waitForSelector('html[lang="ko"]');
    await live(w);
    clean(await w.look());
  });

  test("a browser that prefers Korean gets Korean; a theme that was chosen stays", async () => {
    const w = await open({ first: two(), locale: "ko-KR" });
    await live(w);
    await w.page.waitForSelector('html[lang="ko"]');
    assert.equal(await w.page.getAttribute("html", "data-theme"), "light");
    await w.page.selectOption(id("theme"), "dark");
    await w.page.waitForSelector('html[data-theme="dark"]');
    await w.page.emulateMedia({ colorScheme: "light" });
    await w.page.reload();
    await w.page.waitForSelector('html[data-theme="dark"]');
    await live(w);
    clean(await w.look());
    await w.shot("korean-dark");
  });

  test("the theme follows the system while it is not chosen", async () => {
    const w = await open({ first: two(), colorScheme: "dark" });
    await live(w);
    await w.page.waitForSelector('html[data-theme="dark"]');
    await w.shot("two-lanes-dark");
    await w.page.emulateMedia({ colorScheme: "light" });
    await w.page.waitForSelector('html[data-theme="light"]');
  });

  for (const [name, viewport] of [
    ["phone", { width: 375, height: 812 }],
    ["zoom-200", { width: 720, height: 450 }],
    ["tablet", { width: 1024, height: 768 }],
    ["large", { width: 1920, height: 1080 }],
  ]) {
    test(`fits a ${name}`, async () => {
      const w = await open({ first: two(), viewport });
      await live(w);
      w.broadcaster.send(push(1, { error_message: "x".repeat(3000) }));
      await w.page.waitForSelector(id("last-message"));
      const found = await w.page.evaluate(() => {
        const ticker = document.querySelector(".ticker").getBoundingClientRect();
        window.scrollTo(0, document.documentElement.scrollHeight);
        const scrolled = document.querySelector(".ticker").getBoundingClientRect();
        // Smallest text that is there: SVG's and HTML's alike.
        const sizes = [...document.querySelectorAll("body *")]
          .filter((one) =>
            [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== ""),
          )
          .map((one) => Number.parseFloat(getComputedStyle(one).fontSize));
        return { ticker, scrolled, smallest: Math.min(...sizes), innerHeight };
      });
      // Whatever is stamped as painted is in sight, wherever the page is scrolled to.
      for (const { top, bottom } of [found.ticker, found.scrolled]) {
        assert.ok(top >= 0 && bottom <= found.innerHeight, `live line at ${top} … ${bottom}`);
      }
      assert.ok(found.smallest >= 10, `a text of ${found.smallest} px`);
      const shown = await w.look();
      clean(shown);
      assert.equal(shown.scrolls_sideways, false);
      if (name === "phone") {
        const small = await w.page.$$eval("button, select, .segments span, input", (found) =>
          found
            .map((one) => [one.dataset.testid ?? one.className, one.getBoundingClientRect(), one])
            .filter(([, { width }, one]) => width > 1 && !one.matches("[type=radio]"))
            .filter(([, { width, height }]) => width < 23.9 || height < 23.9)
            .map(([id, { width, height }]) => `${id}: ${width} × ${height}`),
        );
        assert.deepEqual(small, []);
      }
      await w.page.evaluate(() => window.scrollTo(0, 0));
      await w.shot(`fits-${name}`, name !== "large");
    });
  }

  test("every stop of the keyboard has a name and is seen", async () => {
    const w = await open({ first: two() });
    await live(w);
    const stops = [];
    for (let i = 0; i < 200; i += 1) {
      await w.page.keyboard.press("Tab");
      const stop = await w.page.evaluate(() => {
        const at = document.activeElement;
        if (at === null || at === document.body) return null;
        const label =
          at.getAttribute("aria-label") ?? at.labels?.[0]?.textContent ?? at.textContent ?? "";
        const marked = at.matches(".segments input, input.hidden") ? at.nextElementSibling : at;
        const { outlineStyle, outlineWidth } = getComputedStyle(marked);
        const { width, height } = marked.getBoundingClientRect();
        return {
          tag: at.tagName,
          id: at.dataset.testid ?? at.getAttribute("name") ?? at.className,
          label: label.trim(),
          marked: outlineStyle !== "none" && Number.parseFloat(outlineWidth) >= 2,
          seen: width > 0 && height > 0,
        };
      });
      if (stop === null) break;
      stops.push(stop);
    }
    assert.ok(stops.length > 30 && stops.length < 200, `${stops.length} stops`);
    for (const stop of stops) {
      assert.ok(stop.label !== "", `no name: ${JSON.stringify(stop)}`);
      assert.ok(stop.marked && stop.seen, `not seen: ${JSON.stringify(stop)}`);
    }
    for (const wanted of [
      "language",
      "theme",
      "robot",
      "pause",
      "open-mark",
      "course",
      "all-figures",
    ]) {
      assert.ok(
        stops.some((stop) => stop.id === wanted),
        wanted,
      );
    }
    await w.page.focus(id("pause"));
    await w.page.keyboard.press("Enter");
    await w.page.waitForSelector(id("paused"));
    clean(await w.look());
  });

  test("figures are explained by pointer and by keyboard, in the glossary's words", async () => {
    const w = await open({ first: two() });
    await live(w);
    await w.page.hover("#title-where");
    await w.page.waitForSelector(`${id("explanation")}:popover-open`);
    assert.match(await text(w, "explanation"), /what a leg's time was spent on/);
    await w.shot("explained-by-pointer");
    await w.page.keyboard.press("Escape");
    await w.page.waitForSelector(`${id("explanation")}:popover-open`, { state: "detached" });
    // From a heading of a table the arrow keys lead to its figures.
    await w.page.focus(`${id("lane-table")} th:nth-child(5)`);
    await w.page.keyboard.press("ArrowDown");
    await w.page.waitForSelector(`${id("explanation")} >> text=14 756 000 ns`);
    const said = await w.page.evaluate(() => {
      const at = document.activeElement;
      const box = document.getElementById(at.getAttribute("aria-describedby"));
      return { cell: at.tagName, text: box.textContent, box: box.getBoundingClientRect() };
    });
    assert.equal(said.cell, "TD");
    assert.match(said.text, /14\s756\s000 ns; 95 %: 14\.2 … 15\.6\sms/);
    const { left, top, right, bottom } = said.box;
    assert.ok(left >= 0 && top >= 0 && right <= 1440 && bottom <= 900, JSON.stringify(said.box));
    await w.shot("explained-by-keyboard");
    clean(await w.look());
  });

  test("what can be set is set, shows how it stands, and says why not", async () => {
    const ai = await settings(
      { model_ms: 10 },
      {
        refuse: ({ model_ms }) => (model_ms > 5000 ? "model_ms: above 5000 here" : null),
      },
    );
    const robots = await settings({ rate_hz: 20, payload_bytes: 300 });
    const controls = { ai_port: ai.port, robots_port: robots.port };
    const w = await open({ first: two(), controls });
    await live(w);
    await w.page.click(id("open-settings"));
    await w.page.waitForSelector(`${id("setting-ai")}[data-kind="known"]`);
    assert.equal(await w.page.inputValue("#field-ai"), "10");
    assert.equal(await w.page.inputValue("#field-rate"), "20");
    // What this run doesn't have isn't there.
    assert.equal(await w.page.locator(id("setting-loss")).count(), 0);
    await w.page.fill("#field-ai", "210");
    await w.page.press("#field-ai", "Enter");
    await until("the AI service's time", () => ai.state.settings.model_ms === 210);
    await w.page.waitForSelector(`${id("said-ai")} >> text=now 210`);
    await w.page.fill("#field-ai", "6000");
    await w.page.press("#field-ai", "Enter");
    await w.page.waitForSelector(`${id("said-ai")} >> text=above 5000 here`);
    await w.page.fill("#field-rate", "fast");
    await w.page.press("#field-rate", "Enter");
    await w.page.waitForSelector(`${id("said-rate")} >> text=Enter a number`);
    await w.page.fill("#field-payload", "4096");
    await w.page.press("#field-payload", "Enter");
    await until("the payload", () => robots.state.settings.payload_bytes === 4096);
    // Both of the robots' settings go together: the other one keeps its value.
    assert.deepEqual(robots.state.put, [{ rate_hz: 20, payload_bytes: 4096 }]);
    await w.shot("settings");
    await w.page.keyboard.press("Escape");
    await w.page.waitForSelector(id("menu-settings"), { state: "hidden" });
    assert.equal(
      await w.page.evaluate(() => document.activeElement.dataset.testid),
      "open-settings",
    );
    const shown = await w.look();
    // A refusal is told by the browser as well; nothing else is.
    assert.deepEqual(
      shown.console_errors.filter((error) => !error.includes("status of 400")),
      [],
    );
    assert.deepEqual(
      [shown.csp_violations, shown.page_errors, shown.foreign_requests],
      [[], [], []],
    );
  });

  test("the network's loss is set in percent; a service that is away is said to be", async () => {
    const network = await settings({ loss: 0.02 });
    const w = await open({ first: two(), controls: { network_port: network.port } });
    await live(w);
    await w.page.click(id("open-settings"));
    await w.page.waitForSelector(`${id("setting-loss")}[data-kind="known"]`);
    assert.equal(await w.page.inputValue("#field-loss"), "2");
    await w.page.fill("#field-loss", "5");
    await w.page.press("#field-loss", "Enter");
    await until("the loss", () => network.state.settings.loss === 0.05);
    await w.page.waitForSelector(`${id("said-loss")} >> text=now 5`);
    network.close();
    await w.page.fill("#field-loss", "7");
    await w.page.press("#field-loss", "Enter");
    await w.page.waitForSelector(`${id("said-loss")} >> text=doesn't answer`);
  });

  test("nothing to set: no such button", async () => {
    const w = await open({ first: two() });
    await live(w);
    assert.equal(await w.page.locator(id("open-settings")).count(), 0);
    assert.equal(await w.page.locator(id("open-measure")).count(), 1);
  });

  test("the token is asked for where it is needed, shown, and never kept", async () => {
    const ai = await settings({ model_ms: 10 }, { token: "s3cret" });
    const posts = [];
    const http = (method, path, body, headers) => {
      posts.push([method, path, body, headers.authorization ?? null]);
      return [200, {}];
    };
    const controls = { ai_port: ai.port, token_needed: true };
    const w = await open({ first: two(), controls, http });
    await live(w);
    await w.page.click(id("open-mark"));
    assert.equal(await w.page.isDisabled(id("mark")), true);
    assert.match(await text(w, "said-mark"), /Enter the token first/);
    await w.page.keyboard.press("Escape");
    await w.page.click(id("open-settings"));
    assert.equal(await w.page.isDisabled("#field-ai"), true);
    assert.equal(ai.state.asked, 0);
    await w.shot("token-needed");
    await w.page.fill(id("token"), "wrong");
    await w.page.press(id("token"), "Enter");
    await w.page.waitForSelector(`${id("said-ai")} >> text=a token is needed`);
    await w.page.click(`${id("token-kept")} button`);
    await w.page.fill(id("token"), "s3cret");
    await w.page.press(id("token"), "Enter");
    await w.page.waitForSelector(`${id("setting-ai")}[data-kind="known"]`);
    await w.page.keyboard.press("Escape");
    await w.page.click(id("open-mark"));
    await w.page.fill(id("mark-text"), "door opened");
    await w.page.press(id("mark-text"), "Enter");
    await until("the mark", () => posts.length === 1);
    assert.deepEqual(posts[0], ["POST", "/v1/mark", { text: "door opened" }, "Bearer s3cret"]);
    const kept = await w.page.evaluate(() =>
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]),
    );
    assert.doesNotMatch(kept, /s3cret|wrong/);
  });

  test("a run is measured, and its report is there", async () => {
    const posts = [];
    const run = {
      name: "measured-1",
      state: "running",
      from_ms: 60_000,
      to_ms: null,
      messages: null,
      decision: null,
      trouble: null,
    };
    let answer = [200, run];
    const http = (method, path, body) => {
      posts.push([method, path, body]);
      return answer;
    };
    const w = await open({ first: two(), http });
    await live(w);
    await w.page.click(id("open-measure"));
    await w.page.click(id("measure"));
    await until("the start", () => posts.length === 1);
    assert.deepEqual(posts[0], ["POST", "/v1/measured", { action: "start" }]);
    // The answer itself says that it runs, before any snapshot does.
    await w.page.waitForSelector(`${id("measure")}[data-action="stop"]`);
    w.collector.send(changes(63_100, [{ kind: "measured", runs: [run] }]));
    await w.page.waitForSelector(`${id("measure")}[data-action="stop"]`);
    answer = [409, '{"error":"no run is measured now"}'];
    await w.page.click(id("measure"));
    await w.page.waitForSelector(`${id("said-measure")} >> text=no run is measured now`);
    const done = { ...run, state: "done", to_ms: 66_000, messages: 412, decision: "INCONCLUSIVE" };
    const failed = {
      ...run,
      name: "measured-0",
      state: "failed",
      to_ms: 9,
      trouble: "disk is full",
    };
    w.collector.send(changes(66_100, [{ kind: "measured", runs: [done, failed] }]));
    const link = w.page.locator(`${id("measured-run")} a >> text=report.html`);
    await link.waitFor();
    assert.equal(
      await link.getAttribute("href"),
      `http://127.0.0.1:${w.collector.port}/v1/measured/measured-1/report.html`,
    );
    assert.match(await text(w, "menu-measure"), /disk is full/);
    await w.shot("measured");
  });

  test("what is shown is exported as CSV, JSON and pictures", async () => {
    const w = await open({ first: two(), acceptDownloads: true });
    await live(w);
    const download = async (button) => {
      const [file] = await Promise.all([w.page.waitForEvent("download"), w.page.click(button)]);
      return [file.suggestedFilename(), readFileSync(await file.path())];
    };
    await w.page.click(id("open-export"));
    await w.shot("export");
    const [csvName, csv] = await download(id("export-csv"));
    assert.equal(csvName, "hopwatch-run-1.csv");
    assert.match(String(csv), /run-1,1min,,63000,best-effort,class,total,p50_ns,11900000\r\n/);
    const [jsonName, json] = await download(id("export-json"));
    assert.equal(jsonName, "hopwatch-run-1.json");
    assert.equal(JSON.parse(String(json)).lanes[1].name, "reliable");
    const links = await w.page.$$eval(`${id("menu-export")} a`, (found) =>
      found.map(({ href }) => href),
    );
    assert.deepEqual(
      links,
      ["report.html", "report.json", "report.md", "traces.csv"].map(
        (name) => `http://127.0.0.1:${w.collector.port}/v1/${name}`,
      ),
    );
    await w.page.keyboard.press("Escape");
    for (const panel of ["course", "distribution", "where", "newest", "account"]) {
      const [name, png] = await download(id(`png-${panel}`));
      assert.equal(name, `hopwatch-${panel}.png`);
      assert.deepEqual([...png.subarray(0, 4)], [0x89, 0x50, 0x4e, 0x47], panel);
      assert.ok(png.length > 3000, `${panel}: ${png.length} bytes`);
    }
    clean(await w.look());
  });
});
