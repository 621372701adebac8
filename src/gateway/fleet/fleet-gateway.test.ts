import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { FleetInProcess } from "../../../test/support/fleet-in-process.ts";
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
