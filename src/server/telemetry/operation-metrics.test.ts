import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { OtlpReceiver } from "../../../test/support/otlp-receiver.ts";
import { SampleContext, sampleTool } from "../../../test/samples/sample-context.ts";
import type { EndedRequest } from "../../rpc/peer-options.ts";
import { textResult } from "../../tool/tool.ts";
import { openMetrics } from "./open-telemetry.ts";
import { OperationMetrics } from "./operation-metrics.ts";

const CALL: EndedRequest = {
  method: "tools/call",
  params: { name: "echo", arguments: {} },
  state: {},
  milliseconds: 30,
  result: { content: [] },
};

/** Metrics that know the tool `echo`. */
function metrics(): OperationMetrics {
  const known = new OperationMetrics();
  const context = new SampleContext();
  const tool = sampleTool("echo", () => textResult(""));
  const call = { name: "echo", args: {}, context, tool };
  known.calls.ended(call, { outcome: "ok", reason: undefined, milliseconds: 1, result: undefined });
  return known;
}

function seriesOf(all: OperationMetrics) {
  return all.snapshot()?.metrics.flatMap(({ series }) => series) ?? [];
}

describe("metrics of operations", () => {
  it("have the names, attributes and bounds of the conventions", () => {
    const all = metrics();
    assert.equal(all.snapshot(), undefined);
    const observe = all.requests("mcp");
    observe(CALL);
    observe({ ...CALL, milliseconds: 400_000 });
    observe({ ...CALL, result: { isError: true } });
    observe({ ...CALL, error: -32602 });
    observe({ ...CALL, method: "resources/read", params: { uri: "a:b" } });
    all.requests("acp")(CALL);
    const { bounds = [], metrics: named = [] } = all.snapshot() ?? {};
    assert.deepEqual([bounds[0], bounds.at(-1), named.length], [0.01, 300, 1]);
    assert.equal(named[0]?.name, "mcp.server.operation.duration");
    const [ok, failed, wrong, read, ...more] = seriesOf(all);
    assert.deepEqual(more, []);
    const echo = { "mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool" };
    const bare = (attributes: object): unknown => JSON.parse(JSON.stringify(attributes));
    assert.deepEqual(bare(ok?.attributes ?? {}), { ...echo, "gen_ai.tool.name": "echo" });
    assert.equal(ok?.counts[2], 1);
    assert.equal(ok?.counts.at(-1), 1, "above all bounds");
    assert.deepEqual([ok?.min, ok?.max, ok?.sum], [0.03, 400, 400.03]);
    assert.equal(failed?.attributes["error.type"], "tool_error");
    assert.equal(wrong?.attributes["rpc.response.status_code"], "-32602");
    assert.deepEqual(bare(read?.attributes ?? {}), { "mcp.method.name": "resources/read" });
  });

  it("do not grow with the names that clients make up", () => {
    const all = metrics();
    const observe = all.requests("mcp");
    for (let at = 0; at < 600; at++) observe({ ...CALL, params: { name: `made up ${at}` } });
    assert.equal(seriesOf(all).length, 1);
    for (let at = 0; at < 600; at++) observe({ ...CALL, method: `m/${at}`, error: -32601 });
    assert.equal(seriesOf(all).length, 2);
    for (let at = 0; at < 600; at++) observe({ ...CALL, error: at });
    const full = seriesOf(all);
    assert.equal(full.length, 501);
    assert.deepEqual(full.at(-1)?.attributes, { "otel.metric.overflow": true });
    assert.equal(
      full.at(-1)?.counts.reduce((one, other) => one + other),
      102,
    );
  });

  it("are sent at the end, counting from the start", async () => {
    await using receiver = await OtlpReceiver.open();
    const sent = openMetrics({
      settings: { endpoint: receiver.url },
      env: {},
      resolve: async (headers) => headers,
      report: () => {},
    });
    sent.requests?.("mcp")(CALL);
    await sent.flush?.();
    sent.requests?.("mcp")(CALL);
    await sent.flush?.();
    const [point] = receiver.points;
    assert.deepEqual([point?.count, point?.sum], [2, 0.06]);
  });
});
