import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AcpHouse } from "../../../test/support/acp-house.ts";
import { chunk } from "../../../test/support/scripted-agent.ts";

describe("a client that reads slowly", { timeout: 30_000 }, () => {
  it("is told to resume if it falls behind, and delays nobody", async () => {
    const text = "x".repeat(1000);
    await using house = await AcpHouse.open({
      script: async (turn) => {
        for (let at = 0; at < 50; at++) await turn.update(chunk(text));
      },
      sessionLimits: { backlog: { updates: 5, characters: 1_000_000 } },
    });
    const { client, sessionId } = await house.client();
    const slow = house.connect({ highWater: 2_000 });
    await slow.initialize({ _meta: { trunkline: { sequence: true } } });
    await slow.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    const release = slow.pause();
    await client.prompt(sessionId, "go");
    assert.equal(client.text.length, 50_000);
    release();
    const told = await slow.find(
      ({ params }) => params?.update?._meta?.trunkline?.lagged !== undefined,
    );
    const { after } = told.params.update._meta.trunkline.lagged as { after: number };
    assert.ok(slow.text.length < 50_000, "it was told though it had seen everything");
    const params = { sessionId, cwd: "/tmp", _meta: { trunkline: { after } } };
    await slow.ask("session/resume", params);
    assert.equal(slow.text.length, 50_000);
  });

  it("gets its answer after all updates of the turn", async () => {
    await using house = await AcpHouse.open({
      script: async (turn) => {
        for (let at = 0; at < 20; at++) await turn.update(chunk("x".repeat(1000)));
      },
    });
    const slow = house.connect({ highWater: 2_000 });
    await slow.initialize();
    const { sessionId } = await slow.ask("session/new", { cwd: "/tmp", mcpServers: [] });
    const other = house.connect();
    await other.initialize();
    await other.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    const release = slow.pause();
    const answered = slow.prompt(sessionId, "go");
    await other.find(({ params }) => params?.update?._meta?.trunkline?.turn?.state === "end_turn");
    release();
    await answered;
    assert.equal(slow.text.length, 20_000);
  });
});
