import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { textResult } from "../../src/tool/tool.ts";
import { form, NAME, NO_ARGUMENTS, tool } from "../conformance/fixture/define.ts";
import { BOTH_TYPES, EventReader, McpHttpServer } from "../support/mcp-http-server.ts";
import { callTool, McpSession, request } from "../support/mcp-session.ts";

const WATCHED = "test://watched-resource";

describe("streams of a session on /mcp", { timeout: 30_000 }, () => {
  it("answer with events where something is sent before the answer", async () => {
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

  it("send no empty events to clients that do not know them", async () => {
    await using server = await McpHttpServer.start();
    const session = await McpSession.begin(server, "2025-06-18");
    const events = await session.stream(1, "test_tool_with_progress", {}, { progressToken: 0 });
    assert.match((await events.next())?.data ?? "", /notifications\/progress/);
    await events.cancel();
  });

  it("ask on the request's own stream, and take the answer by another POST", async () => {
    await using server = await McpHttpServer.start();
    const session = await McpSession.begin(server);
    const own = await session.listen();
    const events = await session.stream("a", "test_elicitation", { message: "Who?" });
    const question = await events.message();
    assert.equal(question.method, "elicitation/create");
    const result = { action: "accept", content: { username: "ada" } };
    const taken = await session.post({ jsonrpc: "2.0", id: question.id, result });
    assert.equal(taken.status, 202);
    const answer = await events.message();
    assert.equal(answer.id, "a");
    assert.match(answer.result?.content?.[0]?.text ?? "", /ada/);
    assert.equal(own.text, "", "nothing of it went to the GET stream");
    await own.cancel();
  });

  it("send what belongs to no request to the GET stream, also what came before it", async () => {
    await using server = await McpHttpServer.start();
    const session = await McpSession.begin(server);
    await session.post(request(1, "resources/subscribe", { uri: WATCHED }));
    await session.call(2, "test_trigger_resource_update");
    const own = await session.listen();
    assert.equal((await own.message()).method, "notifications/resources/updated");
    assert.equal((await session.get()).status, 409);
    await session.call(3, "test_trigger_tool_change");
    assert.equal((await own.message()).method, "notifications/tools/list_changed");
    await own.cancel();
  });

  it("replay exactly the stream that was lost", async () => {
    await using server = await McpHttpServer.start();
    const session = await McpSession.begin(server);
    const own = await session.listen();
    const lost = await session.stream(1, "test_elicitation", { message: "Who?" });
    const primed = await lost.next();
    const question = await lost.message();
    await lost.cancel();
    await session.call(2, "test_trigger_tool_change");
    assert.equal((await own.message()).method, "notifications/tools/list_changed");
    const result = { action: "decline" };
    await session.post({ jsonrpc: "2.0", id: question.id, result });
    const resumed = await resume(session, primed?.id ?? "");
    assert.deepEqual(await resumed.message(), question);
    assert.equal((await resumed.message()).id, 1);
    assert.equal(await resumed.next(), undefined, "it ends after the answer");
    const last = [...resumed.text.matchAll(/id: (\S+)/g)].at(-1)?.[1];
    assert.equal((await session.get(last)).status, 405, "nothing is left");
    assert.equal((await session.get("77-1")).status, 400, "never was");
    assert.equal((await session.get("nonsense")).status, 400);
    assert.equal((await session.get("0-1")).status, 409, "is connected");
    await own.cancel();
  });

  it("go on after a lost connection: it is not a cancellation", async () => {
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

  it("ask on the GET stream where the request's own was lost before it began", async () => {
    await using server = await McpHttpServer.start();
    const called = Promise.withResolvers<void>();
    const left = Promise.withResolvers<void>();
    server.offer.tools.add(
      tool("test_ask_later", "Asks when its caller has left", NO_ARGUMENTS, async (_, context) => {
        called.resolve();
        await left.promise;
        await context.ask(form("name", "Who?", NAME));
        return textResult("done");
      }),
    );
    const session = await McpSession.begin(server);
    const abort = new AbortController();
    const call = fetch(`${server.url}/mcp`, {
      method: "POST",
      headers: { ...BOTH_TYPES, ...session.headers },
      body: JSON.stringify(callTool(1, "test_ask_later")),
      signal: abort.signal,
    });
    await called.promise;
    abort.abort();
    await assert.rejects(call);
    await server.idle();
    const own = await session.listen();
    left.resolve();
    assert.equal((await own.message()).method, "elicitation/create");
    await own.cancel();
  });

  it("end the response of a call that is cancelled", async () => {
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

  it("turn a slow answer into a stream, and have its client come back for it", async () => {
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

/** Takes a stream up, which the server may not know to be lost yet. */
async function resume(session: McpSession, lastEventId: string): Promise<EventReader> {
  for (;;) {
    const response = await session.get(lastEventId);
    if (response.status === 200) return new EventReader(response);
    assert.equal(response.status, 409);
    await response.body?.cancel();
  }
}
