import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { EventReader, McpHttpServer } from "../../../../../test/support/mcp-http-server.ts";
import { McpSession } from "../../../../../test/support/mcp-session.ts";
import { covers } from "../../../../../test/support/requirement.ts";

/** Takes a stream up, which the server may not know to be lost yet. */
async function resume(session: McpSession, lastEventId: string): Promise<EventReader> {
  for (;;) {
    const response = await session.get(lastEventId);
    if (response.status === 200) return new EventReader(response);
    assert.equal(response.status, 409);
    await response.body?.cancel();
  }
}

describe("an exchange of a session on /mcp", { timeout: 30_000 }, () => {
  it("answers with events if something is sent before the answer", async () => {
    covers("mcp.http.json-or-events", "mcp.http.priming-event");
    await using server = await McpHttpServer.start();
    const session = await McpSession.begin(server);
    const events = await session.stream(1, "test_tool_with_progress", {}, { progressToken: 0 });
    assert.equal(events.response.headers.get("content-type"), "text/event-stream");
    const first = await events.next();
    assert.deepEqual([first?.data, first?.id], ["", "1-0"], "priming event");
    assert.match(events.text, /retry: 500\n/);
    for (const progress of [0, 50, 100]) {
      const { params } = await events.message();
      assert.deepEqual([params?.progressToken, params?.progress], [0, progress]);
    }
    assert.equal((await events.message()).id, 1);
    assert.equal(await events.next(), undefined, "the stream ends with the answer");
  });

  it("sends no empty events to clients that do not know them", async () => {
    await using server = await McpHttpServer.start();
    const session = await McpSession.begin(server, "2025-06-18");
    const events = await session.stream(1, "test_tool_with_progress", {}, { progressToken: 0 });
    assert.match((await events.next())?.data ?? "", /notifications\/progress/);
    await events.cancel();
  });

  it("continues after a lost connection, which is not a cancellation", async () => {
    covers("mcp.http.disconnect");
    await using server = await McpHttpServer.start();
    const session = await McpSession.begin(server);
    const lost = await session.stream(1, "test_wait", {}, { progressToken: 1 });
    const primed = await lost.next();
    await lost.cancel();
    let isCancelled = false;
    const cancelled = session.call(2, "test_cancelled").then((answer) => {
      isCancelled = true;
      return answer;
    });
    const resumed = await resume(session, primed?.id ?? "");
    assert.equal((await resumed.message()).method, "notifications/progress");
    assert.ok(!isCancelled);
    const params = { requestId: 1, reason: "enough" };
    await session.post({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    assert.equal((await cancelled).body.result?.content?.[0]?.text, "cancelled");
    assert.equal(await resumed.next(), undefined);
  });

  it("ends the response of a cancelled call", async () => {
    await using server = await McpHttpServer.start();
    const session = await McpSession.begin(server);
    const silent = session.call(1, "test_wait");
    const told = await session.stream(2, "test_wait", {}, { progressToken: 1 });
    await told.message();
    for (const requestId of [1, 2]) {
      const params = { requestId };
      await session.post({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    }
    assert.equal((await silent).status, 202);
    assert.equal(await told.next(), undefined);
  });

  it("turns a slow answer into a stream, and lets its client reconnect for it", async () => {
    covers("mcp.http.poll");
    const limits = { keepAlive: 20, longestConnection: 50, retry: 10 };
    await using server = await McpHttpServer.start({ limits });
    const session = await McpSession.begin(server);
    const events = await session.stream(1, "test_wait");
    const primed = await events.next();
    assert.equal(primed?.data, "");
    assert.equal(await events.next(), undefined, "the connection ends without an answer");
    const resumed = await resume(session, primed.id);
    const params = { requestId: 1 };
    await session.post({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    assert.equal(await resumed.next(), undefined);
  });
});
