import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { describe, it } from "node:test";

import { jetstreamManager } from "@nats-io/jetstream";

import { connectTo } from "../../../test/support/fleet-node.ts";
import { NatsServer, noNats } from "../../../test/support/nats-server.ts";
import { until } from "../../../test/support/until.ts";
import { FleetConnection } from "../connection/connect.ts";
import { subjectsOf } from "../subjects.ts";
import { openSessionStreams } from "./session-streams.ts";

describe("SessionStreams", { skip: noNats, timeout: 120_000 }, () => {
  it("are there again when NATS comes back without its data", async () => {
    await using server = await NatsServer.start();
    await using connection = await connectTo(server.url, "g");
    const { nats } = connection;
    using _streams = await openSessionStreams(connection);
    const manager = await jetstreamManager(nats);
    const { streams } = await manager.getAccountInfo();
    await server.kill();
    rmSync(server.data, { recursive: true });
    await server.restart();
    await until(async () => {
      const info = await manager.getAccountInfo().catch(() => undefined);
      return info?.streams === streams;
    });
  });

  it("say what to do where a single server is asked for several replicas", async () => {
    await using server = await NatsServer.start();
    const { url } = server;
    const asked = { url, subjects: subjectsOf("p"), name: "g", replicas: 3 };
    await using connection = await FleetConnection.open(asked);
    await assert.rejects(openSessionStreams(connection), {
      code: "unavailable",
      message:
        /^Cannot create the stream .*non-clustered.*Remove `fleet\.replicas` from the config/,
    });
  });
});
