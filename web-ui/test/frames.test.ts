import { expect, test } from "vitest";
import { Refusal } from "../src/check";
import { OtherVersion, readConfig, readLive, readPush } from "../src/frames";
import { frame, LANE, LEDGER, MESSAGE, SUMMARY } from "./snapshot";

const reason = (read: unknown): string => (read instanceof Refusal ? read.reason : "understood");

test("whole frames are understood, more fields than known too", () => {
  expect(readLive(frame())).toMatchObject({ run_id: "r", lanes: [LANE], latest: [MESSAGE] });
  const more = { ...JSON.parse(frame()), new_field: [1] };
  expect(readLive(JSON.stringify(more))).toMatchObject({ run_id: "r" });
  expect(readPush('{"type":"hello","version":1,"client":"c"}')).toMatchObject({ client: "c" });
  expect(readPush('{"type":"message","trace_id":"0","body":null}')).toMatchObject({ body: null });
  expect(readPush('{"type":"dropped","count":3}')).toMatchObject({ count: 3 });
  expect(readConfig({ broadcaster_port: 1, collector_port: 2 })).toMatchObject({
    collector_port: 2,
  });
});

test.each([
  ["", "not JSON"],
  ["{", "not JSON"],
  ["[]", "no object"],
  ["null", "no object"],
  ["7", "no object"],
  ["{}", "unknown type undefined"],
  ['{"type":"nuke"}', 'unknown type "nuke"'],
  [new ArrayBuffer(3), "a binary frame"],
])("rubbish on either feed: %j", (data, why) => {
  expect(reason(readPush(data))).toBe(why);
  expect(reason(readLive(data))).toBe(why);
});

test.each([
  ['{"type":"hello","version":1}', "hello.client is no string"],
  ['{"type":"hello","client":"c"}', "hello.version is no number"],
  ['{"type":"message","trace_id":7}', "message.trace_id is no string"],
  ['{"type":"dropped","count":-1}', "dropped.count is no count"],
])("a torn frame of the broadcaster: %s", (data, why) => {
  expect(reason(readPush(data))).toBe(why);
});

test("a torn snapshot is refused with the place", () => {
  const torn: [string, string][] = [
    [frame({ state: "resting" as never }), "snapshot.state is none of waiting, running, ended"],
    [frame({ lanes: {} as never }), "snapshot.lanes is no list"],
    [
      frame({ lanes: [{ ...LANE, ledger: { ...LEDGER, in_flight: 0.5 } }] }),
      "snapshot.lanes[0].ledger.in_flight is no count",
    ],
    [
      frame({
        lanes: [LANE, { ...LANE, classes: { ai: { ...SUMMARY, p99_ci_ns: [1] as never } } }],
      }),
      "snapshot.lanes[1].classes.ai.p99_ci_ns is no pair",
    ],
    [
      frame({
        latest: [
          { ...MESSAGE, legs: [{ leg: "ros", class: "magic" as never, ns: 1, half_ns: 0 }] },
        ],
      }),
      "snapshot.latest[0].legs[0].class is none of ai, transport, overhead",
    ],
  ];
  for (const [data, why] of torn) expect(reason(readLive(data))).toBe(why);
});

test("another version is told from rubbish, whatever its shape", () => {
  for (const version of [0, 2]) {
    const data = JSON.stringify({ type: "snapshot", version, everything: "else" });
    expect(readLive(data)).toEqual(new OtherVersion(version));
    const hello = JSON.stringify({ type: "hello", version });
    expect(readPush(hello)).toEqual(new OtherVersion(version));
  }
});
