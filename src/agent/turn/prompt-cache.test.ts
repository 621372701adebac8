import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";

import { AgentRig, KEY } from "../../../test/agent/agent-rig.ts";
import { Log } from "../../base/log.ts";
import { Models } from "../models/models.ts";

type Body = Readonly<Record<string, unknown>>;

/** The events of an answer of Anthropic's, with what was read from the cache and written to it. */
function answer(): string {
  const usage = {
    input_tokens: 100,
    output_tokens: 1,
    cache_read_input_tokens: 2_000,
    cache_creation_input_tokens: 300,
  };
  const message = { id: "m", type: "message", role: "assistant", model: "x", content: [], usage };
  const events: Body[] = [
    { type: "message_start", message },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello." } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 10 } },
    { type: "message_stop" },
  ];
  return events
    .map((event) => `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`)
    .join("");
}

describe("the cache of Anthropic", () => {
  it("is used for tools, system prompt and conversation, and its tokens are reported and priced", async () => {
    const bodies: Body[] = [];
    const server = createServer((request, response) => {
      if (request.method === "GET") {
        response.writeHead(404).end();
        return;
      }
      const answered = text(request).then((body) => {
        bodies.push(JSON.parse(body) as Body);
        response.writeHead(200, { "content-type": "text/event-stream" }).end(answer());
      });
      answered.catch(assert.fail);
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    await using _ = { [Symbol.asyncDispose]: async () => void server.close() };
    const { port } = server.address() as AddressInfo;
    const env: Record<string, string> = {
      ANTHROPIC_API_KEY: KEY,
      ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`,
    };
    const cost = { "*": { input: 3, output: 15, cachedInput: 0.3 } };
    const log = new Log("debug", () => {});
    const settings = { local: false, cost };
    const models = new Models({ find: (name) => env[name], settings, log, timeout: 2_000 });
    await using rig = new AgentRig({ models });
    const session = await rig.open();
    await rig.turnOf(session, "one");
    const { turn, end } = await rig.turnOf(session, "two");
    const marksOf = (part: unknown): number =>
      JSON.stringify(part).split("cache_control").length - 1;
    const [first, second] = bodies;
    assert.equal(marksOf(first?.system), 1, "its mark covers the tools, which come before it");
    assert.equal(marksOf(first?.messages), 1);
    assert.equal(marksOf(second?.messages), 2, "also where the request before ended");
    assert.deepEqual(second?.system, first?.system);
    assert.deepEqual(second?.tools, first?.tools);
    const { usage } = end as { usage?: Body };
    assert.equal(usage?.cachedReadTokens, 2_000);
    assert.equal(usage?.cachedWriteTokens, 300);
    assert.equal(usage?.inputTokens, 2_400);
    const shown = turn.ofKind("usage_update").at(-1)?.cost as { amount: number };
    const each = (100 * 3 + 2_000 * 0.3 + 300 * 3.75 + 10 * 15) / 1_000_000;
    assert.ok(Math.abs(shown.amount - 2 * each) < 1e-9, String(shown.amount));
  });
});
