// What the JavaScript client repeats and what not, without a server.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Client, ServiceError, ServiceUnavailable } from "../../../clients/javascript/faircascade.js";

const SLATE = { impression_id: "i", user: "u", items: [], policy: { name: "p", version: "v" } };
const ASK = { user: "u" };
const ANSWER = { impression_id: "i" };

const says = (body, status = 200, headers = {}) => () =>
  new Response(body === null ? null : JSON.stringify(body), {
    status,
    headers: { "Content-Type": "application/json", ...headers },
  });
const refuses = (status, headers = {}) =>
  says({ title: "No", status, detail: "not now", errors: [] }, status, headers);
const unconnected = () => {
  const cause = Object.assign(new Error("refused"), { code: "ECONNREFUSED", syscall: "connect" });
  throw Object.assign(new TypeError("fetch failed"), { cause });
};
const brokenOff = () => {
  throw Object.assign(new TypeError("fetch failed"), { cause: new Error("other side closed") });
};
const hangs = (_, { signal }) =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

/** A client whose requests are answered by a script, with what it sent and how long it waited. */
function scripted(script, options = {}) {
  const sent = [];
  const pauses = [];
  const client = new Client("http://service.test", {
    fetch: async (url, init) => {
      sent.push({ url, ...init });
      return script[Math.min(sent.length, script.length) - 1](url, init);
    },
    sleep: async (ms) => void pauses.push(ms),
    random: () => 0.5,
    ...options,
  });
  return { client, sent, pauses };
}

test("whatever surely was not done is asked for again, under the same id", async () => {
  const { client, sent, pauses } = scripted([unconnected, refuses(503), refuses(429), says(SLATE)]);
  assert.deepEqual(await client.recommend(ASK), SLATE);
  assert.deepEqual(pauses, [50, 100, 200]);
  assert.equal(new Set(sent.map((request) => request.headers["X-Request-ID"])).size, 1);
});

for (const [name, outcome] of Object.entries({ 504: refuses(504), 502: refuses(502), brokenOff })) {
  test(`a slate that may have been counted is not asked for again: ${name}`, async () => {
    const { client, sent } = scripted([outcome, says(SLATE)]);
    await assert.rejects(client.recommend(ASK), (error) => {
      assert.ok(error instanceof ServiceUnavailable);
      assert.match(error.message, /may have been counted as shown/);
      return true;
    });
    assert.equal(sent.length, 1);
  });
  test(`feedback is sent again, as it is learned once: ${name}`, async () => {
    const { client, sent } = scripted([outcome, says({ shown: 1 })]);
    assert.deepEqual(await client.learn(ANSWER), { shown: 1 });
    assert.equal(sent.length, 2);
  });
}

test("a mistake is not repeated, and says which field and which request", async () => {
  const problem = {
    title: "Unprocessable Content",
    detail: "body.k must be at least 1, got 0",
    errors: [{ field: "body.k", message: "must be at least 1, got 0" }],
    request_id: "r1",
  };
  const { client, sent } = scripted([says(problem, 422)]);
  const error = await client.recommend({ user: "u", k: 0 }).catch((error) => error);
  assert.ok(error instanceof ServiceError && !(error instanceof ServiceUnavailable));
  assert.deepEqual(
    [error.status, error.errors[0].field, error.requestId, sent.length],
    [422, "body.k", "r1", 1],
  );
});

test("a wait that the service asks for is kept, up to 10 s", async () => {
  const date = new Date(Date.now() + 5000).toUTCString();
  const script = [
    refuses(503, { "Retry-After": "2" }),
    refuses(503, { "Retry-After": "99" }),
    refuses(503, { "Retry-After": date }),
    says(SLATE),
  ];
  const { client, pauses } = scripted(script, { random: () => 0, deadlineMs: 60000 });
  await client.recommend(ASK);
  assert.deepEqual(pauses.slice(0, 2), [2000, 10000]);
  assert.ok(pauses[2] > 3000 && pauses[2] <= 5000, `${pauses[2]} ms`);
});

