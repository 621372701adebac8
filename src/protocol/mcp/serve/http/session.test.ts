import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { textResult } from "../../../../tool/tool.ts";
import { form, NAME, NO_ARGUMENTS, tool } from "../../../../../test/conformance/fixture/define.ts";
import {
  BOTH_TYPES,
  EventReader,
  McpHttpServer,
} from "../../../../../test/support/mcp-http-server.ts";
import { callTool, McpSession, request } from "../../../../../test/support/mcp-session.ts";
import { covers } from "../../../../../test/support/requirement.ts";

const PING = request("ping", "ping");
const WATCHED = "test://watched-resource";

/** Takes a stream up, which the server may not know to be lost yet. */
async function resume(session: McpSession, lastEventId: string): Promise<EventReader> {
  for (;;) {
    const response = await session.get(lastEventId);
    if (response.status === 200) return new EventReader(response);
    assert.equal(response.status, 409);
    await response.body?.cancel();
  }
}

describe("streams of a session on /mcp", { timeout: 30_000 }, () => {
  it("ask on the request's own stream, and get the answer by another POST", async () => {
    covers("mcp.http.one-stream", "mcp.elicitation.form");
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

  it("send messages outside of requests on the GET stream, also those from before it", async () => {
    covers("mcp.http.get-stream");
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

  it("replay exactly the lost stream", async () => {
    covers("mcp.http.replay");
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

  it("ask on the GET stream if the request's own was lost before it began", async () => {
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
});

describe("sessions on /mcp", { timeout: 30_000 }, () => {
  it("close a connection that does not read, and no other", async () => {
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
});
