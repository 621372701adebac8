import { randomUUID } from "node:crypto";
import { after, before, describe } from "node:test";

import { FleetConnection } from "../../src/fleet/connection/connect.ts";
import { NatsSocket } from "../../src/fleet/connection/nats-socket.ts";
import { Subjects } from "../../src/fleet/subjects.ts";
import { streamChannel } from "../../src/wire/channel/stream.ts";
import { NatsServer, noNats } from "../support/nats-server.ts";
import { channelContract } from "./channel-contract.ts";

describe("Connections between nodes", { skip: noNats, timeout: 60_000 }, () => {
  let server: NatsServer;
  let near: FleetConnection;
  let far: FleetConnection;

  before(async () => {
    server = await NatsServer.start();
    const common = { url: server.url, subjects: new Subjects("p") };
    near = await FleetConnection.open({ ...common, name: "gateway" });
    far = await FleetConnection.open({ ...common, name: "worker" });
  });

  after(async () => {
    await near[Symbol.asyncDispose]();
    await far[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  channelContract("NATS", { canHalfClose: true }, async (limits, lastWords) => {
    const id = randomUUID();
    const toServer = near.subjects.connection(id, "server");
    const toClient = near.subjects.connection(id, "client");
    const right = new NatsSocket(far, { incoming: toServer, outgoing: toClient });
    const left = new NatsSocket(near, { incoming: toClient, outgoing: toServer });
    await Promise.all([near.nats.flush(), far.nats.flush()]);
    if (lastWords !== undefined) left.end(`${lastWords}\n`);
    return {
      left: streamChannel(left, left, { limits }),
      right: streamChannel(right, right, { limits }),
      async [Symbol.asyncDispose]() {
        left.destroy();
        right.destroy();
      },
    };
  });
});
