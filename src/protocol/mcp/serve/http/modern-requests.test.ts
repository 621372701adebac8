import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { sampleTool } from "../../../../../test/samples/sample-context.ts";
import {
  BOTH_TYPES,
  EventReader,
  McpHttpServer,
} from "../../../../../test/support/mcp-http-server.ts";
import { initialize, request } from "../../../../../test/support/mcp-session.ts";
import { covers } from "../../../../../test/support/requirement.ts";
import { until } from "../../../../../test/support/until.ts";
import { beforeSending } from "../../../../base/event-loop.ts";
import { textResult } from "../../../../tool/tool.ts";

const VERSION = "2026-07-28";

const M = "io.modelcontextprotocol/";

type Headers = Record<string, string>;

function meta(more: object = {}): object {
  return { [`${M}protocolVersion`]: VERSION, [`${M}clientCapabilities`]: {}, ...more };
}

function ask(id: unknown, method: string, params: object = {}, _meta = meta()): object {
  return request(id, method, { ...params, _meta });
}

function headersOf(method: string, name?: string): Headers {
  return {
    ...BOTH_TYPES,
    "mcp-protocol-version": VERSION,
    "mcp-method": method,
    ...(name === undefined ? {} : { "mcp-name": name }),
  };
}

async function call(
  server: McpHttpServer,
  name: string,
  args: object = {},
  _meta = meta(),
): Promise<Response> {
  const body = ask(1, "tools/call", { name, arguments: args }, _meta);
  return server.fetch("POST", headersOf("tools/call", name), body);
}

