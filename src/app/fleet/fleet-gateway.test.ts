import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { promptOf } from "../../../test/support/acp-socket.ts";
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

describe("Limits of a fleet", { skip: noNats, timeout: 120_000 }, () => {
  it("hold for sessions that are opened at several workers at once", async () => {
    await using fleet = await FleetInProcess.start({ sessions: { concurrent: 1 } });
    for (const name of ["w1", "w2", "w3"]) await fleet.worker(name);
    const gateways = [await fleet.gateway("g1"), await fleet.gateway("g2")];
    for (const gateway of gateways) {
      const metrics = gateway.replace("ws", "http").replace("/acp", "/metrics");
      await until(async () => /nodes\{role="worker"\} 3/.test(await (await fetch(metrics)).text()));
    }
    const asked = [...gateways, ...gateways, ...gateways].map(async (gateway) => {
      using client = await fleet.client(gateway);
      const { result, error } = await client.answer("session/new", {
        cwd: fleet.folder,
        mcpServers: [],
      });
      return result === undefined ? error?.message : "open";
    });
    const answers = await Promise.all(asked);
    assert.equal(answers.filter((each) => each === "open").length, 1, answers.join("\n"));
    const refused = answers.filter((each) => /1 session is open, and 1 may be/.test(String(each)));
    assert.equal(refused.length, 5, answers.join("\n"));
  });

  it("count what is used at all workers", async () => {
    const dailyBudget = { tokens: 1_000 };
    await using fleet = await FleetInProcess.start({ sessions: { dailyBudget } });
    for (const name of ["w1", "w2"]) await fleet.worker(name, { slots: "1" });
    using client = await fleet.client(await fleet.gateway("g"));
    const params = { cwd: fleet.folder, mcpServers: [] };
    const one = await client.ask("session/new", params);
    const other = await client.ask("session/new", params);
    const update = { sessionUpdate: "usage_update", used: 600, size: 100_000 };
    const report = {
      jsonrpc: "2.0",
      method: "session/update",
      params: { sessionId: "SESSION", update },
    };
    const use = `raw ${JSON.stringify(report)}`;
    await client.ask("session/prompt", promptOf(one.sessionId, use));
    const { _meta } = await client.ask("session/prompt", promptOf(other.sessionId, use));
    assert.equal(_meta.trunkline.budget.day.tokens.used, 1_200);
    await assert.rejects(
      client.ask("session/prompt", promptOf(one.sessionId, "say more")),
      /1,200 of 1,000 tokens of today's budget are used/,
    );
  });
});
