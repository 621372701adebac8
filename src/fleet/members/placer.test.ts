import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import {
  fill,
  FleetNode,
  GatewayNode,
  queued,
  STATE,
  WorkerNode,
} from "../../../test/support/fleet-node.ts";
import { NatsServer, noNats } from "../../../test/support/nats-server.ts";
import { until } from "../../../test/support/until.ts";
import { addressOf } from "../connection/node-server.ts";
import { queueName } from "./job-queue.ts";
import type { Member } from "./members.ts";
import { fullWords, isCompatible, type PlacementRequest, placeSession } from "./placer.ts";

function member(name: string, more: Partial<Member> = {}): Member {
  return {
    id: `1-${name}`,
    name,
    role: "worker",
    version: "1.2.0",
    slots: 4,
    used: 0,
    labels: {},
    warm: [],
    isDraining: false,
    sessions: 0,
    waiting: [],
    ...more,
  };
}

const place = (
  members: readonly Member[],
  request: PlacementRequest = {},
  random?: () => number,
): string[] | string => {
  const placement = placeSession({ pool: "x", version: "1.2.3", members }, request, random);
  if ("refusal" in placement) return placement.refusal;
  return placement.workers.map(({ name }) => name);
};

describe("placeSession", () => {
  it("prefers a warm cache, then the least used, and those that are full come last", () => {
    const repository = "https://example.org/a.git";
    const members = [
      member("g", { role: "gateway" }),
      member("full", { used: 4, warm: [repository] }),
      member("half", { used: 2 }),
      member("warm", { used: 3, warm: [repository] }),
      member("empty"),
    ];
    assert.deepEqual(place(members, { repository }), ["warm", "empty", "half", "full"]);
    assert.deepEqual(place(members), ["empty", "half", "warm", "full"]);
  });

  it("prefers those that were heard lately to those that may be paused", () => {
    const members = [member("silent"), member("busy", { used: 3 }), member("full", { used: 4 })];
    const view = {
      pool: "x",
      version: "1.2.3",
      members,
      isSilent: (id: string) => id === "1-silent",
    };
    const { workers } = placeSession(view, {});
    assert.deepEqual(
      workers.map(({ name }) => name),
      ["busy", "full", "silent"],
    );
  });

  it("spreads sessions over equal workers", () => {
    const members = ["a", "b", "c"].map((name) => member(name));
    const firsts = new Set(Array.from({ length: 100 }, () => place(members)[0]));
    assert.deepEqual(firsts, new Set(["a", "b", "c"]));
    let chance = 1;
    assert.deepEqual(
      place(members, {}, () => (chance /= 2)),
      ["c", "b", "a"],
    );
  });

  it("takes workers that have all labels, are not draining, and are of about the same version", () => {
    const labels = { gpu: "1", zone: "eu" };
    const members = [
      member("none"),
      member("one", { labels: { gpu: "1" } }),
      member("draining", { labels, isDraining: true }),
      member("old", { labels, version: "1.0.9" }),
      member("next", { labels: { ...labels, more: "x" }, version: "1.3.0" }),
    ];
    assert.deepEqual(place(members, { labels }), ["next"]);
  });

  it("says why none fits", () => {
    const draining = member("d", { isDraining: true });
    const labels = { gpu: "1" };
    assert.equal(place([member("g", { role: "gateway" })]), "pool 'x' has no worker");
    assert.equal(place([draining]), "the only worker of pool 'x' is draining");
    assert.equal(place([draining, draining]), "all 2 workers of pool 'x' are draining");
    assert.equal(place([member("a")], { labels }), "no worker of pool 'x' has label gpu=1");
    assert.equal(
      place([member("a")], { labels: { ...labels, zone: "eu" } }),
      "no worker of pool 'x' has labels gpu=1 and zone=eu",
    );
    assert.equal(
      place([member("a", { version: "1.0.0" }), member("b", { version: "2.2.0" })]),
      "the workers of pool 'x' run version 1.0.0, 2.2.0, and this gateway 1.2.3; they may differ by " +
        "one minor version. Upgrade the older ones",
    );
  });

  it("counts slots in words", () => {
    const workers = [member("a"), member("b"), member("c")];
    assert.equal(fullWords(workers), "all 12 slots of 3 workers are taken");
    assert.equal(fullWords([member("a", { slots: 1 })]), "the only slot of 1 worker is taken");
  });
});

