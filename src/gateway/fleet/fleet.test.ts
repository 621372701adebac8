import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { NatsServer, noNats } from "../../../test/support/nats-server.ts";
import { openData } from "../config/data-folder.ts";
import { loadConfig } from "../config/load.ts";
import { House } from "../house.ts";
import { Fleet } from "./fleet.ts";

describe("Fleet.connect()", { skip: noNats, timeout: 60_000 }, () => {
  it("lets one node use a data folder, and any number of commands look at its pool", async () => {
    await using server = await NatsServer.start();
    await using folder = await SampleFolder.create();
    const { path: data } = folder;
    openData(data);
    const more = [[["fleet", "url"], server.url, "--bus"]] as const;
    const input = { cwd: data, env: { HOME: data }, flags: { data, more: [...more] } };
    const house = new House((await loadConfig(input)).config);
    const isTyped = true;
    {
      await using _worker = await Fleet.connect(house, { role: "worker", isTyped });
      await using _list = await Fleet.connect(house, { role: "observer", isTyped });
      await assert.rejects(Fleet.connect(house, { role: "gateway", isTyped }), {
        code: "unavailable",
        message:
          /: another gateway or worker of a fleet uses it\. Give each node a folder of its own/,
      });
    }
    await using again = await Fleet.connect(house, { role: "gateway", isTyped });
    assert.ok(again.connection.isConnected);
  });
});
