import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { fixtureOffer } from "../../../../test/conformance/fixture/offer.ts";
import { covers } from "../../../../test/support/requirement.ts";
import { type Json, RawClient } from "../../../../test/upstream/raw-client.ts";
import { McpDoor } from "./door.ts";

const ASKABLE = {
  revision: "2026-07-28",
  capabilities: { elicitation: { form: {} } },
} as const;
const TOOL = { name: "test_input_required_result_request_state", arguments: {} };

/** Calls a tool that asks, up to its question. */
async function asked(client: RawClient): Promise<Json> {
  const { result } = await client.request("tools/call", TOOL);
  assert.equal(result.resultType, "input_required");
  return result as Json;
}

const answerAll = ({ inputRequests }: Json): Json =>
  Object.fromEntries(
    Object.keys(inputRequests as Json).map((key) => [key, { action: "accept", content: {} }]),
  );

describe("a question at 2026-07-28", { timeout: 600_000 }, () => {
  it("is an answer with a state, and the next request with both continues", async () => {
    covers("mcp.mrtr.input-required", "mcp.mrtr.resume", "mcp.mrtr.no-server-requests");
    await using client = await RawClient.connect(new McpDoor({ offer: fixtureOffer() }), ASKABLE);
    const pause = await asked(client);
    const inputResponses = answerAll(pause);
    const { requestState } = pause;
    const done = await client.request("tools/call", { ...TOOL, inputResponses, requestState });
    assert.equal(done["result"].resultType, "complete");
    assert.ok(!client.messages.some((message) => "method" in message && "id" in message));
  });

  it("is asked again, under a new state, if the answer is missing", async () => {
    await using client = await RawClient.connect(new McpDoor({ offer: fixtureOffer() }), ASKABLE);
    const { requestState } = await asked(client);
    const again = await client.request("tools/call", { ...TOOL, requestState, inputResponses: {} });
    assert.equal(again["result"].resultType, "input_required");
    assert.notEqual(again["result"].requestState, requestState);
  });

  it("cannot be answered twice, nor with a state of another request or an invalid one", async () => {
    covers("mcp.mrtr.replay");
    await using client = await RawClient.connect(new McpDoor({ offer: fixtureOffer() }), ASKABLE);
    const pause = await asked(client);
    const { requestState } = pause;
    const inputResponses = answerAll(pause);
    const other = { ...TOOL, arguments: { other: 1 }, inputResponses, requestState };
    assert.equal((await client.request("tools/call", other))["error"].code, -32602);
    const forged = { ...TOOL, inputResponses, requestState: "forged" };
    assert.equal((await client.request("tools/call", forged))["error"].code, -32602);
    const good = { ...TOOL, inputResponses, requestState };
    assert.ok((await client.request("tools/call", good))["result"] !== undefined);
    assert.equal((await client.request("tools/call", good))["error"].code, -32602);
  });
});
