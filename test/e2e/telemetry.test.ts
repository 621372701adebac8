import assert from "node:assert/strict";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";

import { AcpSocket } from "../support/acp-socket.ts";
import { OtlpReceiver } from "../support/otlp-receiver.ts";
import { ServedGateway } from "../support/served-gateway.ts";
import { until } from "../support/until.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";
const TURN_TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const LINKED = "00f067aa0ba902b7";

const PLUGIN_TRACE = "7bb1d0d3c7b24d9f8f1a2b3c4d5e6f70";

const BUILT = join(import.meta.dirname, "../../dist/trunkline.js");
const SDK = pathToFileURL(join(import.meta.dirname, "../../dist/plugin.mjs")).href;
const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");

/** A plugin whose tools call one of the program: one answers at once, the other in pieces. */
const PLUGIN = `
import { definePlugin } from ${JSON.stringify(SDK)};
const asked = ({ callTool }) => callTool("review_list").then(() => "asked", () => "refused");
definePlugin({
  id: "tools.tides",
  version: "1.0.0",
  needs: { tools: ["review_list"] },
  tools: {
    high_tide: { description: "At once", call: (_, context) => asked(context) },
    low_tide: { description: "In pieces", async *stream(_, context) { yield await asked(context); } },
  },
});
`;

