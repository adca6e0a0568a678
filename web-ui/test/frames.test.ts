import { expect, test } from "vitest";
import { type Check, number, Refusal } from "../src/check";
import { OtherVersion, readConfig, readLive, readPush } from "../src/frames";
import { VERSION } from "../src/generated/wire";
import { frame, LANE, LEDGER, MESSAGE, PARTS, SUMMARY } from "./snapshot";

const reason = (read: unknown): string => (read instanceof Refusal ? read.reason : "understood");

test("whole frames are understood, more fields than known too", () => {
  expect(readLive(frame())).toMatchObject({ run_id: "r", parts: PARTS });
  const more = { ...JSON.parse(frame()), new_field: [1] };
  expect(readLive(JSON.stringify(more))).toMatchObject({ run_id: "r" });
  expect(readPush('{"type":"hello","version":2,"client":"c"}')).toMatchObject({ client: "c" });
  expect(readPush('{"type":"message","trace_id":"0","body":null}')).toMatchObject({ body: null });
  expect(readPush('{"type":"dropped","count":3}')).toMatchObject({ count: 3 });
  const answer = { type: "message", trace_id: "00", message: MESSAGE };
  expect(readLive(JSON.stringify(answer))).toEqual(answer);
  expect(readLive('{"type":"message","trace_id":"0","message":null}')).toMatchObject({
    message: null,
  });
});

test("the page's configuration", () => {
  const controls = { ai_port: 3, robots_port: null, network_port: null, token_needed: false };
  const config = { broadcaster_port: 1, collector_port: 2, controls };
  expect(readConfig(config)).toEqual(config);
  expect(reason(readConfig({ broadcaster_port: 1, collector_port: 2 }))).toBe(
    "config.json.controls is no object",
  );
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
  ['{"type":"hello","version":2}', "hello.client is no string"],
  ['{"type":"hello","client":"c"}', "hello.version is no number"],
  ['{"type":"message","trace_id":7}', "message.trace_id is no string"],
  ['{"type":"dropped","count":-1}', "dropped.count is no count"],
])("a torn frame of the broadcaster: %s", (data, why) => {
  expect(reason(readPush(data))).toBe(why);
});

test("a torn snapshot is refused with the place", () => {
  const lane = (change: object) =>
    frame({ parts: [{ kind: "lane", lane: { ...LANE, ...change } }] });
  const torn: [string, string][] = [
    [frame({ state: "resting" as never }), "snapshot.state is none of waiting, running, ended"],
    [frame({ parts: {} as never }), "snapshot.parts is no list"],
    [frame({ parts: [{ kind: "soup" } as never] }), "snapshot.parts[0].kind is unknown"],
    [frame({ parts: [{ kind: "constructor" } as never] }), "snapshot.parts[0].kind is unknown"],
    [
      frame({ watch: { window: "1h" as never, robot: null } }),
      "snapshot.watch.window is none of 10s, 1min, run",
    ],
    [
      lane({ ledger: { ...LEDGER, in_flight: 0.5 } }),
      "snapshot.parts[0].lane.ledger.in_flight is no count",
    ],
    [
      lane({ classes: { ai: { ...SUMMARY, p99_ci_ns: [1] } } }),
      "snapshot.parts[0].lane.classes.ai.p99_ci_ns is no pair",
    ],
    [
      lane({ distribution: { total: [[1, 2, 3]] } }),
      "snapshot.parts[0].lane.distribution.total[0] is no pair",
    ],
    [
      frame({
        parts: [
          {
            kind: "latest",
            messages: [
              { ...MESSAGE, legs: [{ leg: "ros", class: "magic" as never, ns: 1, half_ns: 0 }] },
            ],
          },
        ],
      }),
      "snapshot.parts[0].messages[0].legs[0].class is none of ai, transport, overhead",
    ],
  ];
  for (const [data, why] of torn) expect(reason(readLive(data))).toBe(why);
});

test.each(PARTS.map((part) => [part.kind, part] as const))(
  "a part without its content: %s",
  (kind) => {
    const data = frame({ parts: [{ kind } as never] });
    expect(reason(readLive(data))).toMatch(/^snapshot\.parts\[0\]\.\w+/);
  },
);

test("another version is told from rubbish, whatever its shape", () => {
  for (const version of [0, VERSION - 1, VERSION + 1]) {
    const data = JSON.stringify({ type: "snapshot", version, everything: "else" });
    expect(readLive(data)).toEqual(new OtherVersion(version));
    const hello = JSON.stringify({ type: "hello", version });
    expect(readPush(hello)).toEqual(new OtherVersion(version));
  }
});

test("whatever may be null is understood as null", () => {
  const robot = {
    lane: "a",
    robot_id: "r",
    published: null,
    taken: 0,
    delivered: 0,
    rate_hz: null,
    p50_ns: null,
    p99_ns: null,
    last_ms: null,
  };
  expect(reason(readLive(frame({ parts: [{ kind: "robots", robots: [robot] }] })))).toBe(
    "understood",
  );
});

test("a check of numbers doesn't pass for one of numbers and null", () => {
  // @ts-expect-error: it would refuse every null.
  const wrong: Check<number | null> = number;
  expect(wrong(null)).toBe(" is no number");
});
