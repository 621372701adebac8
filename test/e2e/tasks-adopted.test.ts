import assert from "node:assert/strict";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { FixtureServer } from "../conformance/fixture-server.ts";
import { ServedGateway } from "../support/served-gateway.ts";

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const M = "io.modelcontextprotocol/";
const CAPABILITIES = { elicitation: {}, extensions: { [`${M}tasks`]: {} } };

let lastId = 0;

/** A request of a client of 2026-07-28 that takes part in tasks. */
async function ask(
  gateway: ServedGateway,
  method: string,
  params: Readonly<Record<string, unknown>>,
): Promise<Json> {
  const named = params["name"] ?? params["taskId"];
  const response = await fetch(gateway.ready.mcp, {
    method: "POST",
    headers: {
      ...gateway.headers,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(typeof named === "string" ? { "mcp-name": named } : {}),
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: ++lastId,
      method,
      params: {
        ...params,
        _meta: {
          [`${M}protocolVersion`]: "2026-07-28",
          [`${M}clientInfo`]: { name: "test", version: "1" },
          [`${M}clientCapabilities`]: CAPABILITIES,
        },
      },
    }),
  });
  const text = await response.text();
  return JSON.parse(text.startsWith("{") ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? "null"));
}

/** Asks for a task until it is over, or asks something. */
async function settled(gateway: ServedGateway, taskId: string): Promise<Json> {
  for (;;) {
    const { result, error } = await ask(gateway, "tasks/get", { taskId });
    if (error !== undefined) return error;
    if (result.status !== "working") return result;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function begin(gateway: ServedGateway, name: string, args: object = {}): Promise<string> {
  const { result, error } = await ask(gateway, "tools/call", { name, arguments: args });
  assert.equal(error, undefined);
  assert.equal(result.resultType, "task");
  return String(result.taskId);
}

describe("tasks of a gateway that is restarted", { timeout: 600_000 }, () => {
  it("go on where their server does, after it was killed and after it was stopped", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-adopted-"));
    await using server = await FixtureServer.start();
    const servers = JSON.stringify({ remote: { url: server.mcp } });
    const args = ["--data", folder.path, "--set", `mcpServers=${servers}`];

    let slow: string;
    let asking: string;
    let cancelled: string;
    {
      await using first = await ServedGateway.start(args);
      await ask(first, "tools/list", {});
      slow = await begin(first, "slow_compute", { seconds: 1, label: "tides" });
      asking = await begin(first, "multi_input");
      cancelled = await begin(first, "slow_compute", { seconds: 600, label: "x" });
      first.program.child.kill("SIGKILL");
      await first.program.exit;
    }
    {
      await using second = await ServedGateway.start(args);
      const done = await settled(second, slow);
      assert.equal(done.status, "completed");
      assert.equal(done.result.content[0].text, "computed tides");
      await ask(second, "tasks/cancel", { taskId: cancelled });
      assert.equal((await settled(second, cancelled)).status, "cancelled");
      // It goes on here, and is left again by a gateway that is stopped.
      assert.equal((await settled(second, asking)).status, "input_required");
    }
    await using third = await ServedGateway.start(args);
    const open = await settled(third, asking);
    assert.equal(open.status, "input_required");
    const answer = { action: "accept", content: { name: "Ann", confirm: true } };
    const keys = Object.keys(open.inputRequests);
    const inputResponses = Object.fromEntries(keys.map((key) => [key, answer]));
    await ask(third, "tasks/update", { taskId: asking, inputResponses });
    const answered = await settled(third, asking);
    assert.equal(answered.status, "completed");
    assert.match(answered.result.content[0].text, /Ann/);
  });
});
