import { expect, test } from "vitest";
import { Refusal } from "../src/check";
import { settings } from "../src/frames";
import { ask, askFor, type Fetch } from "../src/remote";

const URL = "http://127.0.0.1:5000/v1/settings";
const answering =
  (body: string, status = 200, seen: RequestInit[] = []): Fetch =>
  (_url, init) => {
    seen.push(init);
    return Promise.resolve(new Response(body, { status }));
  };

test("shows the token only where there is one", async () => {
  const seen: RequestInit[] = [];
  const fetch = answering("{}", 200, seen);
  await ask({ method: "GET", url: URL, token: null }, fetch);
  await ask({ method: "PUT", url: URL, token: "s3cret", body: { model_ms: 5 } }, fetch);
  expect(seen[0]?.headers).toEqual({});
  expect(seen[0]?.body).toBeUndefined();
  expect(seen[1]?.headers).toEqual({
    authorization: "Bearer s3cret",
    "content-type": "application/json",
  });
  expect(seen[1]?.body).toBe('{"model_ms":5}');
});

test.each([
  ["model_ms: 9e9 is above an hour\n", 400, "model_ms: 9e9 is above an hour"],
  ['{"error":"a run is measured already"}', 409, "a run is measured already"],
  ["", 404, "refused with status 404"],
  ["x".repeat(1000), 400, `${"x".repeat(300)}… (1\u202f000 characters)`],
])("a refusal says its sentence: %s", async (body, status, said) => {
  const call = { method: "PUT", url: URL, token: null } as const;
  expect(await ask(call, answering(body, status))).toEqual(new Refusal(said));
});

test("nobody there, and answers that are none", async () => {
  const call = { method: "GET", url: URL, token: null } as const;
  const away: Fetch = () => Promise.reject(new TypeError("failed"));
  expect(await ask(call, away)).toEqual(new Refusal("127.0.0.1:5000 doesn't answer"));
  expect(await askFor(call, settings.ai, answering("<html>"))).toEqual(
    new Refusal("the answer is not JSON"),
  );
  expect(await askFor(call, settings.ai, answering('{"model_ms":"5"}'))).toEqual(
    new Refusal("answer.model_ms is no number"),
  );
  expect(await askFor(call, settings.ai, answering('{"model_ms":5}'))).toEqual({ model_ms: 5 });
});
