import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { FleetInProcess } from "../../../test/support/fleet-in-process.ts";
import { until } from "../../../test/support/until.ts";
import { noNats } from "../../../test/support/nats-server.ts";

describe("A gateway of a fleet without a free slot", { skip: noNats, timeout: 120_000 }, () => {
  it("tells a client that begins a session its place in the queue", async () => {
    await using fleet = await FleetInProcess.start();
    await fleet.worker("w", { slots: "1" });
    const gateway = await fleet.gateway("g");
    using first = await fleet.client(gateway);
    const params = { cwd: fleet.folder, mcpServers: [] };
    const { sessionId } = await first.ask("session/new", params);
    using second = await fleet.client(gateway);
    const id = second.send("session/new", params);
    const { params: told } = await second.until(({ messages }) =>
      messages.find(({ method }) => method === "_session/queued"),
    );
    assert.equal(told.place, 1);
    assert.match(told.message, /number 1 in the queue: the only slot of 1 worker is taken/);
    await first.ask("session/close", { sessionId });
    const { result } = await second.until(({ messages }) =>
      messages.find((each) => each.id === id),
    );
    assert.equal(typeof result.sessionId, "string");
  });
});

describe("A gateway of a fleet", { skip: noNats, timeout: 120_000 }, () => {
  it("runs but is not ready while NATS is dead, and is again afterwards", async () => {
    await using fleet = await FleetInProcess.start();
    const url = (await fleet.gateway("g")).replace("ws", "http").replace("/acp", "");
    const ask = async (path: string): Promise<readonly [number, string]> => {
      const response = await fetch(url + path);
      return [response.status, await response.text()];
    };
    assert.deepEqual(await ask("/readyz"), [200, '{"status":"ready"}']);
    await fleet.nats.kill();
    await until(async () => (await ask("/readyz"))[0] === 503);
    assert.match((await ask("/readyz"))[1], /the connection to NATS is lost/);
    assert.equal((await ask("/healthz"))[0], 200);
    await fleet.nats.restart();
    await until(async () => (await ask("/readyz"))[0] === 200);
  });
});
