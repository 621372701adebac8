// Long: lists and documents of several megabytes.
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";
import { HttpServer, json } from "../../../test/upstream/http-server.ts";

const SERVER = join(import.meta.dirname, "../../../test/support/long-list-server.mjs");

function open(env: Record<string, string> = {}): Promise<SampleCommandLine> {
  const long = { command: process.execPath, args: [SERVER], env };
  return SampleCommandLine.create({ mcpServers: { long } });
}

describe("a server with a long list of tools", { timeout: 120_000 }, () => {
  it("is offered as a whole, and its last tool can be called", async () => {
    await using line = await open();
    const tested = await line.run("server", "test", "long");
    assert.match(tested.out, /'long' works: 600 tools/, tested.err);
    const listed = await line.run("tool", "list", "--json");
    const { tools } = JSON.parse(listed.out) as { tools: { source: string }[] };
    assert.equal(tools.filter(({ source }) => source === "long").length, 600);
    const called = await line.run("tool", "call", "tool_599");
    assert.match(called.out, /tool_599/);
  });

  it("is offered over HTTP, with the id of the answer at its end", async () => {
    const tools = Array.from({ length: 3_000 }, (_, index) => {
      const properties = { [`a${index}`]: { type: "string" }, [`b${index}`]: { enum: [1, 2, 3] } };
      return { name: `tool_${index}`, inputSchema: { type: "object", properties } };
    });
    await using server = await HttpServer.open((exchange) => {
      const { id, method } = exchange.message;
      if (method === "initialize") {
        const [protocolVersion, serverInfo] = ["2025-11-25", { name: "long", version: "1" }];
        json(exchange, { protocolVersion, capabilities: { tools: {} }, serverInfo });
      } else if (method === "tools/list") {
        exchange.response.writeHead(200, { "content-type": "application/json" });
        exchange.response.end(JSON.stringify({ result: { tools }, jsonrpc: "2.0", id }));
      } else exchange.response.writeHead(id === undefined ? 202 : 405).end();
    });
    await using line = await SampleCommandLine.create({
      mcpServers: { long: { url: server.url.href } },
    });
    const tested = await line.run("server", "test", "long");
    assert.match(tested.out, /'long' works: 3000 tools/, tested.err);
  });

  it("is offered where it is an OpenAPI document, such as that of GitHub", async () => {
    await using line = await SampleCommandLine.create({
      mcpServers: { api: { openapi: "./api.json" } },
    });
    await line.home.write(line.home.userFile.replace("config.jsonc", "api.json"), largeDocument());
    const tested = await line.run("server", "test", "api");
    assert.match(tested.out, /'api' works: 1100 tools/, tested.err);
  });
});

/** As large as that of GitHub, and of the same shape. */
function largeDocument(): string {
  const text = (what: string): object => ({ type: "string", description: `${what}, in words.` });
  const schemas = Array.from({ length: 900 }, (_, index) => {
    const fields = Array.from({ length: 40 }, (__, at) => [`f${index}_${at}`, text("A field")]);
    const other = { $ref: `#/components/schemas/s${(index * 7) % 900}` };
    return [`s${index}`, { type: "object", properties: { other, ...Object.fromEntries(fields) } }];
  });
  const paths = Array.from({ length: 1_100 }, (_, index) => {
    const fields = Array.from({ length: 10 }, (__, at) => [`p${index}_${at}`, text("A property")]);
    const schema = { type: "object", properties: Object.fromEntries(fields) };
    const content = { "application/json": { schema } };
    const answer = { schema: { $ref: `#/components/schemas/s${index % 900}` } };
    const operation = {
      operationId: `things/op-${index}`,
      description: "What it does. ".repeat(200),
      requestBody: { content },
      responses: { 200: { description: "ok", content: { "application/json": answer } } },
    };
    return [`/repos/{owner}/thing-${index}`, { post: operation }];
  });
  return JSON.stringify({
    openapi: "3.0.3",
    info: { title: "Large", version: "1" },
    servers: [{ url: "https://api.example.com" }],
    paths: Object.fromEntries(paths),
    components: { schemas: Object.fromEntries(schemas) },
  });
}

describe("a server without tools", { timeout: 60_000 }, () => {
  const cases: readonly (readonly [says: RegExp, env: Record<string, string>])[] = [
    [/it declares none/, { CAPABILITIES: "{}" }],
    [/its list is empty/, { TOOLS: "0" }],
    [/left out for unreadable names/, { LIST: '{"tools":[{"name":"a\\u0007"},{"name":""}]}' }],
  ];
  for (const [says, env] of cases) {
    it(`says why: ${says.source}`, async () => {
      await using line = await open(env);
      const tested = await line.run("server", "test", "long");
      assert.match(tested.out, /works: 0 tools/);
      assert.match(tested.out, says);
      assert.match((await line.run("tool", "list")).err, says);
      const { out } = await line.run("doctor", "--json");
      const { findings } = JSON.parse(out) as { findings: { what: string; says: string }[] };
      assert.match(findings.find(({ what }) => what.includes("'long'"))?.says ?? "", says);
    });
  }

  it("does not work if it cannot list them", async () => {
    await using line = await open({ LIST: '{"tools":"none"}' });
    const tested = await line.run("server", "test", "long");
    assert.equal(tested.code, 1);
    assert.match(tested.err, /does not work: it could not list its tools: .*no array 'tools'/);
    const { out } = await line.run("doctor", "--json");
    const { findings } = JSON.parse(out) as { findings: { what: string; state: string }[] };
    assert.equal(findings.find(({ what }) => what.includes("'long'"))?.state, "fail");
  });
});
