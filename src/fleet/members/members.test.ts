import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { connectTo, FAST_BEATS, FleetNode, STATE } from "../../../test/support/fleet-node.ts";
import { NatsServer, noNats } from "../../../test/support/nats-server.ts";
import { NodeProcess } from "../../../test/support/node-process.ts";
import { until } from "../../../test/support/until.ts";
import { type Beat, encodeBeat, readBeat } from "./members.ts";

const BEAT: Beat = {
  id: "1-a",
  number: 7,
  isLeaving: true,
  state: {
    role: "worker",
    version: "1.2.3",
    url: "https://example.org",
    slots: 4,
    used: 2,
    labels: { gpu: "1" },
    warm: ["a", "b"],
    isDraining: true,
    isDrained: true,
    sessions: 3,
    tools: 2,
    waiting: [{ labels: { gpu: "1" }, count: 5 }],
  },
};

describe("Beats", () => {
  it("are read as they were written", () => {
    assert.deepEqual(readBeat(encodeBeat(BEAT)), BEAT);
  });

  it("name a bounded number of warm repositories", () => {
    const warm = Array.from({ length: 5000 }, (_, index) => `repository ${index}`);
    const text = encodeBeat({ ...BEAT, state: { ...BEAT.state, warm } });
    assert.equal(readBeat(text)?.state.warm.length, 100);
  });

  it("may come from another version, which tells more, less or something else", () => {
    const text = JSON.stringify({
      id: "1-a",
      new: true,
      state: { role: "worker", labels: { gpu: 1 }, warm: [1, "a"], waiting: [null], slots: "x" },
    });
    assert.deepEqual(readBeat(text)?.state, {
      role: "worker",
      version: "0.0.0",
      url: undefined,
      slots: 0,
      used: 0,
      labels: {},
      warm: ["a"],
      isDraining: false,
      isDrained: false,
      sessions: 0,
      tools: 0,
      waiting: [{ labels: {}, count: 0 }],
    });
  });

  it("of a node that means harm are read as far as they make sense", () => {
    const labels = { gpu: "yes", bad: { toString: 1 }, long: "x".repeat(10_000) };
    const waiting = [{ labels: { bad: { valueOf: null } }, count: -5 }];
    const state = { role: "worker", labels, waiting, used: -1, url: "u".repeat(10_000) };
    const text = JSON.stringify({ id: "1-a", number: 1, state }).replace("-1", "1e999");
    const read = readBeat(text)?.state;
    assert.deepEqual(read?.labels, { gpu: "yes" });
    assert.deepEqual(read?.waiting, [{ labels: {}, count: 0 }]);
    assert.deepEqual([read?.used, read?.url], [0, undefined]);
    for (const id of ["a.b", "*", ">", "a b", "", "x".repeat(100)]) {
      assert.equal(readBeat(JSON.stringify({ id, state })), undefined, id);
    }
  });

  it("are nothing else", () => {
    for (const text of ["", "nonsense", "null", "7", "{}", '{"id":"1-a","state":{"role":"spy"}}']) {
      assert.equal(readBeat(text), undefined, text);
    }
  });
});

const WORKER = {
  ...STATE,
  slots: 4,
  used: 1,
  labels: { gpu: "1" },
  warm: ["a"],
  sessions: 1,
  isDrained: false,
  tools: 2,
};

