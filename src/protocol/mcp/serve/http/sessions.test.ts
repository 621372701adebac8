import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { describe, it } from "node:test";

import { EventReader, McpHttpServer } from "../../../../../test/support/mcp-http-server.ts";
import {
  callTool,
  initialize,
  McpSession,
  request,
} from "../../../../../test/support/mcp-session.ts";
import { covers } from "../../../../../test/support/requirement.ts";
import { until } from "../../../../../test/support/until.ts";

const PING = request("ping", "ping");

describe("sessions on /mcp", { timeout: 30_000 }, () => {
  it("live from initialize to DELETE", async () => {
    covers("mcp.http.session-id", "mcp.http.session-delete", "mcp.http.notification-202");
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

  it("evict idle ones to make room for new ones", async () => {
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

  it("do not evict those of others for a client that begins ever more", async () => {
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

  it("end after a long time without a request", async () => {
    const limits = { keepAlive: 10, sessionIdle: 30 };
    await using server = await McpHttpServer.start({ limits });
    const { headers } = await server.post(initialize());
    await until(() => server.http.size === 0);
    const session = { "mcp-session-id": headers.get("mcp-session-id") ?? "" };
    assert.equal((await server.post(PING, session)).status, 404);
  });

  it("get their answers when the server stops", async () => {
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
