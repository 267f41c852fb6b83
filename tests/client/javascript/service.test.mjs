// The JavaScript client and a real service. $FAIRCASCADE_PYTHON says which Python has faircascade.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";

import { Client, ServiceError } from "../../../clients/javascript/faircascade.js";

const PYTHON = process.env.FAIRCASCADE_PYTHON;
const OUTAGE_MS = 2000;
let folder, port, service, client;

async function freePort() {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address();
  await new Promise((done) => probe.close(done));
  return port;
}

function start() {
  const store = `sqlite:${join(folder, "demo.db")}`;
  const options = ["--demo", "--demo-rate", "0", "--store", store, "--port", String(port)];
  service = spawn(PYTHON, ["-m", "faircascade", "serve", ...options], { stdio: "ignore" });
}

async function kill() {
  const ended = once(service, "exit");
  service.kill("SIGKILL");
  await ended;
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "faircascade-"));
  port = await freePort();
  start();
  client = new Client(`http://127.0.0.1:${port}`, { deadlineMs: 60000 });
  await client.getPolicy(); // retries until the service is there
});

after(async () => {
  await kill();
  await rm(folder, { recursive: true });
});

test("a slate is recommended and its answer learned once", async () => {
  const slate = await client.recommend({ user: "ann", k: 5 });
  assert.equal(slate.items.length, 5);
  const answer = { impression_id: slate.impression_id, clicked_positions: [2] };
  const receipt = await client.learn(answer);
  assert.equal(receipt.clicked_item, slate.items[1].item);
  assert.deepEqual(await client.learn(answer), receipt);
  assert.equal((await client.getUser("ann")).feedback, 1);
});

test("a batch has a result for each request", async () => {
  const requests = [{ user: "bob", k: 3 }, { user: "cleo", k: 3, candidates: ["no such item"] }];
  const { results } = await client.recommendMany({ requests });
  assert.deepEqual(results.map((result) => result.status), [200, 409]);
  const impression_id = results[0].recommendation.impression_id;
  const feedback = [{ impression_id, clicked_position: 1 }, { impression_id: "unknown" }];
  const answers = await client.learnMany({ feedback });
  assert.deepEqual(answers.results.map((result) => result.status), [200, 404]);
});

test("items are listed, changed and removed", async () => {
  const { items, total } = await client.listItems({ limit: 1 });
  const { features, topics } = items[0];
  const name = "odd/näme ?";
  const added = await client.putItem(name, { features, topics, group: "odd" });
  assert.equal(added.item, name);
  assert.equal((await client.getItem(name)).group, "odd");
  const many = [{ item: name, features, topics, merit: 2 }];
  assert.deepEqual(await client.putItems({ items: many }), { changed: 1, total: total + 1 });
  const names = new Set();
  for await (const item of client.items({ page: 70 })) names.add(item.item);
  assert.equal(names.size, total + 1);
  assert.equal(await client.removeItem(name), undefined);
  await assert.rejects(client.getItem(name), { status: 404 });
});

test("a user is shown and forgotten", async () => {
  await client.recommend({ user: "dora", k: 2 });
  assert.equal((await client.getUser("dora")).recommendations, 1);
  assert.equal(await client.forgetUser("dora"), undefined);
  await assert.rejects(client.getUser("dora"), { status: 404 });
});

test("exposure, metrics and the state of the service can be read", async () => {
  const { items } = await client.listItems({ limit: 1 });
  assert.ok(items.length);
  assert.ok((await client.getExposure({ window: "1h", limit: 2 })).over_exposed.length <= 2);
  assert.ok((await client.listItemExposure({ by: "group" })).total > 0);
  assert.ok((await client.getExposureHistory({ window: "1h" })).moments.length > 0);
  assert.match(await client.getMetrics(), /faircascade_http_requests_total/);
  assert.equal((await client.getHealth()).status, "ok");
  assert.equal((await client.getReadiness()).status, "ready");
});

test("mistakes name the field, the rule and the request", async () => {
  const error = await client.recommend({ user: "ann", k: 0 }, { requestId: "mine" }).catch((e) => e);
  assert.ok(error instanceof ServiceError);
  assert.equal(error.status, 422);
  assert.equal(error.errors[0].field, "body.k");
  assert.equal(error.requestId, "mine");
  await assert.rejects(client.getExposure({ window: "2h" }), { status: 422 });
  const slate = await client.recommend({ user: "ann", k: 2 });
  await client.learn({ impression_id: slate.impression_id, clicked_position: 1 });
  const otherwise = client.learn({ impression_id: slate.impression_id, clicked_position: 2 });
  await assert.rejects(otherwise, { status: 409 });
});

test("calls survive two seconds without a service", async () => {
  const { impression_id } = await client.recommend({ user: "eve", k: 3 });
  await kill();
  const calls = Promise.all([
    client.recommend({ user: "eve", k: 3 }),
    client.recommendMany({ requests: [{ user: "eve", k: 3 }] }),
    client.learn({ impression_id, clicked_position: 3 }),
    client.getUser("eve"),
    client.removeItem("never there").catch((error) => error.status),
  ]);
  await wait(OUTAGE_MS);
  start();
  const [slate, batch, receipt, user, removed] = await calls;
  assert.equal(slate.items.length, 3);
  assert.equal(batch.results[0].status, 200);
  assert.equal(receipt.clicked_position, 3);
  assert.equal(user.user, "eve");
  assert.equal(removed, 404);
  assert.equal((await client.getUser("eve")).recommendations, 3); // none was counted twice
});
