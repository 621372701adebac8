import assert from "node:assert/strict";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { errors, nkeys } from "@nats-io/transport-node";

import { GatewayNode, WorkerNode } from "../../../test/support/fleet-node.ts";
import { until } from "../../../test/support/until.ts";
import { NatsServer, noNats } from "../../../test/support/nats-server.ts";
import { TestCa } from "../../../test/support/quic-certificates.ts";
import { RecordingSink } from "../../../test/support/recording-sink.ts";
import { Log } from "../../base/log.ts";
import type { Principal } from "../../base/principal.ts";
import type { Channel } from "../../wire/channel.ts";
import { Checkpoints } from "../checkpoints.ts";
import { changeStream } from "../replication/shared-store.ts";
import { FleetBudgets } from "../fleet-budgets.ts";
import { NOTHING_USED } from "../../base/limit/budget.ts";
import { openSessionStreams } from "../store/session-streams.ts";
import { subjectsOf } from "../subjects.ts";
import { FleetConnection } from "./connect.ts";
import { serveNode, reachNode } from "./node-server.ts";
import { natsSettings } from "../../../test/support/guarded-nats.ts";
import type { FleetUser } from "./credentials.ts";

const NODES = [
  { pool: "p", role: "gateway", name: "g" },
  { pool: "p", role: "worker", name: "w1" },
  { pool: "p", role: "worker", name: "w2" },
  { pool: "q", role: "gateway", name: "h" },
] as const;
const never = new AbortController().signal;
const confirm = async (): Promise<void> => {};

/** The operations that the server has refused to a node, as `publish SUBJECT` or `subscription SUBJECT`. */
class Refusals {
  readonly seen = new Set<string>();
  readonly #connection: FleetConnection;

  constructor(connection: FleetConnection) {
    this.#connection = connection;
    void this.#watch();
  }

  /** Those of these operations that are refused. */
  async of(operations: readonly string[]): Promise<string[]> {
    const { nats } = this.#connection;
    for (const operation of [...operations, "publish last"]) {
      const [verb, subject = ""] = operation.split(" ");
      if (verb === "publish") nats.publish(subject, "{}");
      else nats.subscribe(subject, { callback: () => {} });
    }
    await until(() => this.seen.has("publish last"));
    return operations.filter((operation) => this.seen.has(operation));
  }

  async #watch(): Promise<void> {
    for await (const status of this.#connection.nats.status()) {
      if (status.type !== "error") continue;
      const { error } = status;
      if (error instanceof errors.PermissionViolationError) {
        this.seen.add(`${error.operation} ${error.subject}`);
      }
    }
  }
}

