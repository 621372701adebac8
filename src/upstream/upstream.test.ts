import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ToolFault } from "../tool/tool.ts";
import { AppWithUpstreams } from "../../test/upstream/app-with-upstreams.ts";
import { RawClient } from "../../test/upstream/raw-client.ts";
import { SampleContext } from "../../test/upstream/sample-context.ts";
import { LEGACY, MODERN, Refusal, Scripts } from "../../test/upstream/scripted-server.ts";

describe("Upstreams answer a call", () => {
  it("with the server's own error, code and data included", async () => {
    const scripts = new Scripts({
      a: {
        ...LEGACY,
        "tools/call": () => {
          throw new Refusal(-32042, "Look at a page first", { elicitations: [{ url: "x" }] });
        },
      },
    });
    await using app = new AppWithUpstreams(scripts);
    await app.configure({ a: { command: "a" } });
    const calling = app.offer.tools.call("echo", {}, new SampleContext());
    await assert.rejects(Promise.resolve(calling), (error) => {
      assert.ok(error instanceof ToolFault);
      assert.equal(error.code, -32042);
      assert.deepEqual(error.data, { elicitations: [{ url: "x" }] });
      return true;
    });
  });

  it("of a server of 2026-07-28 that asks a question, through a client of 2025-06-18", async () => {
    const scripts = new Scripts({
      a: {
        ...MODERN,
        "tools/call": ({ inputResponses }) =>
          inputResponses === undefined
            ? {
                resultType: "input_required",
                inputRequests: {
                  name: {
                    method: "elicitation/create",
                    params: { mode: "form", message: "Who?", requestedSchema: { type: "object" } },
                  },
                },
              }
            : {
                resultType: "complete",
                content: [{ type: "text", text: `Hello ${inputResponses.name.content.name}` }],
              },
      },
    });
    await using app = await new AppWithUpstreams(scripts).configure({ a: { command: "a" } });
    await using client = await RawClient.connect(app.door, {
      revision: "2025-11-25",
      capabilities: { elicitation: {} },
      answers: { "elicitation/create": () => ({ action: "accept", content: { name: "Ann" } }) },
    });
    const { result } = await client.callTool("echo");
    assert.deepEqual(result, { content: [{ type: "text", text: "Hello Ann" }] });
    assert.equal(client.asked[0]?.["params"].message, "Who?");
  });
});