describe("isCompatible", () => {
  it("tolerates one minor version", () => {
    for (const version of ["1.1.9", "1.2.0", "1.3.0-rc.1"]) {
      assert.ok(isCompatible(version, "1.2.3"), version);
    }
    for (const version of ["1.0.0", "1.4.0", "2.2.3", "0.2.3", "nonsense"]) {
      assert.ok(!isCompatible(version, "1.2.3"), version);
    }
  });
});

const never = new AbortController().signal;

describe("Placer", { skip: noNats, timeout: 600_000 }, () => {
  it("takes a free slot at once, and waits for one when all are taken", async () => {
    await using server = await NatsServer.start();
    await using worker = await WorkerNode.start(server.url, "w", { slots: 2 });
    await using gateway = await GatewayNode.start(server.url, "g");
    assert.equal((await gateway.placer.place({}, never)).id, worker.self.id);
    assert.equal((await gateway.placer.place({}, never)).id, worker.self.id);
    fill(worker);
    let placed = 0;
    const waiting = [1, 2].map(async () => {
      await gateway.placer.place({}, never);
      placed++;
    });
    await until(() => worker.members.get(gateway.self.id)?.waiting[0]?.count === 2);
    worker.slots.closed();
    worker.slots.closed();
    await Promise.all(waiting);
    assert.equal(placed, 2);
    assert.deepEqual([worker.slots.used, worker.slots.open], [2, 0]);
    assert.deepEqual(gateway.queue.waiting, []);
    while ((await queued(gateway)) > 0);
  });

  it("says that NATS is gone, not that there are no workers", async () => {
    await using server = await NatsServer.start();
    await using gateway = await GatewayNode.start(server.url, "g");
    await assert.rejects(gateway.placer.place({}, never), /has no worker\.$/);
    await server.kill();
    await until(() => !gateway.connection.isConnected);
    await assert.rejects(gateway.placer.place({}, never), {
      code: "unavailable",
      message: "Cannot open the session: the connection to NATS is lost.",
    });
  });

  it("gives a slot to who waits before it gives one to who comes", async () => {
    await using server = await NatsServer.start();
    await using worker = await WorkerNode.start(server.url, "w", { slots: 1 });
    await using first = await GatewayNode.start(server.url, "g1");
    await using second = await GatewayNode.start(server.url, "g2");
    await until(() => first.alive.length === 3 && second.alive.length === 3);
    fill(worker);
    await until(() => first.members.get(worker.self.id)?.used === 1);
    const order: string[] = [];
    const waiting = first.placer.place({}, never).then(() => order.push("first"));
    await until(() => worker.members.get(first.self.id)?.waiting.length === 1);
    const coming = second.placer.place({}, never).then(() => order.push("second"));
    worker.slots.closed();
    await waiting;
    fill(worker);
    worker.slots.closed();
    await coming;
    assert.deepEqual(order, ["first", "second"]);
  });

  it("takes one slot for a session that several gateways ask for, over and over", async () => {
    await using server = await NatsServer.start();
    await using worker = await WorkerNode.start(server.url, "w", { slots: 1 });
    await using first = await GatewayNode.start(server.url, "g1");
    await using second = await GatewayNode.start(server.url, "g2");
    for (const { placer } of [first, second, first]) {
      assert.equal((await placer.place({ session: "s1" }, never)).id, worker.self.id);
    }
    assert.equal(worker.slots.used, 1);
    // Others wait for a slot, but this session has one.
    const waiting = first.placer.place({ session: "s2" }, never);
    await until(() => worker.members.get(first.self.id)?.waiting.length === 1);
    worker.slots.opened("s1");
    await second.placer.place({ session: "s1" }, never);
    worker.slots.closed("s1");
    await waiting;
  });

  it("asks the next worker while one does not answer, and takes whichever answers first", async () => {
    await using server = await NatsServer.start();
    const state = { ...STATE, slots: 1 };
    await using first = await FleetNode.open(server.url, "w1", () => ({ ...state, warm: ["r"] }));
    await using second = await FleetNode.open(server.url, "w2", () => state);
    await using gateway = await GatewayNode.start(server.url, "g", { longestWait: 1 });
    await until(() => gateway.alive.length === 3);
    const { subjects } = gateway.connection;
    const isAsked = Promise.withResolvers<void>();
    // The second never answers, and the first only once the second was asked too.
    second.connection.listen(subjects.request(addressOf(second.self), "take"), () =>
      isAsked.resolve(),
    );
    first.connection.listen(subjects.request(addressOf(first.self), "take"), (message) => {
      isAsked.promise.then(() => message.respond(JSON.stringify({ ok: null })), assert.fail);
    });
    await Promise.all([first, second].map(({ connection }) => connection.nats.flush()));
    const placed = await gateway.placer.place({ repository: "r" }, never);
    assert.equal(placed.name, "w1");
  });

  it("gives a worker only requests for labels that it has", async () => {
    await using server = await NatsServer.start();
    const gpu = { gpu: "1" };
    await using plain = await WorkerNode.start(server.url, "plain", { slots: 1 });
    await using strong = await WorkerNode.start(server.url, "strong", { slots: 1, labels: gpu });
    await using gateway = await GatewayNode.start(server.url, "g");
    await until(() => gateway.alive.length === 3);
    fill(plain);
    fill(strong);
    await until(() => gateway.members.alive.every(({ slots, used }) => slots === used));
    const placed = gateway.placer.place({ labels: gpu }, never);
    await until(() => plain.members.get(gateway.self.id)?.waiting.length === 1);
    plain.slots.closed();
    await until(() => gateway.members.get(plain.self.id)?.used === 0);
    assert.equal((await gateway.placer.place({}, never)).name, "plain");
    strong.slots.closed();
    assert.equal((await placed).name, "strong");
    await assert.rejects(gateway.placer.place({ labels: { gpu: "2" } }, never), {
      code: "unavailable",
      message: "Cannot open the session: no worker of pool 'p' has label gpu=2.",
    });
  });

  it("gives a worker no request of a gateway that is two minor versions away", async () => {
    await using server = await NatsServer.start();
    const newer = { version: "1.4.0" };
    await using near = await WorkerNode.start(server.url, "near", { slots: 1 });
    await using far = await WorkerNode.start(server.url, "far", { slots: 1, ...newer });
    await using old = await GatewayNode.start(server.url, "old");
    await using young = await GatewayNode.start(server.url, "young", newer);
    await until(() => old.alive.length === 4 && young.alive.length === 4);
    fill(near);
    fill(far);
    for (const { members } of [old, young]) {
      await until(() => members.alive.every(({ slots, used }) => slots === used));
    }
    const first = old.placer.place({}, never);
    while ((await queued(old).catch(() => 0)) < 1);
    const second = young.placer.place({}, never);
    await until(() => far.members.get(young.self.id)?.waiting.length === 1);
    far.slots.closed();
    assert.equal((await second).name, "far");
    near.slots.closed();
    assert.equal((await first).name, "near");
  });

  it("takes no slot of a worker that offers one though it does not fit", async () => {
    await using server = await NatsServer.start();
    const gpu = { gpu: "1" };
    await using near = await WorkerNode.start(server.url, "near", { slots: 1, labels: gpu });
    const strangers = [{ version: "1.4.0", labels: gpu }, { labels: {} }];
    await using gateway = await GatewayNode.start(server.url, "g");
    fill(near);
    await until(() => gateway.members.get(near.self.id)?.used === 1);
    const placed = gateway.placer.place({ labels: gpu }, never);
    while ((await queued(gateway).catch(() => 0)) < 1);
    const manager = await jetstreamManager(gateway.connection.nats);
    const { subjects } = gateway.connection;
    const stored = await manager.streams.getMessage(subjects.jobs, { seq: 1 });
    const { id } = stored?.json<{ id: string }>() ?? {};
    const subject = subjects.offer(addressOf(gateway.self), id ?? "");
    for (const options of strangers) {
      await using stranger = await WorkerNode.start(server.url, "stranger", {
        slots: 0,
        ...options,
      });
      await until(() => gateway.members.get(stranger.self.id) !== undefined);
      stranger.connection.nats.publish(subject, JSON.stringify({ worker: stranger.self }));
      await stranger.connection.nats.flush();
    }
    const { nats } = near.connection;
    const answer = await nats.request(subject, JSON.stringify({ worker: near.self }));
    assert.deepEqual(answer.json(), { isWanted: true });
    assert.equal((await placed).name, "near");
  });

  it("refuses at once when too many wait, and ends a request with its client or its time", async () => {
    await using server = await NatsServer.start();
    await using worker = await WorkerNode.start(server.url, "w", { slots: 3 });
    fill(worker);
    await using gateway = await GatewayNode.start(server.url, "g", { most: 2 });
    const client = new AbortController();
    const waiting = [1, 2].map(() => gateway.placer.place({}, client.signal));
    const ended = Promise.allSettled(waiting);
    while ((await queued(gateway).catch(() => 0)) < 2);
    await assert.rejects(gateway.placer.place({}, never), {
      code: "limit",
      message:
        "Cannot open the session: all 3 slots of 1 worker are taken, and 2 requests wait already. " +
        "Try again later, or add workers.",
    });
    client.abort(new Error("the client has gone"));
    const reasons = (await ended).map((result) => result.status === "rejected" && result.reason);
    assert.deepEqual(reasons.map(String), Array(2).fill("Error: the client has gone"));
    while ((await queued(gateway)) > 0);
    await using hasty = await GatewayNode.start(server.url, "h", { longestWait: 200 });
    await assert.rejects(hasty.placer.place({}, never), {
      code: "timeout",
      message:
        "Cannot open the session: all 3 slots of 1 worker are taken, and none was free within 0.2 s. " +
        "It came to the queue as number 1. Try again later, or add workers.",
    });
  });

  it("says the place of a request that waits, and ends one for a session of a lost worker in words", async () => {
    await using server = await NatsServer.start();
    await using worker = await WorkerNode.start(server.url, "w", { slots: 1 });
    fill(worker);
    await using gateway = await GatewayNode.start(server.url, "g", { takeOverWithin: 300 });
    const client = new AbortController();
    const told = Promise.withResolvers<unknown>();
    const first = gateway.placer.place({}, client.signal, (...said) => told.resolve(said));
    first.catch(() => {});
    assert.deepEqual(await told.promise, [1, "the only slot of 1 worker is taken"]);
    const second = Promise.withResolvers<unknown>();
    const request = { session: randomUUID(), lost: "1-gone" };
    await assert.rejects(
      gateway.placer.place(request, never, (place) => second.resolve(place)),
      {
        code: "timeout",
        message: /none was free within 0\.3 s\. It came to the queue as number 2/,
      },
    );
    assert.equal(await second.promise, 2);
    assert.ok(
      gateway.lines.some((line) => line.includes("fleet.no-slot") && line.includes("0.3 s")),
    );
    client.abort();
  });

  it("keeps requests when NATS is killed and started again", async () => {
    await using server = await NatsServer.start();
    await using worker = await WorkerNode.start(server.url, "w", { slots: 1 });
    fill(worker);
    await using gateway = await GatewayNode.start(server.url, "g");
    const waiting = gateway.placer.place({}, never);
    await until(() => worker.members.get(gateway.self.id)?.waiting.length === 1);
    await server.kill();
    await until(() => !gateway.connection.isConnected && !worker.connection.isConnected);
    const late = gateway.queue.wait({}, never);
    worker.slots.closed();
    await server.restart();
    await Promise.race([waiting, late]);
    fill(worker);
    worker.slots.closed();
    await Promise.all([waiting, late]);
    while ((await queued(gateway)) > 0);
  });

  it("puts a request into the queue again that NATS has lost", async () => {
    await using server = await NatsServer.start();
    await using worker = await WorkerNode.start(server.url, "w", { slots: 1 });
    fill(worker);
    await using gateway = await GatewayNode.start(server.url, "g");
    const waiting = gateway.placer.place({}, never);
    while ((await queued(gateway).catch(() => 0)) < 1);
    const manager = await jetstreamManager(gateway.connection.nats);
    await manager.streams.delete(gateway.connection.subjects.jobs);
    worker.slots.closed();
    assert.equal((await waiting).id, worker.self.id);
  });

  it("drops the requests of a gateway that is gone", async () => {
    await using server = await NatsServer.start();
    await using worker = await WorkerNode.start(server.url, "w", { slots: 1 });
    fill(worker);
    const lost = await GatewayNode.start(server.url, "lost");
    const ended = assert.rejects(lost.placer.place({}, never));
    while ((await queued(lost).catch(() => 0)) < 1);
    await lost.connection[Symbol.asyncDispose]();
    await until(() => worker.members.isReady && worker.members.get(lost.self.id) === undefined);
    await using gateway = await GatewayNode.start(server.url, "g");
    const waiting = gateway.placer.place({}, never);
    await until(() => worker.members.get(gateway.self.id)?.waiting.length === 1);
    worker.slots.closed();
    assert.equal((await waiting).id, worker.self.id);
    while ((await queued(gateway)) > 0);
    await lost[Symbol.asyncDispose]();
    await ended;
  });

  it("removes requests that were left, of a gateway that is gone and its own", async () => {
    await using server = await NatsServer.start();
    await using worker = await WorkerNode.start(server.url, "w", { slots: 1 });
    fill(worker);
    await using gateway = await GatewayNode.start(server.url, "g");
    const lost = await GatewayNode.start(server.url, "lost");
    const ended = assert.rejects(lost.placer.place({}, never));
    while ((await queued(lost).catch(() => 0)) < 1);
    await lost.connection[Symbol.asyncDispose]();
    // As if its answer and its removal had been lost.
    const { nats, subjects } = gateway.connection;
    const job = { id: randomUUID(), labels: {}, gateway: gateway.self };
    await jetstream(nats).publish(subjects.job(queueName({})), JSON.stringify(job));
    const waiting = gateway.placer.place({}, never);
    while ((await queued(gateway)) > 1);
    await until(() => gateway.members.get(lost.self.id) === undefined);
    while ((await queued(gateway)) > 1);
    worker.slots.closed();
    assert.equal((await waiting).id, worker.self.id, "a request that somebody waits for stays");
    while ((await queued(gateway)) > 0);
    await lost[Symbol.asyncDispose]();
    await ended;
  });

  it("passes over a worker that takes no more, and waits for workers it does not know yet", async () => {
    await using server = await NatsServer.start();
    await using gateway = await GatewayNode.start(server.url, "g");
    const placed = gateway.placer.place({}, never);
    // It says that it has a slot, but does not answer.
    await using _silent = await FleetNode.open(server.url, "silent", () => ({
      ...STATE,
      slots: 9,
    }));
    await using worker = await WorkerNode.start(server.url, "w", { slots: 1 });
    assert.equal((await placed).id, worker.self.id);
    await using empty = await GatewayNode.start(server.url, "g", {});
    await assert.rejects(empty.placer.place({ labels: { gpu: "1" } }, never), {
      message: "Cannot open the session: no worker of pool 'p' has label gpu=1.",
    });
  });
});