describe("requests of 2026-07-28 on /mcp", { timeout: 30_000 }, () => {
  it("are answered with JSON, or with events if something comes before the answer", async () => {
    covers("mcp.modern-http.json-or-events");
    await using server = await McpHttpServer.start();
    const plain = await call(server, "test_simple_text");
    assert.equal(plain.status, 200);
    assert.equal(plain.headers.get("content-type"), "application/json");
    assert.equal(plain.headers.get("mcp-session-id"), null);
    const told = await call(server, "test_tool_with_progress", {}, meta({ progressToken: 0 }));
    assert.equal(told.headers.get("content-type"), "text/event-stream");
    const events = new EventReader(told);
    for (const progress of [0, 50, 100]) {
      assert.equal((await events.message()).params?.progress, progress);
    }
    assert.equal((await events.message()).id, 1);
    assert.equal(await events.next(), undefined);
  });

  it("are refused in the order that clients rely on", async () => {
    covers("mcp.modern-http.version", "mcp.modern-http.headers", "mcp.modern-http.unknown-method");
    await using server = await McpHttpServer.start();
    const list = headersOf("tools/list");
    const other = { [`${M}protocolVersion`]: "v999" };
    const tool = { name: "test_simple_text" };
    const needs = { name: "test_missing_capability" };
    const cases: [what: string, status: number, code: number, headers: Headers, body: object][] = [
      ["no _meta", 400, -32602, list, request(1, "tools/list")],
      ["half a _meta", 400, -32602, list, ask(1, "tools/list", {}, other)],
      ["no version header", 400, -32020, BOTH_TYPES, ask(1, "tools/list")],
      ["another version", 400, -32020, list, ask(1, "tools/list", {}, meta(other))],
      [
        "an unknown version",
        400,
        -32022,
        { ...list, "mcp-protocol-version": "v999" },
        ask(1, "tools/list", {}, meta(other)),
      ],
      ["another method", 400, -32020, list, ask(1, "prompts/list")],
      ["no name", 400, -32020, headersOf("tools/call"), ask(1, "tools/call", tool)],
      ["another name", 400, -32020, headersOf("tools/call", "x"), ask(1, "tools/call", tool)],
      ["an unknown method", 404, -32601, headersOf("no/such"), ask(1, "no/such")],
      ["a removed method", 404, -32601, headersOf("ping"), ask(1, "ping")],
      ["initialize", 404, -32601, headersOf("initialize"), ask(1, "initialize")],
      ["initialize of before", 400, -32020, headersOf("initialize"), initialize()],
      [
        "a capability that lacks",
        400,
        -32021,
        headersOf("tools/call", needs.name),
        ask(1, "tools/call", needs),
      ],
      ["wrong parameters", 200, -32602, headersOf("tools/call"), ask(1, "tools/call")],
      [
        "an unknown tool",
        200,
        -32602,
        headersOf("tools/call", "x"),
        ask(1, "tools/call", { name: "x" }),
      ],
      ["an answer", 400, -32600, list, { jsonrpc: "2.0", id: 1, result: {} }],
      ["a batch", 400, -32600, list, [ask(1, "tools/list")]],
    ];
    for (const [what, status, code, headers, body] of cases) {
      const answer = await server.post(body, headers);
      assert.deepEqual([answer.status, answer.body.error?.code], [status, code], what);
      assert.notEqual(answer.body.id, null, what);
    }
  });

  it("carry arguments in headers, plain or in base64", async () => {
    covers("mcp.modern-http.parameters");
    await using server = await McpHttpServer.start();
    const tool = "test_custom_header";
    const cases: [region: string, header: string | undefined, status: number][] = [
      ["Hello", "Hello", 200],
      ["Hello", "=?base64?SGVsbG8=?=", 200],
      ["Zürich", `=?base64?${Buffer.from("Zürich").toString("base64")}?=`, 200],
      ["=?base64?SGVsbG8=", "=?base64?SGVsbG8=", 200],
      ["Hello", "=?base64?SGVsbG8?=", 400],
      ["Hello", "=?base64?SGVs!!!bG8=?=", 400],
      ["Hello", "hello", 400],
      ["Hello", undefined, 400],
    ];
    for (const [region, header, status] of cases) {
      const body = ask(1, "tools/call", { name: tool, arguments: { region } });
      const headers = headersOf("tools/call", `=?base64?${Buffer.from(tool).toString("base64")}?=`);
      const all = header === undefined ? headers : { ...headers, "mcp-param-region": header };
      const answer = await server.post(body, all);
      assert.equal(answer.status, status, `${region} as ${header}`);
      if (status === 400) assert.equal(answer.body.error?.code, -32020);
      else assert.equal(answer.body.result?.content?.[0]?.text, `region=${region}`);
    }
  });

  it("are cancelled by closing the connection", async () => {
    covers("mcp.modern-http.cancel");
    await using server = await McpHttpServer.start();
    const events = new EventReader(
      await call(server, "test_wait", {}, meta({ progressToken: "p" })),
    );
    await events.message();
    await events.cancel();
    const told = (await (await call(server, "test_cancelled")).json()) as object;
    assert.match(JSON.stringify(told), /cancelled/);
    await until(() => server.http.size === 0);
  });

  it("listen until the client closes, or the server stops", async () => {
    covers("mcp.subscriptions.shutdown");
    const server = await McpHttpServer.start();
    const notifications = { toolsListChanged: true };
    const listen = async (id: string) =>
      new EventReader(
        await server.fetch(
          "POST",
          headersOf("subscriptions/listen"),
          ask(id, "subscriptions/listen", { notifications }),
        ),
      );
    const first = await listen("a");
    const second = await listen("b");
    for (const stream of [first, second]) {
      const { method } = await stream.message();
      assert.equal(method, "notifications/subscriptions/acknowledged");
    }
    await first.cancel();
    await call(server, "test_trigger_tool_change");
    const changed = await second.message();
    assert.equal(changed.method, "notifications/tools/list_changed");
    assert.deepEqual(changed.params?._meta, { [`${M}subscriptionId`]: "b" });
    await server[Symbol.asyncDispose]();
    const last = await second.message();
    assert.deepEqual([last.id, last.result?.resultType], ["b", "complete"]);
    assert.equal(await second.next(), undefined);
  });

  it("are answered if the server stops meanwhile, also where a record is written first", async () => {
    await using server = await McpHttpServer.start();
    const begun = Promise.withResolvers<void>();
    const may = Promise.withResolvers<void>();
    const audited = sampleTool("audited", async () => {
      begun.resolve();
      await may.promise;
      beforeSending(() => {});
      return textResult("done");
    });
    server.offer.tools.add(audited);
    const answering = call(server, "audited");
    await begun.promise;
    const closed = server.http.close(20_000);
    may.resolve();
    const answer = await answering;
    assert.equal(answer.status, 200);
    assert.match(await answer.text(), /done/);
    await closed;
  });

  it("get keep-alives while the answer takes long", async () => {
    covers("mcp.modern-http.keep-alive");
    await using server = await McpHttpServer.start({ limits: { keepAlive: 10 } });
    const events = new EventReader(await call(server, "test_wait"));
    await events.until(": keepalive\n\n: keepalive\n\n");
    await events.cancel();
  });

  it("have no sessions: notifications are accepted, GET and DELETE are not", async () => {
    covers("mcp.modern-http.post-only", "mcp.modern-http.notification-202");
    await using server = await McpHttpServer.start();
    const params = { requestId: 1 };
    const note = { jsonrpc: "2.0", method: "notifications/cancelled", params };
    const taken = await server.post(note, { "mcp-protocol-version": VERSION });
    assert.equal(taken.status, 202);
    for (const method of ["GET", "DELETE"]) {
      const refused = await server.fetch(method, headersOf("x"));
      assert.equal(refused.status, 405, method);
      assert.equal(refused.headers.get("allow"), "POST");
    }
    const body = ask(1, "tools/list");
    const stale = await server.post(body, { ...headersOf("tools/list"), "mcp-session-id": "x" });
    assert.equal(stale.status, 200);
  });
});
