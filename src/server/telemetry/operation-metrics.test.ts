import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { OtlpReceiver } from "../../../test/support/otlp-receiver.ts";
import { SampleContext, sampleTool } from "../../../test/samples/sample-context.ts";
import type { EndedRequest } from "../../rpc/peer-options.ts";
import type { CallEnd } from "../../tool/call-observer.ts";
import { textResult } from "../../tool/tool.ts";
import { operationMetrics, openMetrics } from "./open-telemetry.ts";

const READ: EndedRequest = { method: "resources/read", params: {}, state: {}, milliseconds: 30 };

/** A call of the tool `echo`. */
function call(
  all: ReturnType<typeof operationMetrics>,
  end: Partial<CallEnd> = {},
  name = "echo",
  door = "mcp",
): void {
  const context = new SampleContext({ caller: { door } });
  const tool = name === "echo" ? sampleTool(name, () => textResult("")) : undefined;
  const ended = { outcome: "ok", reason: undefined, milliseconds: 30, result: undefined } as const;
  all.calls.ended({ name, args: {}, context, tool }, { ...ended, ...end });
}

describe("metrics of operations", () => {
  it("have the names and attributes of the conventions", () => {
    const all = operationMetrics();
    assert.equal(all.snapshot(), undefined);
    const observe = all.requests("mcp");
    observe(READ);
    observe({ ...READ, error: -32_002 });
    observe({ ...READ, method: "made/up", error: -32_601 });
    observe({ ...READ, method: "tools/call" });
    all.requests("acp")(READ);
    call(all);
    call(all, { milliseconds: 400_000 });
    call(all, { outcome: "error" });
    call(all, { outcome: "refused" }, "made up");
    call(all, {}, "echo", "bus");
    const [metric, ...more] = all.snapshot()?.metrics ?? [];
    assert.deepEqual([metric?.name, more.length], ["mcp.server.operation.duration", 0]);
    const seen = metric?.series.map(({ attributes }) => JSON.parse(JSON.stringify(attributes)));
    const echo = { "mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool" };
    assert.deepEqual(seen, [
      { "mcp.method.name": "resources/read" },
      { "mcp.method.name": "resources/read", "error.type": "error" },
      { "mcp.method.name": "_OTHER", "error.type": "error" },
      { ...echo, "gen_ai.tool.name": "echo" },
      { ...echo, "gen_ai.tool.name": "echo", "error.type": "tool_error" },
      { ...echo, "error.type": "refused" },
    ]);
    const twice = metric?.series[3];
    assert.equal(twice?.counts.at(-1), 1, "above all bounds");
    assert.equal(twice?.sum, 400.03);
  });

  it("tell of requests to other servers, and of sessions on both sides", () => {
    const all = operationMetrics();
    const request = { server: "files", method: "tools/list", milliseconds: 15, error: undefined };
    all.more.sent?.({ ...request, tool: undefined });
    all.more.sent?.({ ...request, method: "tools/call", tool: "read", error: "tool_error" });
    const revision = "2025-11-25";
    all.more.sessionOver?.({ as: "client", server: "files", revision, milliseconds: 90_000 });
    all.more.sessionOver?.({ as: "server", revision, milliseconds: 400_000 });
    const { metrics, bounds } = all.snapshot() ?? {};
    assert.deepEqual(bounds, [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]);
    const seen = metrics?.map(({ name, series }) => [
      name,
      ...series.map(({ attributes, counts }) => [
        counts.indexOf(1),
        JSON.parse(JSON.stringify(attributes)),
      ]),
    ]);
    const server = { "trunkline.server": "files" };
    const version = { "mcp.protocol.version": revision };
    const call = { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read" };
    assert.deepEqual(seen, [
      ["mcp.server.session.duration", [14, version]],
      [
        "mcp.client.operation.duration",
        [1, { "mcp.method.name": "tools/list", ...server }],
        [1, { "mcp.method.name": "tools/call", ...call, "error.type": "tool_error", ...server }],
      ],
      ["mcp.client.session.duration", [12, { ...version, ...server }]],
    ]);
  });

  it("are sent at the end, counting from the start", async () => {
    await using receiver = await OtlpReceiver.open();
    const sent = openMetrics({
      settings: { endpoint: receiver.url },
      env: {},
      resolve: async (headers) => headers,
      report: () => {},
    });
    sent.requests?.("mcp")(READ);
    await sent.flush?.();
    sent.requests?.("mcp")(READ);
    await sent.flush?.();
    const [point] = receiver.points;
    assert.deepEqual([point?.count, point?.sum], [2, 0.06]);
  });
});