test("it gives up at the deadline, and a long pause leaves time for a last attempt", async () => {
  const { client, sent } = scripted([refuses(503, { "Retry-After": "9" })], {
    deadlineMs: 300,
    sleep: undefined,
  });
  const began = performance.now();
  await assert.rejects(client.recommend(ASK), /gave up after \d attempts/);
  assert.ok(sent.length === 2 || sent.length === 3, `${sent.length} attempts`); // timers may be early
  assert.ok(performance.now() - began < 2000);
});

test("it tries again only as often as it was told", async () => {
  const { client, sent } = scripted([refuses(503)], { retries: 2 });
  await assert.rejects(client.recommend(ASK), ServiceUnavailable);
  assert.equal(sent.length, 3);
});

test("a silent service is given up after the timeout", async () => {
  const { client, sent } = scripted([hangs], { timeoutMs: 30 });
  await assert.rejects(client.recommend(ASK), /no answer from http:\/\/service.test within/);
  assert.equal(sent.length, 1);
});

test("readiness is asked for once, and 'not ready' is an answer", async () => {
  const { client, sent } = scripted([says({ status: "not ready", checks: {} }, 503), unconnected]);
  assert.equal((await client.getReadiness()).status, "not ready");
  await assert.rejects(client.getReadiness(), ServiceUnavailable);
  assert.equal(sent.length, 2);
});

test("what a lost answer had removed already counts as removed", async () => {
  const { client } = scripted([brokenOff, refuses(404)]);
  assert.equal(await client.removeItem("a"), undefined);
  await assert.rejects(scripted([refuses(404)]).client.removeItem("a"), { status: 404 });
});

test("the caller can end a call, even in a pause", async () => {
  const ended = new AbortController();
  const { client, sent } = scripted([refuses(503, { "Retry-After": "9" })], { sleep: undefined });
  setTimeout(() => ended.abort(new Error("enough")), 20);
  await assert.rejects(client.recommend(ASK, { signal: ended.signal }), /enough/);
  assert.equal(sent.length, 1);
});

test("the key is sent, and a page of a proxy is no answer of the service", async () => {
  const page = () => new Response("<h1>Oh no</h1>", { headers: { "Content-Type": "text/html" } });
  const { client, sent } = scripted([page], { key: "secret" });
  await assert.rejects(client.getPolicy(), /unexpected answer \(text\/html\)/);
  assert.equal(sent[0].headers.Authorization, "Bearer secret");
  const moved = scripted([() => new Response(null, { status: 301, headers: { Location: "/x" } })]);
  await assert.rejects(moved.client.getPolicy(), /redirected to \/x/);
});

test("ids, queries and numbers go over the wire as they are", async () => {
  const { client, sent } = scripted([says({})]);
  await client.getItem("a/b c?ö", { requestId: "mine" });
  await client.getExposure({ window: "1h", limit: undefined });
  await client.putItem("a", { features: new Float32Array([0.5, 1]) });
  assert.equal(sent[0].url, "http://service.test/v1/items/a%2Fb%20c%3F%C3%B6");
  assert.equal(sent[0].headers["X-Request-ID"], "mine");
  assert.equal(sent[1].url, "http://service.test/v1/exposure?window=1h");
  assert.equal(sent[2].body, '{"features":[0.5,1]}');
  await assert.rejects(client.putItem("a", { features: [NaN] }), RangeError);
  await assert.rejects(client.getItem(".."), RangeError);
  await assert.rejects(client.getItem(7), TypeError);
});

test("settings that make no sense are refused, and no password is shown", () => {
  assert.throws(() => new Client("ftp://service.test"), /must be such as/);
  assert.throws(
    () => new Client("http://me:secret@service.test"),
    (error) => !error.message.includes("secret"),
  );
  assert.throws(() => new Client("http://service.test?a=1"), /must end with/);
  assert.throws(() => new Client(undefined, { key: "a b" }), /printable ASCII/);
  assert.throws(() => new Client(undefined, { deadlineMs: 0 }), RangeError);
});