describe("a gateway that is observed", { timeout: 600_000 }, () => {
  it("shows calls as traces through two gateways and a plugin, in histograms and in the log", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-telemetry-"));
    await using receiver = await OtlpReceiver.open();
    // The server behind the gateway is a gateway, too: it continues the trace.
    const otlp = { enabled: true, endpoint: receiver.url };
    const inner = [
      ...[BUILT, "mcp", "--data", join(folder.path, "inner")],
      ...["--set", `telemetry.otlp=${JSON.stringify({ ...otlp, serviceName: "inner" })}`],
    ];
    const module = join(folder.path, "tides.mjs");
    await writeFile(module, PLUGIN);
    const servers = { inner: { command: process.execPath, args: inner } };
    await using gateway = await ServedGateway.start(
      [
        ...["--data", join(folder.path, "outer"), "--set", "log.requests=true"],
        ...["--set", `mcpServers=${JSON.stringify(servers)}`],
        ...["--set", "bus.listen=tls://localhost:0"],
        ...["--set", `bus.plugins=${JSON.stringify({ "tools.tides": { module } })}`],
        ...["--set", `telemetry.otlp=${JSON.stringify({ ...otlp, serviceName: "outer" })}`],
        ...[
          "--set",
          `agents.helper=${JSON.stringify({ command: process.execPath, args: [AGENT] })}`,
        ],
      ],
      { env: { OTEL_EXPORTER_OTLP_HEADERS: "x-team=tides" } },
    );
    await gateway.mcp(1, "tools/list");
    const answer = await fetch(gateway.ready.mcp, {
      method: "POST",
      headers: {
        ...gateway.headers,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "inner_review_list",
        traceparent: `00-${TRACE}-${LINKED}-01`,
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 2,
        method: "tools/call",
        params: {
          name: "inner_review_list",
          arguments: { repository: folder.path },
          _meta: {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { name: "observer", version: "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
            traceparent: `00-${TRACE}-${SPAN}-01`,
            baggage: "user=ann",
          },
        },
      }),
    });
    assert.equal(answer.status, 200);
    await answer.text();

    const served = await receiver.span((it) => it.service === "outer" && it.kind === 2);
    const hop = await receiver.span((it) => it.service === "outer" && it.kind === 3);
    const inside = await receiver.span((it) => it.service === "inner");
    assert.deepEqual([served.traceId, served.parentSpanId], [TRACE, SPAN]);
    assert.deepEqual(served.links, [{ traceId: TRACE, spanId: LINKED }]);
    assert.deepEqual([hop.traceId, hop.parentSpanId], [TRACE, served.spanId]);
    assert.deepEqual([inside.traceId, inside.parentSpanId], [TRACE, hop.spanId]);
    assert.deepEqual(
      [hop.name, hop.attributes["trunkline.server"], inside.name],
      ["tools/call review_list", "inner", "tools/call review_list"],
    );
    assert.doesNotMatch(JSON.stringify(receiver.spans), new RegExp(folder.path));
    assert.ok(receiver.headers.some((headers) => headers["x-team"] === "tides"));

    {
      using editor = await AcpSocket.connect(`${gateway.ready.acp}?agent=helper`, gateway.headers);
      const setup = { cwd: folder.path, mcpServers: [] };
      const { sessionId } = await editor.ask("session/new", setup);
      const prompt = [{ type: "text", text: "meta" }];
      const _meta = { traceparent: `00-${TURN_TRACE}-${SPAN}-01`, tracestate: "editor=1" };
      await editor.ask("session/prompt", { sessionId, prompt, _meta });
      const turn = await receiver.span((it) => it.traceId === TURN_TRACE && it.kind === 2);
      const asked = await receiver.span((it) => it.traceId === TURN_TRACE && it.kind === 3);
      assert.deepEqual([turn.name, turn.parentSpanId], ["session/prompt helper", SPAN]);
      assert.equal(asked.parentSpanId, turn.spanId);
      const said = await editor.until(({ messages }) =>
        messages.find(({ params }) => params?.update?.content?.text?.includes("traceparent")),
      );
      assert.deepEqual(JSON.parse(said.params.update.content.text), {
        traceparent: `00-${TURN_TRACE}-${asked.spanId}-01`,
        tracestate: "editor=1",
      });
    }

    const listed = async (): Promise<string> => JSON.stringify(await gateway.mcp(5, "tools/list"));
    await until(async () => (await listed()).includes("low_tide"));
    // A plugin continues the trace, however it answers, when it calls a tool of the program.
    for (const [at, name] of ["high_tide", "low_tide"].entries()) {
      const _meta = { traceparent: `00-${PLUGIN_TRACE}-${SPAN.slice(0, -1)}${at}-01` };
      const { result } = await gateway.mcp(3 + at, "tools/call", { name, arguments: {}, _meta });
      assert.notEqual(result, undefined, gateway.program.stderr);
      const ofTool = (kind: number) =>
        receiver.span((it) => it.kind === kind && it.name === `tools/call ${name}`);
      const [called, toPlugin] = [await ofTool(2), await ofTool(3)];
      assert.deepEqual([called.traceId, toPlugin.parentSpanId], [PLUGIN_TRACE, called.spanId]);
      assert.equal(toPlugin.attributes["trunkline.plugin"], "tools.tides");
      const back = await receiver.span((it) => it.parentSpanId === toPlugin.spanId);
      assert.deepEqual(
        [back.traceId, back.name, back.attributes["trunkline.door"]],
        [PLUGIN_TRACE, "tools/call review_list", "bus"],
      );
    }

    const refused = await fetch(`${gateway.ready.url}/metrics`);
    assert.equal(refused.status, 401);
    const metrics = await fetch(`${gateway.ready.url}/metrics`, { headers: gateway.headers });
    const text = await metrics.text();
    for (const line of [
      /^trunkline_tool_call_duration_seconds_count\{tool="inner_review_list",server="inner",.*\} 1$/m,
      /^trunkline_tool_call_duration_seconds_count\{tool="low_tide",server="",plugin="tools\.tides",.*\} 1$/m,
      /^trunkline_request_duration_seconds_count\{door="mcp",method="tools\/call",outcome="ok"\} 3$/m,
      /^trunkline_sessions\{state="idle"\} 1$/m,
      /^trunkline_turn_duration_seconds_count\{agent="helper",outcome="end_turn"\} 1$/m,
      /^trunkline_telemetry_spans_total\{outcome="exported"\} [1-9]/m,
    ]) {
      assert.match(text, line);
    }

    await gateway.program.says(/"event":"request".*"method":"tools\/call".*"outcome"/);
    const [line = ""] = /^.*"method":"tools\/call".*$/m.exec(gateway.program.stderr) ?? [];
    const { door, client, tool, server } = JSON.parse(line) as Record<string, unknown>;
    assert.deepEqual(
      [door, client, tool, server],
      ["mcp", "observer", "inner_review_list", "inner"],
    );
    assert.equal(line.includes(folder.path), false);
  });
});
