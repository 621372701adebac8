import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { McpHttpServer } from "../../../../../test/support/mcp-http-server.ts";
import { initialize, McpSession, request } from "../../../../../test/support/mcp-session.ts";
import { covers } from "../../../../../test/support/requirement.ts";

const PING = request("ping", "ping");

describe("sessions on /mcp", { timeout: 30_000 }, () => {
  it("begin only if the handshake succeeds", async () => {
    covers("mcp.http.session-id");
    await using server = await McpHttpServer.start();
    const answer = await server.post(request(0, "initialize", { protocolVersion: 7 }));
    assert.deepEqual([answer.status, answer.body.error?.code], [200, -32602]);
    assert.equal(answer.headers.get("mcp-session-id"), null);
    assert.equal(server.http.size, 0);
  });

  it("refuse invalid requests, each with its status", async () => {
    covers(
      "mcp.http.accept",
      "mcp.http.session-missing",
      "mcp.http.session-ended",
      "mcp.http.version-header",
    );
    await using server = await McpHttpServer.start({ channelLimits: { maxMessage: 1000 } });
    const session = await McpSession.begin(server);
    const { headers } = session;
    const cases: [what: string, status: number, code: number, headers: object, body: unknown][] = [
      ["no session", 400, -32000, { "mcp-session-id": undefined }, PING],
      ["unknown session", 404, -32001, { "mcp-session-id": "made-up" }, PING],
      ["unknown version", 400, -32000, { "mcp-protocol-version": "1999-01-01" }, PING],
      ["Accept without events", 406, -32000, { accept: "application/json" }, PING],
      ["Accept without JSON", 406, -32000, { accept: "text/event-stream" }, PING],
      ["another type", 415, -32000, { "content-type": "text/plain" }, PING],
      ["too large", 413, -32000, {}, request(1, "ping", { text: "x".repeat(1000) })],
      ["not JSON", 400, -32700, {}, "{oops"],
      ["nothing", 400, -32700, {}, ""],
      ["not JSON-RPC", 400, -32600, {}, { hello: "there" }],
      ["a batch", 400, -32600, {}, [PING]],
      ["an unknown method", 200, -32601, {}, request(1, "no/such/method")],
      ["wrong parameters", 200, -32602, {}, request(1, "tools/call", { name: 7 })],
    ];
    for (const [what, status, code, more, body] of cases) {
      const all = Object.entries({ ...headers, ...more }).filter(
        ([, value]) => value !== undefined,
      );
      const answer = await server.post(body, Object.fromEntries(all));
      assert.deepEqual([answer.status, answer.body.error?.code], [status, code], what);
      assert.notEqual(answer.body.id, null, what);
    }
    const put = await server.fetch("PUT", headers, PING);
    assert.equal(put.status, 405);
    assert.equal(put.headers.get("allow"), "POST, GET, DELETE");
    const unfit = await server.fetch("GET", { ...headers, accept: "application/json" });
    assert.equal(unfit.status, 406);
  });

  it("accept every legacy version in the header, and any order in Accept", async () => {
    await using server = await McpHttpServer.start();
    const session = await McpSession.begin(server, "2025-06-18");
    for (const version of ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]) {
      const accept = "text/event-stream;q=0.5, */*";
      const headers = { ...session.headers, accept, "mcp-protocol-version": version };
      assert.equal((await server.post(PING, headers)).status, 200, version);
    }
  });

  it("keep requests with the same id apart", async () => {
    await using server = await McpHttpServer.start();
    const session = await McpSession.begin(server);
    const events = await session.stream(1, "test_elicitation", { message: "Who?" });
    const question = await events.message();
    const clash = await session.post(request(1, "ping"));
    assert.deepEqual([clash.status, clash.body.error?.code], [400, -32600]);
    await session.post({ jsonrpc: "2.0", id: question.id, result: { action: "decline" } });
    assert.equal((await events.message()).id, 1);
    assert.equal((await session.post(request(1, "ping"))).status, 200);
  });

  it("answer batches only in 2025-03-26", async () => {
    covers("mcp.revision.batch-answers");
    await using server = await McpHttpServer.start();
    const session = await McpSession.begin(server, "2025-03-26");
    const note = { jsonrpc: "2.0", method: "notifications/initialized" };
    const { status, body } = await session.post([PING, note, request("b", "ping"), { no: 1 }]);
    assert.equal(status, 200);
    const ids = (body as unknown as { id: unknown }[]).map(({ id }) => id);
    assert.deepEqual(new Set(ids), new Set(["ping", "b", null]));
    // The second is a number that JavaScript cannot hold.
    const large = `[${JSON.stringify(PING)},{"jsonrpc":"2.0","id":1e400,"method":"ping"}]`;
    assert.match(JSON.stringify((await session.post(large)).body), /"id":"ping"/);
    assert.equal((await session.post([note, note])).status, 202);
    assert.equal((await session.post([])).status, 400);
    assert.equal((await session.post([initialize(), PING])).status, 400);
  });
});
