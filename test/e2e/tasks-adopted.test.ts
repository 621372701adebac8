import assert from "node:assert/strict";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { FixtureServer, STDIO_SERVER } from "../conformance/fixture-server.ts";
import { ServedGateway } from "../support/served-gateway.ts";

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const M = "io.modelcontextprotocol/";
const TASKS = { extensions: { [`${M}tasks`]: {} } };

let lastId = 0;

/** A request of a client of 2026-07-28 that takes part in tasks. */
async function ask(
  gateway: ServedGateway,
  method: string,
  params: Readonly<Record<string, unknown>>,
  capabilities: object = TASKS,
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
          [`${M}clientCapabilities`]: capabilities,
        },
      },
    }),
  });
  const text = await response.text();
  return JSON.parse(text.startsWith("{") ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? "null"));
}

/** Asks for a task until it is over, or asks something. */
async function settled(
  gateway: ServedGateway,
  taskId: string,
  capabilities?: object,
): Promise<Json> {
  for (;;) {
    const { result, error } = await ask(gateway, "tasks/get", { taskId }, capabilities);
    if (error !== undefined) return error;
    if (result.status !== "working") return result;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

class Gateways {
  readonly #args: readonly string[];

  constructor(data: string, url: string) {
    const servers = { remote: { url }, local: STDIO_SERVER };
    this.#args = ["--data", data, "--set", `mcpServers=${JSON.stringify(servers)}`];
  }

  async start(): Promise<ServedGateway> {
    const gateway = await ServedGateway.start(this.#args);
    const { result } = await ask(gateway, "tools/list", {});
    assert.ok(result.tools.some(({ name }: Json) => name === "local_slow_compute"));
    return gateway;
  }

  async end(gateway: ServedGateway, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    gateway.program.child.kill(signal);
    await gateway.program.exit;
    await gateway[Symbol.asyncDispose]();
  }
}

async function begin(gateway: ServedGateway, name: string, args: object = {}): Promise<string> {
  const capabilities = { ...TASKS, elicitation: {} };
  const { result, error } = await ask(
    gateway,
    "tools/call",
    { name, arguments: args },
    capabilities,
  );
  assert.equal(error, undefined);
  assert.equal(result.resultType, "task");
  return String(result.taskId);
}

describe("tasks of a gateway that is restarted", { timeout: 600_000 }, () => {
  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    it(`go on where their server does, after ${signal}`, async () => {
      await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-adopted-"));
      await using server = await FixtureServer.start();
      const gateways = new Gateways(folder.path, server.mcp);
      const first = await gateways.start();
      const slow = { seconds: 2, label: "tides" };
      const remote = await begin(first, "slow_compute", slow);
      const asking = await begin(first, "multi_input");
      const cancelled = await begin(first, "slow_compute", { seconds: 600, label: "x" });
      const local = await begin(first, "local_slow_compute", { seconds: 600, label: "x" });
      await gateways.end(first, signal);

      const second = await gateways.start();
      const done = await settled(second, remote);
      assert.equal(done.status, "completed");
      assert.equal(done.result.content[0].text, "computed tides");

      const capabilities = { ...TASKS, elicitation: {} };
      const open = await settled(second, asking, capabilities);
      assert.equal(open.status, "input_required");
      const answer = { action: "accept", content: { name: "Ann", confirm: true } };
      const inputResponses = Object.fromEntries(
        Object.keys(open.inputRequests).map((key) => [key, answer]),
      );
      await ask(second, "tasks/update", { taskId: asking, inputResponses }, capabilities);
      const answered = await settled(second, asking, capabilities);
      assert.equal(answered.status, "completed");
      assert.match(answered.result.content[0].text, /Ann/);

      await ask(second, "tasks/cancel", { taskId: cancelled });
      assert.equal((await settled(second, cancelled)).status, "cancelled");

      const failed = await settled(second, local);
      assert.equal(failed.status, "failed");
      assert.match(
        failed.error.message,
        /restarted while the task was working\. Call the tool again/,
      );
      assert.doesNotMatch(second.program.stderr, /"level":"error"/);
      await gateways.end(second, "SIGTERM");
    });
  }

  it("have failed in words where their server has forgotten them", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-adopted-"));
    let task: string;
    let args: Gateways;
    {
      await using server = await FixtureServer.start();
      args = new Gateways(folder.path, server.mcp);
      const first = await args.start();
      task = await begin(first, "slow_compute", { seconds: 600, label: "x" });
      await args.end(first, "SIGKILL");
    }
    await using server = await FixtureServer.start();
    args = new Gateways(folder.path, server.mcp);
    const second = await args.start();
    const { status, error } = await settled(second, task);
    assert.equal(status, "failed");
    assert.match(error.message, /'remote' does not know its task any more.*Call the tool again/);
    await args.end(second, "SIGTERM");
  });
});
