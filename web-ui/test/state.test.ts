import { expect, test } from "vitest";
import { connectionChanged, figured, type PageState, picked, pushed, START } from "../src/state";
import { frame, MESSAGE } from "./snapshot";

const HELLO = '{"type":"hello","version":2,"client":"page-1"}';
const message = (id: string, body: unknown = {}): string =>
  JSON.stringify({ type: "message", trace_id: id, body });

/** All frames one after the other. */
function after(frames: readonly string[], from: PageState = START): PageState {
  return frames.reduce((state, data) => pushed(state, data)[0], from);
}

test("messages go to the live line and leave everything else as it is", () => {
  const before = after([HELLO, message("a")]);
  const [state, effect] = pushed(before, message("b", { x: 1 }));
  expect(effect).toEqual({ kind: "message", traceId: "b", body: { x: 1 } });
  expect(state).toBe(before);
  expect(state.client).toBe("page-1");
  expect(state.broadcaster).toEqual({ kind: "live" });
});

test("a message before hello is not acknowledged but noticed", () => {
  const [state, effect] = pushed(START, message("a"));
  expect(effect).toEqual({ kind: "none" });
  expect(state.notices[0]?.text).toMatch(/message before hello/);
});

test("after a loss the client's name is gone until the next hello", () => {
  const lost = connectionChanged(after([HELLO]), "broadcaster", {
    kind: "disconnected",
    retryAt: 9,
  });
  expect(lost.client).toBeNull();
  expect(pushed(lost, message("a"))[1]).toEqual({ kind: "none" });
  expect(after([HELLO], lost).client).toBe("page-1");
  // The collector's connection has nothing to do with it.
  const other = connectionChanged(after([HELLO]), "collector", { kind: "connecting" });
  expect(other.client).toBe("page-1");
});

test("what was dropped adds up", () => {
  const dropped = '{"type":"dropped","count":3}';
  const [notice] = after([HELLO, dropped, dropped]).notices;
  expect(notice).toMatchObject({ kind: "dropped_for_this_page", count: 6 });
});

test("rubbish is counted by feed, with the last reason", () => {
  let state = after(["{", "[]", HELLO]);
  [state] = figured(state, "{", 1);
  expect(state.notices).toMatchObject([
    { kind: "rubbish_collector", count: 1 },
    { kind: "rubbish_broadcaster", count: 2, text: expect.stringMatching(/last: no object$/) },
  ]);
  expect(state.broadcaster).toEqual({ kind: "live" });
});

test("figures replace figures", () => {
  const [state, effect] = figured(START, frame(), 42);
  expect(effect).toEqual({ kind: "none" });
  expect(state).toMatchObject({ collector: { kind: "live" }, figuresAt: 42, snapshots: 1 });
  expect(figured(state, frame({ elapsed_ms: 1001 }), 43)[0].figures?.elapsedMs).toBe(1001);
});

test("figures out of order are left out, but not those of a collector that began anew", () => {
  const [state] = figured(START, frame({ elapsed_ms: 5000 }), 1);
  const [late] = figured(state, frame({ elapsed_ms: 4000 }), 2);
  expect(late.figures?.elapsedMs).toBe(5000);
  expect(late.notices).toMatchObject([{ kind: "out_of_order", count: 1 }]);
  // Another run on the same connection, or the same run on a new one.
  const [other] = figured(state, frame({ elapsed_ms: 10, run_id: "s" }), 3);
  expect(other.figures?.elapsedMs).toBe(10);
  const away = connectionChanged(state, "collector", { kind: "disconnected", retryAt: 4 });
  const [anew] = figured(away, frame({ elapsed_ms: 20 }), 5);
  expect(anew.figures?.elapsedMs).toBe(20);
});

test("old figures stay while the collector is away", () => {
  const [state] = figured(START, frame(), 1);
  const away = connectionChanged(state, "collector", { kind: "disconnected", retryAt: 4 });
  expect(away.figures).toBe(state.figures);
  expect(away.figuresAt).toBe(1);
});

test("another version ends the connection", () => {
  const [a, effectA] = pushed(START, '{"type":"hello","version":1,"who":1}');
  expect(effectA).toEqual({ kind: "stop" });
  expect(a.broadcaster).toEqual({ kind: "incompatible", version: 1 });
  const [b, effectB] = figured(a, '{"type":"snapshot","version":7}', 1);
  expect(effectB).toEqual({ kind: "stop" });
  expect(b.collector).toEqual({ kind: "incompatible", version: 7 });
});

test("what begins in the middle is no use", () => {
  const changes = frame({ whole: false, parts: [] });
  const [lost] = figured(START, changes, 1);
  expect(lost.figures).toBeNull();
  expect(lost.notices).toMatchObject([{ kind: "torn_feed" }]);
  const [state] = figured(lost, frame(), 2);
  expect(figured(state, changes, 3)[0].figures?.lanes).toBe(state.figures?.lanes);
  // A new connection begins with a whole one.
  const away = connectionChanged(state, "collector", { kind: "connecting" });
  expect(figured(away, changes, 4)[0].figuresAt).toBe(2);
});

test("a picked message is shown from what is there, or else asked for", () => {
  const [state] = figured(START, frame(), 1);
  expect(picked(state, "00").picked).toEqual({ traceId: "00", message: MESSAGE });
  expect(picked(state, "01").picked?.message).toMatchObject({ trace_id: "01" });
  const asked = picked(state, "ff");
  expect(asked.picked).toEqual({ traceId: "ff", message: "asked" });
  const answer = (id: string, message: unknown) =>
    JSON.stringify({ type: "message", trace_id: id, message });
  // The answer to a question that was taken back changes nothing.
  expect(figured(asked, answer("ee", null), 2)[0].picked).toBe(asked.picked);
  expect(figured(asked, answer("ff", null), 2)[0].picked?.message).toBeNull();
  const [known] = figured(asked, answer("ff", MESSAGE), 2);
  expect(known.picked?.message).toEqual(MESSAGE);
  expect(figured(known, answer("ff", null), 3)[0].picked?.message).toEqual(MESSAGE);
});

test("a picked message doesn't survive into another run", () => {
  const [state] = figured(START, frame(), 1);
  const chosen = picked(state, "00");
  expect(figured(chosen, frame({ elapsed_ms: 2000 }), 2)[0].picked).toBe(chosen.picked);
  expect(figured(chosen, frame({ run_id: "s" }), 2)[0].picked).toBeNull();
});
