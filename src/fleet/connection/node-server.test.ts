import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { connectTo } from "../../../test/support/fleet-node.ts";
import { until } from "../../../test/support/until.ts";
import { NatsServer, noNats } from "../../../test/support/nats-server.ts";
import { NodeProcess } from "../../../test/support/node-process.ts";
import { RecordingSink } from "../../../test/support/recording-sink.ts";
import { Log } from "../../base/log.ts";
import { OWNER, type Principal } from "../../base/principal.ts";
import type { FleetConnection } from "./connect.ts";
import { answerNodes, askNode, serveNode, openSocket, reachNode } from "./node-server.ts";

const NODE = { id: "1-w", name: "w" };
const SILENT = new Log("error", () => {});

describe("serveNode()", { skip: noNats, timeout: 300_000 }, () => {
  let server: NatsServer;
  let gateway: FleetConnection;
  let worker: FleetConnection;

  before(async () => {
    server = await NatsServer.start();
    gateway = await connectTo(server.url, "g");
    worker = await connectTo(server.url, "w");
  });

  after(async () => {
    await gateway[Symbol.asyncDispose]();
    await worker[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  /** A node that echoes, and that the server knows. */
  const serve = async (
    seen: Principal[] = [],
    refuse?: () => string | undefined,
  ): Promise<Disposable> => {
    const node = serveNode({
      connection: worker,
      node: NODE,
      limits: {},
      log: SILENT,
      refuse,
      serve: (channel, principal) => {
        seen.push(principal);
        return new Promise((resolve) => {
          channel.receive({
            message: (text) => channel.send(`heard ${text}`),
            fault: () => {},
            end: () => resolve(),
          });
        });
      },
    });
    await worker.nats.flush();
    return node;
  };

  it("lets a gateway connect for a principal, and ends the connections when it is disposed of", async () => {
    const seen: Principal[] = [];
    const node = await serve(seen);
    const ann: Principal = { id: "ann", scopes: ["sessions"], limits: { agents: ["goose"] } };
    await using channel = await reachNode(gateway, NODE, ann);
    const sink = new RecordingSink();
    channel.receive(sink);
    await channel.send("one");
    await channel.send("two");
    await sink.until(({ messages }) => messages.length === 2);
    assert.deepEqual(sink.messages, ["heard one", "heard two"]);
    assert.deepEqual(seen, [ann]);
    node[Symbol.dispose]();
    await sink.until(({ ends }) => ends.length > 0);
    assert.match(String(sink.ends[0]), /The other node closed the connection/);
  });

  it("refuses connections in words", async () => {
    using _node = await serve([], () => "it is draining");
    await assert.rejects(reachNode(gateway, NODE, OWNER), {
      code: "unavailable",
      message: "Cannot reach node 'w': it is draining.",
    });
  });

  it("closes a connection with an invalid greeting, and refuses an invalid request", async () => {
    const seen: Principal[] = [];
    using _node = await serve(seen);
    const socket = await openSocket(gateway, NODE);
    socket.on("error", () => {});
    socket.write("nonsense\n");
    await until(() => socket.destroyed);
    assert.deepEqual(seen, []);
    for (const open of [{}, { from: "g.*", connection: "x" }, null]) {
      await assert.rejects(askNode(gateway, NODE, "open", open), { code: "unavailable" });
    }
  });

  it("says that a node is not there, does not answer, or that NATS is away", async () => {
    await assert.rejects(reachNode(gateway, { id: "2-x", name: "x" }, OWNER), {
      code: "unavailable",
      message: "Cannot reach node 'x': it is not there.",
    });
    const silent = answerNodes(worker, NODE, "silent", () => new Promise(() => {}));
    await worker.nats.flush();
    await assert.rejects(askNode(gateway, NODE, "silent", {}), {
      message: "Cannot reach node 'w': no answer in 2 seconds.",
    });
    silent.unsubscribe();
    const closed = await connectTo(server.url, "g");
    await closed[Symbol.asyncDispose]();
    await assert.rejects(reachNode(closed, NODE, OWNER), {
      code: "unavailable",
      message: "Cannot reach node 'w': there is no connection to NATS.",
    });
  });

  it("ends the connection to a process that was killed", async () => {
    await using child = await NodeProcess.start(server.url, "killed");
    await using channel = await reachNode(gateway, child.self, OWNER);
    const sink = new RecordingSink();
    channel.receive(sink);
    await channel.send("x");
    await sink.until(({ messages }) => messages.length === 1);
    await child[Symbol.asyncDispose]();
    await sink.until(({ ends }) => ends.length > 0);
    assert.match(String(sink.ends[0]), /The other node does not answer any more/);
  });
});
