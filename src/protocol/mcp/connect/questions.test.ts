import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ClientPair } from "../../../../test/upstream/client-pair.ts";
import { SampleContext } from "../../../../test/upstream/sample-context.ts";
import { LEGACY, MODERN, type Script } from "../../../../test/upstream/scripted-server.ts";

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

  it("go to the one caller there is", async () => {
    await using pair = await ClientPair.connect(asking("elicitation/create", { message: "Who?" }));
    const context = new SampleContext({ answers: { "elicitation/create": accept } });
    const result = await pair.client.callTool("echo", {}, context);
    assert.deepEqual(context.asked, [
      { method: "elicitation/create", params: { message: "Who?" } },
    ]);
    assert.deepEqual((result.heard as { result: unknown }).result, accept());
  });

  it("are refused when the caller's side cannot be asked", async () => {
    await using pair = await ClientPair.connect(asking("sampling/createMessage"));
    const result = await pair.client.callTool("echo", {}, new SampleContext());
    const { error } = result.heard as { error: { message: string } };
    assert.match(error.message, /does not support sampling\/createMessage/);
  });

  for (const [who, names, isStateless] of [
    ["two clients", ["a", "b"], false],
    ["two requests that speak for themselves, under one name,", ["a", "a"], true],
  ] as const) {
    it(`are refused when ${who} call and either may be meant`, async () => {
      await using pair = await ClientPair.connect(asking("elicitation/create"));
      const answers = { "elicitation/create": accept };
      const contexts = names.map((name) => new SampleContext({ name, answers, isStateless }));
      const results = await Promise.all(
        contexts.map((each) => pair.client.callTool("echo", {}, each)),
      );
      for (const { heard } of results) {
        assert.match(
          (heard as { error: { message: string } }).error.message,
          /2 clients have calls/,
        );
      }
      assert.deepEqual(
        contexts.flatMap(({ asked }) => asked),
        [],
      );
    });
  }

  it("go to the caller whose stream they came on, where the transport knows", async () => {
    const options = { originOf: (idText: string) => (idText === '"server-1"' ? 2 : 1) };
    await using pair = await ClientPair.connect(asking("elicitation/create"), options);
    const answers = { "elicitation/create": accept };
    const [first, second] = ["a", "b"].map((name) => new SampleContext({ name, answers }));
    await Promise.all([first, second].map((each) => pair.client.callTool("echo", {}, each!)));
    assert.deepEqual([first?.asked.length, second?.asked.length], [1, 1]);
  });

  it("can be asked as tasks, and fetched later", async () => {
    const script: Script = {
      ...LEGACY,
      "tools/call": async (_, server) => {
        const begun = await server.request("elicitation/create", { task: { ttl: 1000 } });
        const { taskId } = begun["result"].task as { taskId: string };
        const result = await server.request("tasks/result", { taskId });
        const task = await server.request("tasks/get", { taskId });
        return { content: [], answer: result["result"], status: task["result"].status };
      },
    };
    await using pair = await ClientPair.connect(script);
    const context = new SampleContext({ answers: { "elicitation/create": accept } });
    const result = await pair.client.callTool("echo", {}, context);
    assert.equal((result.answer as { action: string }).action, "accept");
    assert.equal(result.status, "completed");
    assert.deepEqual(context.asked[0]?.params, {});
  });

  it("get an answer to ping, and an error to what nobody knows", async () => {
    await using pair = await ClientPair.connect(LEGACY);
    assert.deepEqual((await pair.server.request("ping"))["result"], {});
    assert.equal((await pair.server.request("no/such"))["error"].code, -32601);
  });
});

describe("McpClient rounds with a server of 2026-07-28", () => {
  it("bring the answers of the caller's side, and the state, until it is done", async () => {
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

  it("come back a little later to a server that only needs time", async () => {
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
