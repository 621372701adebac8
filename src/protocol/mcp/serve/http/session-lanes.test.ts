import assert from "node:assert/strict";
import { describe, it, mock } from "node:test";

import { type Tool, textResult } from "../../../../tool/tool.ts";
import { type Answer, McpHttpServer } from "../../../../../test/support/mcp-http-server.ts";
import { McpSession, request } from "../../../../../test/support/mcp-session.ts";

const inputSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };

/** A session whose calls of a tool need not go through the toolbox any more. */
async function sessionWithLane(server: McpHttpServer, call: Tool["call"]) {
  server.offer.tools.add({ definition: { name: "sum", inputSchema }, call });
  const session = await McpSession.begin(server);
  const called = mock.method(server.offer.tools, "call");
  const post = (id: unknown, args: object, more: object = {}): Promise<Answer> =>
    session.post(request(id, "tools/call", { name: "sum", arguments: args, ...more }));
  for (let n = 1, before = 0; called.mock.callCount() > before || n === 1; n++) {
    before = called.mock.callCount();
    await post(n, { n: 0 });
  }
  called.mock.resetCalls();
  return { session, called, post };
}

describe("a call in a session on HTTP that has a lane", { timeout: 30_000 }, () => {
  it("is answered as ever, whenever its tool answers", async () => {
    await using server = await McpHttpServer.start();
    const { called, post } = await sessionWithLane(server, ({ n }) => {
      if (n === 3) throw new Error("A fault");
      const result = textResult(`${String(n)} + 1`);
      return n === 2 ? Promise.resolve(result) : result;
    });
    const answers = await Promise.all(["a", "b", "c"].map((id, at) => post(id, { n: at + 1 })));
    assert.equal(called.mock.callCount(), 0);
    assert.deepEqual(
      answers.map(({ status, body }) => [status, body.id, body.result?.content?.[0]?.text]),
      [
        [200, "a", "1 + 1"],
        [200, "b", "2 + 1"],
        [200, "c", "'sum' failed because of a fault in it"],
      ],
    );
  });

  it("is refused for its arguments as ever", async () => {
    await using server = await McpHttpServer.start();
    const { post } = await sessionWithLane(server, () => textResult("x"));
    const { body } = await post("a", { n: "one" });
    assert.equal(body.result?.isError, true);
    assert.match(body.result?.content?.[0]?.text ?? "", /'n' must be number/);
  });

  it("has its progress sent before its answer", async () => {
    await using server = await McpHttpServer.start();
    const { session, called } = await sessionWithLane(server, (_, context) => {
      context.progress(1, 2, "half");
      return textResult("done");
    });
    const events = await session.stream("a", "sum", { n: 1 }, { progressToken: "p" });
    const told = await events.message();
    assert.deepEqual(told.params, { progressToken: "p", progress: 1, total: 2, message: "half" });
    const answer = await events.message();
    assert.deepEqual([answer.id, answer.result?.content?.[0]?.text], ["a", "done"]);
    assert.equal(called.mock.callCount(), 0);
  });
});
