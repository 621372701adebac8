import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AckPolicy, jetstream, jetstreamManager } from "@nats-io/jetstream";

import { GuardedNats } from "../../../test/support/guarded-nats.ts";
import { noNats } from "../../../test/support/nats-server.ts";
import { FleetNode } from "../../../test/support/shared-fleet.ts";
import { until } from "../../../test/support/until.ts";
import { GatewayNode, STATE, WorkerNode } from "../../../test/support/fleet-node.ts";
import { encodeBeat } from "../members/members.ts";
import { askNode } from "./node-server.ts";
import { hashToken, newToken } from "../../store/access/access-token.ts";
import { openSessionStreams } from "../store/session-streams.ts";

const NODES = [
  { pool: "p", role: "gateway", name: "g" },
  { pool: "p", role: "worker", name: "w" },
  { pool: "p", role: "worker", name: "rogue" },
  { pool: "q", role: "gateway", name: "other" },
] as const;

describe("A rogue worker", { skip: noNats, timeout: 60_000 }, () => {
  it("cannot have JetStream deliver a token of its own to the gateways", async () => {
    await using nats = await GuardedNats.start(NODES);
    const connection = await nats.connect("g");
    const { subjects } = connection;
    using _streams = await openSessionStreams(connection);
    await using gateway = await FleetNode.start(join(nats.folder, "g"), "g", connection, "gateway");
    await until(() => gateway.shared.status.isUpToDate);
    await until(() => gateway.tokensShared?.status.isUpToDate === true);
    await using rogue = await nats.connect("rogue");
    const secret = newToken();
    const token = {
      id: "00000bad",
      name: "bad",
      sha256: hashToken(secret),
      created: new Date().toISOString(),
      scopes: ["admin"],
    };
    const { nats: client } = rogue;
    const text = JSON.stringify(token);
    const manager = await jetstreamManager(client);
    const [stream = ""] = subjects.eventStreams;
    const { name } = await manager.consumers.add(stream, { ack_policy: AckPolicy.None });
    const path = `$O.${subjects.checkpoints}.C.forged`;
    await jetstream(client).publish(path, text);
    const question = `$JS.API.DIRECT.GET.OBJ_${subjects.checkpoints}.${path}`;
    // The stream of tokens has other subjects, which it does not tell a worker.
    for (const change of [
      subjects.tokenChange("x", "token", token.id),
      subjects.change("token", token.id),
    ]) {
      // JetStream delivers a stored message under the subject under which it was stored.
      await jetstream(client).publish(subjects.eventsIn(0, `token.${token.id}`), text);
      client.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`, "", { reply: change });
      // An answer to a question would be sent under the subject that the question names.
      client.publish(question, "", { reply: change });
    }
    const looks = `$JS.API.STREAM.INFO.${subjects.tokens}`;
    client.publish(looks, "");
    await until(() => nats.refused.length === 3);
    const refused = [question, question, looks].map((subject) => `rogue publish ${subject}`);
    assert.deepEqual(nats.refused, refused);
    const { streams } = await jetstreamManager(connection.nats);
    // What was aimed at the other stream was asked for first.
    await until(async () => (await streams.info(subjects.shared)).state.messages === 1);
    // Changes are applied in their order: when this one was, the forged one was too.
    await using worker = await FleetNode.start(
      join(nats.folder, "w"),
      "w",
      await nats.connect("w"),
      "worker",
    );
    const rule = { workspace: "/w", subject: "s", session: "1", by: "ada", principal: "" };
    await worker.rules.add({ ...rule, decision: "allow" });
    await until(async () => (await gateway.rules.list()).length === 1);
    assert.equal((await streams.info(subjects.tokens)).state.messages, 0);
    assert.equal(gateway.tokens.use(secret), undefined);
  });

  it("cannot tell of another node that it ends", async () => {
    await using nats = await GuardedNats.start(NODES);
    await using gateway = new GatewayNode(await nats.connect("g"), "g", { most: 10 });
    const { subjects } = gateway.connection;
    using _streams = await openSessionStreams(gateway.connection);
    await using worker = new WorkerNode(await nats.connect("w"), "w", { slots: 1 });
    await until(() => gateway.alive.includes("w"));
    await using rogue = await nats.connect("rogue");
    const { id } = worker.self;
    const beat = encodeBeat({ id, number: 0, isLeaving: true, state: STATE });
    await jetstream(rogue.nats).publish(subjects.eventsIn(0, "w"), beat);
    const manager = await jetstreamManager(rogue.nats);
    const [stream = ""] = subjects.eventStreams;
    const info = await manager.consumers.add(stream, { ack_policy: AckPolicy.None });
    rogue.nats.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${info.name}`, "", {
      reply: `${subjects.beat}.w`,
    });
    await until(async () => {
      const { delivered } = await manager.consumers.info(stream, info.name);
      return delivered.stream_seq === 1;
    });
    // What was delivered comes before what is published now.
    await gateway.connection.nats.flush();
    assert.deepEqual(
      gateway.changes.filter(({ kind }) => kind === "lost"),
      [],
    );
  });

  it("does not learn from a request where the answers to other requests go", async () => {
    await using nats = await GuardedNats.start(NODES);
    await using gateway = await nats.connect("g");
    await using rogue = await nats.connect("rogue");
    const node = { id: "1", name: "rogue" };
    const replies: string[] = [];
    rogue.nats.subscribe(rogue.subjects.request("rogue.1", "take"), {
      callback: (_, message) => {
        replies.push(message.reply ?? "");
        message.respond("{}");
      },
    });
    await rogue.nats.flush();
    for (const _ of [1, 2]) await askNode(gateway, node, "take", {});
    const inbox = `${gateway.subjects.inbox("g")}.`;
    const [one = "", two = ""] = replies.map((reply) => reply.slice(inbox.length));
    assert.match(one, /^[0-9a-f-]{36}$/);
    assert.notEqual(one.slice(0, 8), two.slice(0, 8));
  });
});

describe("The gateway of another pool", { skip: noNats, timeout: 60_000 }, () => {
  it("has streams of its own, so it can make them copy no others", async () => {
    await using nats = await GuardedNats.start(NODES);
    await using gateway = await nats.connect("g");
    using _streams = await openSessionStreams(gateway);
    await using other = await nats.connect("other");
    const manager = await jetstreamManager(other.nats);
    assert.equal((await manager.getAccountInfo()).streams, 0);
    assert.equal((await (await jetstreamManager(gateway.nats)).getAccountInfo()).streams, 19);
  });
});
