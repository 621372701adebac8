import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ClientPair } from "../../../../test/upstream/client-pair.ts";
import { SampleContext } from "../../../../test/upstream/sample-context.ts";
import { MODERN, type Script } from "../../../../test/upstream/scripted-server.ts";
import { covers } from "../../../../test/support/requirement.ts";

const accept = () => ({ action: "accept", content: {} });

describe("McpClient rounds with a server of 2026-07-28", () => {
  it("send the caller's answers, and the state, until the call is done", async () => {
    covers("mcp.mrtr.client");
    const script: Script = {
      ...MODERN,
      "tools/call": ({ inputResponses, requestState }) =>
        inputResponses === undefined
          ? {
              resultType: "input_required",
              inputRequests: {
                who: { method: "elicitation/create", params: { message: "Who?" } },
                where: { method: "roots/list" },
              },
              requestState: "s1",
            }
          : { resultType: "complete", content: [], inputResponses, requestState },
    };
    await using pair = await ClientPair.connect(script);
    const context = new SampleContext({
      answers: { "elicitation/create": accept, "roots/list": () => ({ roots: [] }) },
    });
    const result = await pair.client.callTool("echo", {}, context);
    assert.deepEqual(result.inputResponses, { who: accept(), where: { roots: [] } });
    assert.equal(result.requestState, "s1");
  });

  it("send no state if the server gave none, and a new id each time", async () => {
    covers("mcp.mrtr.client-state");
    const script: Script = {
      ...MODERN,
      "tools/call": ({ inputResponses }) =>
        inputResponses === undefined
          ? { resultType: "input_required", inputRequests: { where: { method: "roots/list" } } }
          : { resultType: "complete", content: [] },
    };
    await using pair = await ClientPair.connect(script);
    const context = new SampleContext({ answers: { "roots/list": () => ({ roots: [] }) } });
    await pair.client.callTool("echo", {}, context);
    const [first, second] = pair.server.asked("tools/call");
    assert.equal(second?.["params"].requestState, undefined);
    assert.notEqual(first?.["id"], second?.["id"]);
  });

  it("retry a little later if a server only needs time", async () => {
    let calls = 0;
    const script: Script = {
      ...MODERN,
      "tools/call": () =>
        ++calls === 1
          ? { resultType: "input_required", requestState: "wait" }
          : { resultType: "complete", content: [] },
    };
    await using pair = await ClientPair.connect(script);
    await pair.client.callTool("echo", {}, new SampleContext());
    assert.equal(pair.server.asked("tools/call")[1]?.["params"].requestState, "wait");
  });

  it("end with a server that never stops asking", async () => {
    const script: Script = {
      ...MODERN,
      "tools/call": () => ({
        resultType: "input_required",
        inputRequests: { again: { method: "roots/list" } },
      }),
    };
    await using pair = await ClientPair.connect(script);
    const context = new SampleContext({ answers: { "roots/list": () => ({ roots: [] }) } });
    await assert.rejects(
      pair.client.callTool("echo", {}, context),
      /asked for more input 50 times/,
    );
  });
});
