// Long: a real Prometheus, and OpenTelemetry's own messages.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { freePort } from "../support/free-port.ts";
import { OtlpReceiver } from "../support/otlp-receiver.ts";
import { Packages } from "../support/packages.ts";
import { ServedGateway } from "../support/served-gateway.ts";
import { INITIALIZE } from "../support/guarded-gateway.ts";
import { until } from "../support/until.ts";

const SERVER = join(import.meta.dirname, "../support/library-server.mjs");
const library = { command: process.execPath, args: [SERVER] };
const packages = new Packages("test/interop/otlp");

const hasPrometheus = spawnSync("prometheus", ["--version"]).error === undefined;
const skip = hasPrometheus ? false : "needs Prometheus: apt-get install prometheus";

/** What the code that protobufjs has generated of OpenTelemetry's protobuf files can do. */
interface Message {
  fromObject(json: object): object;
  toObject(message: object, options: object): object;
}

interface Generated {
  readonly default: {
    readonly opentelemetry: {
      readonly proto: {
        readonly collector: {
          readonly trace: { readonly v1: { readonly ExportTraceServiceRequest: Message } };
          readonly metrics: { readonly v1: { readonly ExportMetricsServiceRequest: Message } };
        };
      };
    };
  };
}

/** A gateway with one server, on which each kind of request was made. */
async function usedGateway(folder: string, ...more: string[]): Promise<ServedGateway> {
  const servers = `mcpServers=${JSON.stringify({ library })}`;
  const gateway = await ServedGateway.start(["--data", folder, "--set", servers, ...more]);
  await gateway.mcp(1, "tools/list");
  await gateway.mcp(2, "tools/call", { name: "read_book", arguments: {} });
  await gateway.mcp(3, "tools/call", { name: "made up", arguments: {} });
  const uri = "book://open/1";
  const named = { ...gateway.headers, "mcp-name": uri };
  const { result } = await gateway.mcp(4, "resources/read", { uri }, named);
  assert.notEqual(result, undefined);
  const prompt = await gateway.mcp(5, "prompts/get", { name: "praise" });
  assert.notEqual(prompt.result, undefined);
  return gateway;
}

