import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { describe, it } from "node:test";

import { EventReader, McpHttpServer } from "../support/mcp-http-server.ts";
import { callTool, initialize, McpSession, request } from "../support/mcp-session.ts";

const PING = request("ping", "ping");

describe("sessions on /mcp", { timeout: 30_000 }, () => {
  it("live from initialize to DELETE", async () => {
    await using server = await McpHttpServer.start();
    const session = await McpSession.begin(server);
    assert.match(session.id, /^[\w-]{32,}$/);
    assert.deepEqual((await session.post(PING)).body, { jsonrpc: "2.0", id: "ping", result: {} });
    const again = await session.post(initialize());
    assert.deepEqual([again.status, again.body.error?.code], [400, -32600]);
    assert.equal((await session.delete()).status, 200);
    const late = await session.post(PING);
    assert.deepEqual([late.status, late.body.error?.code], [404, -32001]);
    assert.ok(!("id" in late.body));
    assert.equal((await session.delete()).status, 404);
    assert.equal((await session.get()).status, 404);
  });

  it("begin only where the handshake succeeds", async () => {
    await using server = await McpHttpServer.start();
    const answer = await server.post(request(0, "initialize", { protocolVersion: 7 }));
    assert.deepEqual([answer.status, answer.body.error?.code], [200, -32602]);
    assert.equal(answer.headers.get("mcp-session-id"), null);
    assert.equal(server.http.size, 0);
  });

  it("refuse what does not fit, each with its status", async () => {
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

  it("answer batches of 2025-03-26, and only those", async () => {
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

  it("make room for new ones where they are idle", async () => {
    await using server = await McpHttpServer.start({ limits: { maxSessions: 2 } });
    const first = await McpSession.begin(server);
    const second = await McpSession.begin(server);
    const busy = await second.listen();
    const third = await McpSession.begin(server);
    assert.equal((await first.post(PING)).status, 404);
    const busyToo = await third.listen();
    assert.equal((await server.post(initialize())).status, 503, "nobody is idle");
    await Promise.all([busy.cancel(), busyToo.cancel()]);
  });

  it("make no room for who begins ever more of them at the cost of others", async () => {
    const authorize = ({ headers }: IncomingMessage) => ({
      principal: { id: String(headers["x-user"]) },
    });
    await using server = await McpHttpServer.start({ limits: { maxSessions: 3 }, authorize });
    const begin = async (user: string): Promise<Record<string, string>> => {
      const { headers } = await server.post(initialize(), { "x-user": user });
      return { "x-user": user, "mcp-session-id": headers.get("mcp-session-id") ?? "" };
    };
    const ada = await begin("ada");
    const all = [await begin("eve"), await begin("eve"), await begin("eve"), await begin("eve")];
    assert.equal((await server.post(PING, ada)).status, 200);
    const statuses = await Promise.all(
      all.map(async (one) => (await server.post(PING, one)).status),
    );
    assert.deepEqual(statuses, [404, 404, 200, 200]);
  });

  it("end when nobody has used them for long", async () => {
    const limits = { keepAlive: 10, sessionIdle: 30 };
    await using server = await McpHttpServer.start({ limits });
    const { headers } = await server.post(initialize());
    await until(() => server.http.size === 0);
    const session = { "mcp-session-id": headers.get("mcp-session-id") ?? "" };
    assert.equal((await server.post(PING, session)).status, 404);
  });

  it("give up a reader that does not read, and nobody else", async () => {
    const channelLimits = { highWater: 64 * 1024, maxUnsent: 256 * 1024 };
    await using server = await McpHttpServer.start({ channelLimits });
    const slow = await McpSession.begin(server);
    const other = await McpSession.begin(server);
    const response = await slow.get();
    assert.equal((await slow.get()).status, 409);
    await slow.post(request(1, "resources/subscribe", { uri: `test://${"x".repeat(500_000)}` }));
    for (let sent = 0; (await slow.get()).status === 409; sent++) {
      assert.ok(sent < 100, "unsent events were kept without bound");
      for (let i = 0; i < 10; i++) server.offer.resources.updated(`test://${"x".repeat(500_000)}`);
      assert.equal((await other.post(PING)).status, 200);
    }
    await response.body?.cancel().catch(() => {});
  });

  it("are answered to when the server stops", async () => {
    const server = await McpHttpServer.start();
    const session = await McpSession.begin(server);
    const own = await session.listen();
    const waiting = server.fetch(
      "POST",
      { "content-type": "application/json", accept: "*/*", ...session.headers },
      callTool(1, "test_wait"),
    );
    await until(() => server.http.size === 1);
    await session.post(PING);
    await server[Symbol.asyncDispose]();
    const answer = new EventReader(await waiting);
    await answer.next();
    assert.match(answer.text, /shutting down/);
    assert.equal(await own.next(), undefined);
  });
});

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}
