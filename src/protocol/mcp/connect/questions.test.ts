import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ClientPair } from "../../../../test/upstream/client-pair.ts";
import { SampleContext } from "../../../../test/upstream/sample-context.ts";
import { LEGACY, type Script } from "../../../../test/upstream/scripted-server.ts";
import { covers } from "../../../../test/support/requirement.ts";

const accept = () => ({ action: "accept", content: {} });

describe("McpClient questions of a server of 2025-11-25", () => {
  /** A server whose tool asks, and answers with the answer. */
  const asking = (method: string, params = {}): Script => ({
    ...LEGACY,
    "tools/call": async (_, server) => ({
      content: [],
      heard: await server.request(method, params),
    }),
  });

  it("go to the only caller", async () => {
    covers("mcp.elicitation.passed-on");
    await using pair = await ClientPair.connect(asking("elicitation/create", { message: "Who?" }));
    const context = new SampleContext({ answers: { "elicitation/create": accept } });
    const result = await pair.client.callTool("echo", {}, context);
    assert.deepEqual(context.asked, [
      { method: "elicitation/create", params: { message: "Who?" } },
    ]);
    assert.deepEqual((result.heard as { result: unknown }).result, accept());
  });

  it("are refused if the caller cannot be asked", async () => {
    await using pair = await ClientPair.connect(asking("sampling/createMessage"));
    const result = await pair.client.callTool("echo", {}, new SampleContext());
    const { error } = result.heard as { error: { message: string } };
    assert.match(error.message, /does not support sampling\/createMessage/);
  });
});