describe("metrics of a gateway", { timeout: 300_000, skip }, () => {
  it("are scraped by Prometheus, whose own check finds nothing wrong with them", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-prometheus-"));
    await using gateway = await usedGateway(join(folder.path, "data"));
    const { authorization = "" } = gateway.headers;
    const port = await freePort();
    const file = join(folder.path, "prometheus.yml");
    const scrape = {
      job_name: "trunkline",
      scrape_interval: "200ms",
      scrape_timeout: "200ms",
      authorization: { credentials: authorization.replace("Bearer ", "") },
      static_configs: [{ targets: [new URL(gateway.ready.url).host] }],
    };
    // JSON is YAML, too.
    writeFileSync(file, JSON.stringify({ scrape_configs: [scrape] }));
    const text = await (
      await fetch(`${gateway.ready.url}/metrics`, { headers: gateway.headers })
    ).text();
    const check = spawnSync("promtool", ["check", "metrics"], { input: text, encoding: "utf8" });
    assert.deepEqual([check.status, check.stderr], [0, ""]);

    const prometheus = spawn(
      "prometheus",
      [
        ...["--config.file", file, "--storage.tsdb.path", join(folder.path, "tsdb")],
        ...["--web.listen-address", `127.0.0.1:${port}`, "--log.level=error"],
      ],
      { stdio: "ignore" },
    );
    const ended = once(prometheus, "exit");
    try {
      const query = async (asked: string): Promise<string | undefined> => {
        const address = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(asked)}`;
        // It may not listen yet.
        const answer = await fetch(address).catch(() => undefined);
        const { data } = ((await answer?.json().catch(() => ({}))) ?? {}) as {
          data?: { result?: { value: [number, string] }[] };
        };
        return data?.result?.[0]?.value[1];
      };
      await until(async () => (await query('up{job="trunkline"}')) === "1");
      const calls = 'trunkline_tool_call_duration_seconds_count{tool="read_book",server="library"}';
      await until(async () => (await query(calls)) === "1");
      const bucket = 'trunkline_tool_call_duration_seconds_bucket{tool="read_book",le="+Inf"}';
      assert.equal(await query(bucket), "1");
      const unknown = 'trunkline_tool_call_duration_seconds_count{tool="unknown"}';
      assert.equal(await query(unknown), "1");
    } finally {
      prometheus.kill("SIGKILL");
      await ended;
    }
  });
});

describe("telemetry of a gateway", { timeout: 300_000 }, () => {
  it("fits OpenTelemetry's own messages to the last field, as traces and as metrics", async () => {
    await packages.install();
    const { default: generated } = await packages.import<Generated>(
      ...["@opentelemetry", "otlp-transformer", "build", "src", "generated", "root.js"],
    );
    const { trace, metrics } = generated.opentelemetry.proto.collector;
    const messages = {
      traces: trace.v1.ExportTraceServiceRequest,
      metrics: metrics.v1.ExportMetricsServiceRequest,
    };
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-otlp-"));
    await using receiver = await OtlpReceiver.open();
    const otlp = { enabled: true, metrics: true, endpoint: receiver.url, content: true };
    {
      const setting = `telemetry.otlp=${JSON.stringify(otlp)}`;
      await using gateway = await usedGateway(folder.path, "--set", setting);
      // A client with a session, which the end of the gateway ends.
      const begun = await fetch(`${gateway.ready.url}/mcp`, {
        method: "POST",
        headers: {
          ...gateway.headers,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: JSON.stringify(INITIALIZE),
      });
      assert.equal(begun.status, 200, await begun.text());
    }
    const kinds = new Set(receiver.bodies.map(({ kind }) => kind));
    assert.deepEqual([...kinds].toSorted(), ["metrics", "traces"]);
    for (const { kind, body } of receiver.bodies) {
      const bytes = withBytes(body as object);
      const message = messages[kind];
      // What is not in the schema, or has another type, is missing or another value afterwards.
      const through = (json: object): unknown =>
        plain(message.toObject(message.fromObject(json), { longs: String }));
      assert.deepEqual(through(bytes), plain(bytes));
      const wrong = { ...bytes, made: "up" };
      assert.notDeepEqual(through(wrong), plain(wrong));
    }
    const names = receiver.spans.map(({ name, kind }) => `${kind} ${name}`).toSorted();
    assert.deepEqual(
      names,
      [
        ...["2 prompts/get praise", "3 prompts/get praise"],
        ...["2 resources/read", "3 resources/read"],
        ...["2 tools/call read_book", "3 tools/call read_book", "2 tools/call made up"],
      ].toSorted(),
    );
    const read = receiver.spans.find(({ name, kind }) => name === "resources/read" && kind === 2);
    const hop = receiver.spans.find(({ name, kind }) => name === "resources/read" && kind === 3);
    assert.equal(hop?.parentSpanId, read?.spanId);
    assert.equal(hop?.attributes["mcp.resource.uri"], "book://open/1");
    assert.equal(hop?.attributes["trunkline.server"], "library");
    const all = Map.groupBy(receiver.points, ({ metric }) => metric);
    const sent = all.get("mcp.client.operation.duration") ?? [];
    const methods = sent.map(({ attributes }) => attributes["mcp.method.name"]);
    for (const method of ["initialize", "tools/list", "tools/call", "resources/read"]) {
      assert.ok(methods.includes(method), methods.join());
    }
    for (const { attributes } of sent) assert.equal(attributes["trunkline.server"], "library");
    for (const name of ["mcp.client.session.duration", "mcp.server.session.duration"]) {
      assert.equal(all.get(name)?.[0]?.count, 1, name);
    }
    const asked = all.get("mcp.server.operation.duration") ?? [];
    const points = asked.map(({ attributes, count }) => {
      const { "mcp.method.name": method, "gen_ai.tool.name": tool = "" } = attributes;
      return `${String(method)} ${String(tool)} ${count}`;
    });
    assert.deepEqual(points.toSorted(), [
      "initialize  1",
      "prompts/get  1",
      "resources/read  1",
      "tools/call  1",
      "tools/call read_book 1",
      "tools/list  1",
    ]);
  });
});

/** OTLP § JSON Protobuf Encoding: ids are hexadecimal there, and bytes in protobuf. */
function withBytes(value: object): object {
  const isId = (key: string): boolean => /^(?:traceId|spanId|parentSpanId)$/.test(key);
  return JSON.parse(JSON.stringify(value), (key, item: unknown) => {
    return isId(key) ? Buffer.from(String(item), "hex") : item;
  }) as object;
}

function plain(value: object): unknown {
  return JSON.parse(
    JSON.stringify(value, (_, item: unknown) =>
      item instanceof Uint8Array ? Buffer.from(item).toString("hex") : item,
    ),
  );
}