describe("Permissions of a pool's nodes", { skip: noNats, timeout: 60_000 }, () => {
  let folder: Awaited<ReturnType<typeof mkdtempDisposable>>;
  let server: NatsServer;
  let caFile: string;

  before(async () => {
    folder = await mkdtempDisposable(join(tmpdir(), "trunkline-permissions-"));
    const users: FleetUser[] = [];
    for (const node of NODES) {
      const key = nkeys.createUser();
      users.push({ ...node, nkey: key.getPublicKey() });
      await writeFile(join(folder.path, node.name), key.getSeed(), { mode: 0o600 });
    }
    const ca = await TestCa.make("P-256");
    const { cert = "", key = "" } = await ca.issue("nats");
    caFile = join(folder.path, "ca.pem");
    const [certFile, keyFile] = [join(folder.path, "cert.pem"), join(folder.path, "key.pem")];
    await writeFile(caFile, ca.pem);
    await writeFile(certFile, cert);
    await writeFile(keyFile, key);
    const tls = `tls { cert_file: "${certFile}", key_file: "${keyFile}" }\n`;
    server = await NatsServer.start(tls + natsSettings(users));
  });

  after(async () => {
    await server[Symbol.asyncDispose]();
    await folder.remove();
  });

  const connect = async (name: (typeof NODES)[number]["name"]): Promise<FleetConnection> => {
    const { pool } = NODES.find((node) => node.name === name) ?? NODES[0];
    return await FleetConnection.open({
      url: server.url,
      tls: { caFile },
      credentials: join(folder.path, name),
      subjects: subjectsOf(pool),
      name,
    });
  };

  it("let gateways and workers do all they do", async () => {
    const connection = await connect("g");
    const refusals = new Refusals(connection);
    await using gateway = new GatewayNode(connection, "g", { most: 10 });
    using near = await openSessionStreams(connection);
    const heard = new Set<string>();
    await using following = near.journal.follow((id) => heard.add(id));
    await following.known;
    const farConnection = await connect("w1");
    const farRefusals = new Refusals(farConnection);
    await using worker = new WorkerNode(farConnection, "w1", { slots: 1 });

    // What all share, and audits.
    const { nats, subjects } = farConnection;
    const shared = { name: subjects.shared, subjects: [subjects.change("*", ">")] };
    const audits = { name: subjects.audits, subjects: [subjects.audit("*")] };
    for (const settings of [shared, audits]) {
      await changeStream(connection, settings).open();
      await changeStream(farConnection, settings).open();
    }
    await changeStream(connection, shared).publish(subjects.change("rule", "t"), "x");
    await changeStream(farConnection, audits).publish(subjects.audit("w1"), "x");
    for await (const { data } of changeStream(farConnection, shared).follow(0, never)) {
      assert.equal(String(data), "x");
      break;
    }

    // A slot at once, and one for which a request waits.
    assert.equal((await gateway.placer.place({}, never)).id, worker.self.id);
    worker.slots.opened();
    const placed = gateway.placer.place({}, never);
    await until(() => gateway.queue.waiting.length === 1);
    worker.slots.closed();
    assert.equal((await placed).id, worker.self.id);
    await assert.rejects(gateway.placer.place({}, AbortSignal.timeout(300)), /timeout/);

    // A connection.
    const ann: Principal = { id: "ann", scopes: ["sessions"] };
    const seen: Principal[] = [];
    using _server = serveNode({
      connection: farConnection,
      node: worker.self,
      limits: {},
      log: new Log("error", () => {}),
      serve: async (channel, principal) => {
        seen.push(principal);
        await channel.send("hello");
        await channel[Symbol.asyncDispose]();
      },
    });
    await farConnection.nats.flush();
    await using channel = await reachNode(connection, worker.self, ann);
    const sink = new RecordingSink();
    channel.receive(sink);
    await sink.until(({ messages }) => messages.length > 0);
    assert.deepEqual(seen, [ann]);

    // A worker reaches the tools of other nodes, and not their sessions.
    const log = new Log("error", () => {});
    const serve = async (tools: Channel<string>): Promise<void> => {
      await tools.send("tools");
      await tools[Symbol.asyncDispose]();
    };
    const node = gateway.self;
    using _tools = serveNode({ connection, node, service: "tools", limits: {}, log, serve });
    await connection.nats.flush();
    await using tools = await reachNode(farConnection, node, ann, { service: "tools" });
    const toolSink = new RecordingSink();
    tools.receive(toolSink);
    await toolSink.until(({ messages }) => messages.length > 0);

    // Events, records and checkpoints.
    using far = await openSessionStreams(farConnection);
    assert.ok(far.mostBytes > 0);
    await jetstream(nats).publish(subjects.event("s"), "one");
    const manager = await jetstreamManager(nats);
    await manager.streams.purge(subjects.eventStreamOf("t"), { filter: subjects.event("t") });
    const { consumers } = jetstream(connection.nats);
    const consumer = await consumers.get(subjects.eventStreamOf("s"));
    const event = await consumer.next({ expires: 60_000 });
    assert.equal(event?.string(), "one");
    await until(() => heard.has("s"));
    const kv = await new Kvm(nats).open(subjects.sessions);
    await kv.put("s", "record");
    const watched = await new Kvm(connection.nats).open(subjects.sessions);
    for await (const entry of await watched.watch()) {
      assert.equal(entry.string(), "record");
      break;
    }
    const checkpoints = new Checkpoints({ connection: farConnection, node: "n", confirm });
    const budgets = { connection: farConnection, node: "n", holder: "w1", isAlive: () => true };
    const used = { key: "k", budget: { steps: 100 }, turn: "t", isOver: false, used: NOTHING_USED };
    const pool = new FleetBudgets(budgets);
    assert.equal((await pool.settle(used)).upTo.steps, 10);
    assert.equal(await pool.alone("ann", async () => "opened"), "opened");
    const run = { workspace: "w", session: "s" };
    await checkpoints.save(run, Buffer.from("first"));
    await checkpoints.save(run, Buffer.from("packed"));
    assert.equal(String(await checkpoints.load(run, false)), "packed");
    await checkpoints.remove("w");
    assert.deepEqual([...refusals.seen, ...farRefusals.seen], []);
  });

  it("let a worker reach no other pool, no other node, and no administration", async () => {
    await using connection = await connect("w1");
    const operations = [
      ...[
        "tl.q.event.0.s",
        "tl.q.beat.w1",
        "tl.q.shared.rule.x",
        "tl.q.to.h.1.open",
        "$KV.TL_q_SESSIONS.s",
        "$O.TL_q_CHECKPOINTS.C.x",
        "$JS.API.STREAM.INFO.TL_q_EVENTS_0",
        "$JS.API.CONSUMER.CREATE.TL_q_EVENTS_0",
        "$JS.API.STREAM.MSG.GET.KV_TL_q_SESSIONS",
        // The greeting of a gateway is trusted, so nobody else may send one.
        "tl.p.to.w2.1.open",
        "tl.p.to.w1.1.open",
        "tl.p.to.g.1.drain",
        "tl.p.to.w2.1.drain",
        "tl.p.connection.w2.g.1.client",
        "tl.p.connection.w1.g.1.server",
        "tl.p.beat.w2",
        "tl.p.beat.g",
        "tl.p.inbox.g.x",
        "tl.p.job.any",
        "tl.p.tokens.x.token.t",
        "$JS.API.STREAM.INFO.TL_p_TOKENS",
        "$JS.API.CONSUMER.CREATE.TL_p_TOKENS",
        "$JS.API.STREAM.MSG.GET.TL_p_TOKENS",
        // Whoever creates a stream can have it copy any other.
        "$JS.API.STREAM.CREATE.OBJ_TL_p_CHECKPOINTS",
        "$JS.API.DIRECT.GET.TL_p_EVENTS_0",
        "tl.p.audit.w2",
        "$JS.API.STREAM.CREATE.TL_p_EVENTS_0",
        "$JS.API.STREAM.UPDATE.TL_p_EVENTS_0",
        "$JS.API.STREAM.DELETE.TL_p_EVENTS_0",
        "$JS.API.STREAM.PURGE.KV_TL_p_SESSIONS",
        "$JS.API.STREAM.MSG.DELETE.TL_p_EVENTS_0",
        "$JS.API.STREAM.SNAPSHOT.TL_p_EVENTS_0",
        "$JS.API.STREAM.LIST",
        "$JS.API.STREAM.NAMES",
        "$JS.API.STREAM.CREATE.OTHER",
        "$JS.API.CONSUMER.CREATE.TL_p_JOBS",
        "$JS.API.CONSUMER.DELETE.TL_p_JOBS.any",
        "$SYS.REQ.SERVER.PING",
      ].map((subject) => `publish ${subject}`),
      ...[
        ">",
        "tl.>",
        "tl.p.>",
        "tl.q.event.>",
        "tl.q.beat.*",
        "tl.p.to.w2.>",
        "tl.p.to.>",
        "tl.p.inbox.w2.>",
        "tl.p.inbox.g.>",
        "_INBOX.>",
        "tl.p.connection.w2.*.*.server",
        "tl.p.connection.w1.*.*.client",
        "tl.p.offer.>",
        "tl.p.event.>",
        "tl.p.job.*",
        "$JS.API.>",
      ].map((subject) => `subscription ${subject}`),
    ];
    assert.deepEqual(await new Refusals(connection).of(operations), operations);
  });

  it("let a gateway reach no other pool, no other gateway's connections, and no events of workers", async () => {
    await using connection = await connect("g");
    const operations = [
      ...[
        "tl.q.to.w.1.open",
        "tl.q.job.any",
        "tl.q.tokens.x.token.t",
        "$JS.API.STREAM.CREATE.TL_q_EVENTS_0",
        "tl.p.event.0.s",
        "tl.p.audit.w1",
        "tl.p.beat.w1",
        "tl.p.inbox.w1.x",
        "tl.p.connection.w1.g2.1.server",
        "tl.p.connection.w1.g.1.client",
        "tl.p.offer.g.1.1",
        // Sessions and checkpoints are the workers'.
        "$KV.TL_p_SESSIONS.s",
        "$KV.TL_p_BUDGETS.s",
        "$O.TL_p_CHECKPOINTS.C.x",
        "$JS.API.STREAM.MSG.GET.OBJ_TL_p_CHECKPOINTS",
        "$JS.API.CONSUMER.CREATE.OBJ_TL_p_CHECKPOINTS",
        "$JS.API.CONSUMER.MSG.NEXT.TL_p_JOBS.any",
        ...["EVENTS_0", "SHARED", "TOKENS", "AUDITS", "JOBS"].map(
          (stream) => `$JS.API.STREAM.PURGE.TL_p_${stream}`,
        ),
        "$JS.API.STREAM.PURGE.KV_TL_p_SESSIONS",
        "$JS.API.STREAM.PURGE.OBJ_TL_p_CHECKPOINTS",
        "$JS.API.STREAM.DELETE.TL_p_EVENTS_0",
        "$JS.API.STREAM.LIST",
      ].map((subject) => `publish ${subject}`),
      ...[
        ">",
        "tl.p.>",
        "tl.q.beat.*",
        "tl.p.to.w1.>",
        "tl.p.inbox.w1.>",
        "tl.p.connection.w1.g2.*.client",
        "tl.p.connection.*.g.*.server",
        "tl.p.offer.g2.>",
        "tl.p.event.>",
      ].map((subject) => `subscription ${subject}`),
    ];
    assert.deepEqual(await new Refusals(connection).of(operations), operations);
  });

  it("give a worker no way round: what JetStream delivers to a node is no request", async () => {
    const connection = await connect("w1");
    await using worker = new WorkerNode(connection, "w1", { slots: 1 });
    await using rogue = await connect("w2");
    const { nats, subjects } = rogue;
    await using gateway = await connect("g");
    using _streams = await openSessionStreams(gateway);
    const take = subjects.request(`w1.${worker.self.id}`, "take");
    await jetstream(nats).publish(subjects.event("forged"), "{}");
    const received = connection.nats.stats().inMsgs;
    const manager = await jetstreamManager(nats);
    await manager.consumers.add(subjects.eventStreamOf("forged"), {
      deliver_subject: take,
      filter_subject: subjects.event("forged"),
    });
    // Its own beats come as well.
    await until(() => connection.nats.stats().inMsgs > received + 5);
    assert.equal(worker.slots.used, 0);
  });
});