describe("Members", { skip: noNats, timeout: 300_000 }, () => {
  it("knows who is alive, what they tell, and who leaves", async () => {
    await using server = await NatsServer.start();
    await using gateway = await FleetNode.open(server.url, "g");
    let [used, isDrained] = [1, false];
    const state = () => ({ ...WORKER, used, isDrained });
    await using worker = await FleetNode.open(server.url, "w", state);
    await until(() => gateway.alive.length === 2);
    const { id } = worker.self;
    assert.deepEqual(gateway.members.get(id), { ...WORKER, url: undefined, id, name: "w" });
    used = 2;
    worker.members.tell();
    await until(() => gateway.members.get(id)?.used === 2);
    isDrained = true;
    await worker[Symbol.asyncDispose]();
    await until(() => gateway.members.get(id) === undefined);
    const changes = gateway.changes.filter(({ member }) => member.name === "w");
    assert.deepEqual(
      changes.map(({ kind }) => kind),
      ["joined", "changed", "lost"],
    );
    assert.equal(changes.at(-1)?.member.isDrained, true);
  });

  it("tells a node of another with its name, and which of them was there first", async () => {
    await using server = await NatsServer.start();
    await using first = await FleetNode.open(server.url, "w");
    await until(() => first.members.isReady);
    await using second = await FleetNode.open(server.url, "w");
    const [later, earlier] = await Promise.all([first.members.twin, second.members.twin]);
    assert.deepEqual([later.member.id, later.wasFirst], [second.self.id, false]);
    assert.deepEqual([earlier.member.id, earlier.wasFirst], [first.self.id, true]);
  });

  it("takes the end of its own earlier process for no other node", async () => {
    await using server = await NatsServer.start();
    await using earlier = await FleetNode.open(server.url, "w");
    await using later = new FleetNode(await connectTo(server.url, "w"), "w");
    await until(() => later.members.get(earlier.self.id) !== undefined);
    await earlier.connection[Symbol.asyncDispose]();
    later.members.join();
    const lost = until(() => later.members.isReady && later.alive.length === 1);
    await Promise.race([lost, later.members.twin.then(() => assert.fail("It is no other node"))]);
  });

  it("loses a node that falls silent, and no other", async () => {
    await using server = await NatsServer.start();
    await using gateway = await FleetNode.open(server.url, "g");
    await using _other = await FleetNode.open(server.url, "other");
    await using worker = await FleetNode.open(server.url, "w");
    await until(() => gateway.alive.length === 3);
    const gone = gateway.members.untilGone(worker.self.id);
    assert.equal(gone?.aborted, false);
    await worker.connection[Symbol.asyncDispose]();
    await until(() => gateway.alive.length === 2);
    assert.deepEqual(gateway.alive, ["g", "other"]);
    assert.equal(gone?.aborted, true);
    assert.equal(gateway.members.untilGone(worker.self.id), undefined);
  });

  it("loses a node sooner whose connection is closed, and not one that is only silent", async () => {
    await using server = await NatsServer.start();
    await using plain = await FleetNode.open(server.url, "plain", undefined, 300);
    await using asking = new FleetNode(await connectTo(server.url, "g"), "g", undefined, 300, true);
    asking.members.join();
    await using closed = await FleetNode.open(server.url, "closed");
    // It answers, but does not beat.
    await using silent = new FleetNode(await connectTo(server.url, "silent"), "silent");
    const beat = { id: silent.self.id, number: 1, isLeaving: false, state: STATE };
    const subject = `${silent.connection.subjects.beat}.silent`;
    const telling = setInterval(() => {
      silent.connection.nats.publish(subject, encodeBeat(beat));
    }, FAST_BEATS);
    await until(() =>
      [plain, asking].every(({ alive, members }) => alive.length === 4 && members.isReady),
    );
    clearInterval(telling);
    await closed.connection[Symbol.asyncDispose]();
    const isLost = ({ changes }: FleetNode, name: string): boolean =>
      changes.some(({ kind, member }) => kind === "lost" && member.name === name);
    await until(() => isLost(asking, "closed"));
    assert.deepEqual([isLost(plain, "closed"), isLost(asking, "silent")], [false, false]);
    plain.members.doubt(closed.self.id);
    assert.ok(isLost(plain, "closed"), "others believe it then");
    await until(() => isLost(asking, "silent") && isLost(plain, "silent"));
  });

  it("believes another node that a silent member is dead, and not that one is which it hears", async () => {
    await using server = await NatsServer.start();
    await using worker = await FleetNode.open(server.url, "w", undefined, 300);
    await using silent = await FleetNode.open(server.url, "silent");
    await until(() => worker.alive.length === 2 && worker.members.isReady);
    worker.members.doubt(silent.self.id);
    assert.deepEqual(worker.alive, ["silent", "w"]);
    await silent.connection[Symbol.asyncDispose]();
    let isDoubted = false;
    const { promise: lost, resolve } = Promise.withResolvers<boolean>();
    worker.members.onChange(({ kind }) => kind === "lost" && resolve(isDoubted));
    // Each of our own beats tells that time has passed.
    worker.connection.nats.subscribe(`${worker.connection.subjects.beat}.w`, {
      callback: () => {
        isDoubted = true;
        worker.members.doubt(silent.self.id);
        isDoubted = false;
      },
    });
    assert.ok(await lost, "it was lost before it was doubted");
    assert.deepEqual(worker.alive, ["w"]);
  });

  it("counts no time in which NATS was paused", async () => {
    await using server = await NatsServer.start();
    await using gateway = await FleetNode.open(server.url, "g");
    await using worker = await FleetNode.open(server.url, "w");
    await until(() => gateway.members.isReady && worker.members.isReady);
    await server.pause();
    await delay(FAST_BEATS * 20);
    server.resume();
    // Both have beaten several times meanwhile, and all these beats come now, in any order.
    const { inMsgs } = gateway.connection.nats.stats();
    await until(() => gateway.connection.nats.stats().inMsgs > inMsgs + 20);
    const kinds = gateway.changes.map(({ kind, member }) => `${kind} ${member.name}`);
    assert.deepEqual(kinds, ["joined g", "joined w"]);
  });

  it("counts no time in which NATS was away", async () => {
    await using server = await NatsServer.start();
    // On one connection, so that both are back at the same time.
    await using gateway = await FleetNode.open(server.url, "g");
    await using worker = new FleetNode(gateway.connection, "w");
    worker.members.join();
    await until(() => gateway.members.isReady && worker.members.isReady);
    await server.kill();
    await until(() => !gateway.connection.isConnected);
    await delay(FAST_BEATS * 20);
    await server.restart();
    await until(() => gateway.connection.isConnected);
    const { inMsgs } = gateway.connection.nats.stats();
    await until(() => gateway.connection.nats.stats().inMsgs > inMsgs + 20);
    const kinds = gateway.changes.map(({ kind, member }) => `${kind} ${member.name}`);
    assert.deepEqual(kinds, ["joined g", "joined w"]);
  });

  it("loses a process that was stopped, but none while it was stopped itself", async () => {
    await using server = await NatsServer.start();
    // Slower than the other one, which may have to wait for a busy machine.
    const slow = FAST_BEATS * 6;
    await using gateway = await FleetNode.open(server.url, "g", undefined, slow);
    await using child = await NodeProcess.start(server.url, "stopped");
    const { id } = child.self;
    await until(() => gateway.members.get(id) !== undefined);
    child.signal("SIGSTOP");
    await until(() => gateway.members.get(id) === undefined);
    child.signal("SIGCONT");
    await until(() => gateway.members.get(id) !== undefined);
    const changes = gateway.changes.length;
    // Nothing runs in this process meanwhile.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, slow * 6);
    await delay(slow);
    assert.equal(gateway.changes.length, changes);
  });

  it("knows nothing of a node that it did not hear, until it has listened long enough", async () => {
    await using server = await NatsServer.start();
    await using worker = await FleetNode.open(server.url, "w");
    await using gateway = await FleetNode.open(server.url, "g");
    assert.equal(gateway.members.isReady, false);
    const stop = AbortSignal.abort(new Error("enough"));
    await assert.rejects(gateway.members.find("1-unknown", stop), /enough/);
    assert.equal((await gateway.members.find(worker.self.id))?.name, "w");
    assert.equal(gateway.members.isReady, false, "it waits no longer than it has to");
    assert.equal(await gateway.members.find("1-unknown"), undefined);
    assert.equal(gateway.members.isReady, true);
  });

  it("believes another node that one is dead which it did not hear since it started", async () => {
    await using server = await NatsServer.start();
    await using other = await FleetNode.open(server.url, "other");
    await using worker = await FleetNode.open(server.url, "w", undefined, 60_000);
    const { members } = worker;
    await until(() => worker.alive.length === 2);
    assert.ok(members.mayLive("1-dead"));
    members.doubt("1-dead");
    members.doubt(other.self.id);
    assert.equal(await members.find("1-dead"), undefined);
    assert.equal(members.mayLive("1-dead"), false);
    assert.equal(members.isReady, false);
    assert.ok(members.mayLive(other.self.id), "it hears that one");
  });

  it("hears observers, which are no members, and believes the server who a beat is from", async () => {
    await using server = await NatsServer.start();
    const observer = () => ({ ...STATE, role: "observer" as const });
    await using command = await FleetNode.open(server.url, "command", observer);
    await using worker = await FleetNode.open(server.url, "w");
    await until(() => command.members.isReady);
    assert.deepEqual(command.alive, ["w"]);
    // Another node pretends that the worker leaves.
    const { nats, subjects } = command.connection;
    const beat = { id: worker.self.id, number: 0, isLeaving: true, state: STATE };
    nats.publish(`${subjects.beat}.rogue`, encodeBeat(beat));
    nats.publish(`${subjects.beat}.rogue`, "nonsense");
    await nats.flush();
    assert.deepEqual(command.alive, ["w"]);
  });
});
