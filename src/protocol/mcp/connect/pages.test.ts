import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ClientPair } from "../../../../test/upstream/client-pair.ts";
import { SampleContext } from "../../../../test/upstream/sample-context.ts";
import { LEGACY, MODERN, Refusal, type Script } from "../../../../test/upstream/scripted-server.ts";
import { ClientPages } from "./pages.ts";
import { covers } from "../../../../test/support/requirement.ts";

const PAGE = { mode: "url", url: "https://example.test/", message: "Look", elicitationId: "e1" };
const answers = { "elicitation/create": () => ({ action: "accept" }) };

describe("McpClient reports a page that is complete", () => {
  it("only to the caller that was asked to show it, also after the call", async () => {
    covers("mcp.elicitation.page-done");
    const script: Script = {
      ...LEGACY,
      "tools/call": async ({ arguments: { id } }, server) => {
        await server.request("elicitation/create", { ...PAGE, elicitationId: id });
        return { content: [] };
      },
    };
    await using pair = await ClientPair.connect(script);
    const contexts = ["a", "b"].map((name) => new SampleContext({ name, answers }));
    for (const context of contexts) {
      await pair.client.callTool("echo", { id: `of-${context.caller.name}` }, context);
    }
    for (const elicitationId of ["of-b", "of-b", "unknown", 7]) {
      pair.server.notify("notifications/elicitation/complete", { elicitationId });
    }
    await pair.server.request("ping");
    assert.deepEqual(
      contexts.map(({ pagesDone }) => pagesDone),
      [[], ["of-b"]],
    );
  });

  it("to a caller that was refused because of it", async () => {
    covers("mcp.elicitation.page-required");
    const script: Script = {
      ...LEGACY,
      "tools/call": () => {
        throw new Refusal(-32042, "First a page", { elicitations: [PAGE, "nonsense", {}] });
      },
    };
    await using pair = await ClientPair.connect(script);
    const context = new SampleContext();
    await assert.rejects(pair.client.callTool("echo", {}, context), /First a page/);
    pair.server.notify("notifications/elicitation/complete", { elicitationId: "e1" });
    await pair.server.request("ping");
    assert.deepEqual(context.pagesDone, ["e1"]);
  });

  it("that a server of 2026-07-28 had shown, once it can continue", async () => {
    const { elicitationId: _, ...params } = PAGE;
    const script: Script = {
      ...MODERN,
      "tools/call": ({ inputResponses }) =>
        inputResponses === undefined
          ? {
              resultType: "input_required",
              inputRequests: { page: { method: "elicitation/create", params } },
            }
          : { resultType: "complete", content: [] },
    };
    await using pair = await ClientPair.connect(script);
    const context = new SampleContext({ answers });
    await pair.client.callTool("echo", {}, context);
    assert.deepEqual(context.pagesDone, [context.asked[0]?.params?.elicitationId]);
    assert.equal(typeof context.pagesDone[0], "string");
  });
});

describe("ClientPages", () => {
  it("forgets the oldest of very many", () => {
    const pages = new ClientPages();
    const context = new SampleContext();
    for (let page = 1; page <= 1_001; page++) pages.shown(`p${page}`, context);
    for (const id of ["p1", "p2", "p1001"]) pages.done(id);
    assert.deepEqual(context.pagesDone, ["p2", "p1001"]);
  });
});
