import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { FleetNode } from "../../../test/support/fleet-node.ts";
import { NatsServer, noNats } from "../../../test/support/nats-server.ts";
import { until } from "../../../test/support/until.ts";
import type { ConfigFlags } from "../../config/config.ts";
import { openData } from "../../config/data-folder.ts";
import { loadConfig } from "../../config/load.ts";
import { AppContext } from "../../config/app-context.ts";
import { connectFleet } from "./fleet.ts";

const isTyped = true;

async function appIn(data: string, url: string, name?: string): Promise<AppContext> {
  openData(data);
  const more: NonNullable<ConfigFlags["more"]> = [
    [["fleet", "url"], url, "--bus"],
    [["fleet", "pool"], "p", "--pool"],
    ...(name === undefined ? [] : [[["fleet", "name"], name, "--name"] as const]),
  ];
  const input = { cwd: data, env: { HOME: data }, flags: { data, more } };
  return new AppContext((await loadConfig(input)).config);
}

describe("connectFleet()", { skip: noNats, timeout: 600_000 }, () => {
  it("lets one node use a data folder, and any number of commands look at its pool", async () => {
    await using server = await NatsServer.start();
    await using folder = await SampleFolder.create();
    const { path: data } = folder;
    const app = await appIn(data, server.url);
    {
      await using _worker = await connectFleet(app, { role: "worker", isTyped });
      await using _list = await connectFleet(app, { role: "observer", isTyped });
      await assert.rejects(connectFleet(app, { role: "gateway", isTyped }), {
        code: "unavailable",
        message:
          /: another gateway or worker of a fleet uses it\. Give each node a folder of its own/,
      });
    }
    await using again = await connectFleet(app, { role: "gateway", isTyped });
    assert.ok(again.connection.isConnected);
  });
});

describe("Fleet.untilRefused()", { skip: noNats, timeout: 600_000 }, () => {
  it("leaves the pool at once if another node has the name, so that not both of them end", async () => {
    await using server = await NatsServer.start();
    // It beats more often than the other, so that it counts as the first.
    await using first = await FleetNode.open(server.url, "same", undefined, 500);
    await using folder = await SampleFolder.create();
    const app = await appIn(folder.path, server.url, "same");
    await using second = await connectFleet(app, { role: "worker", isTyped });
    second.members.join();
    await until(() => first.alive.length === 2);
    await assert.rejects(second.untilRefused(app.log), {
      code: "conflict",
      message:
        /^Cannot be node 'same': another worker of pool 'p' has that name\. Give each node a/,
    });
    // While it closes.
    await until(() => first.members.get(second.self.id) === undefined);
    assert.deepEqual(
      first.changes.filter(({ member }) => member.id === second.self.id).map(({ kind }) => kind),
      ["joined", "lost"],
    );
  });
});
