import { after, before, describe } from "node:test";

import type { FleetConnection } from "../../src/fleet/connection/connect.ts";
import { streamChannel } from "../../src/wire/channel/stream.ts";
import { connectTo } from "../support/fleet-node.ts";
import { NatsServer, noNats } from "../support/nats-server.ts";
import { NatsSocketPair } from "../support/nats-socket-pair.ts";
import { channelContract } from "./channel-contract.ts";

describe("Connections between nodes", { skip: noNats, timeout: 600_000 }, () => {
  let server: NatsServer;
  let near: FleetConnection;
  let far: FleetConnection;

  before(async () => {
    server = await NatsServer.start();
    near = await connectTo(server.url, "g");
    far = await connectTo(server.url, "w");
  });

  after(async () => {
    await near[Symbol.asyncDispose]();
    await far[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  channelContract("NATS", { canHalfClose: true }, async (limits, lastWords) => {
    const pair = await NatsSocketPair.open(near, far);
    if (lastWords !== undefined) pair.near.end(`${lastWords}\n`);
    return {
      left: streamChannel(pair.near, pair.near, { limits }),
      right: streamChannel(pair.far, pair.far, { limits }),
      [Symbol.asyncDispose]: async () => pair[Symbol.dispose](),
    };
  });
});
