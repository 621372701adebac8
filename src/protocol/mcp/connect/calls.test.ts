import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ClientPair } from "../../../../test/upstream/client-pair.ts";
import { SampleContext } from "../../../../test/upstream/sample-context.ts";
import { LEGACY, type Script } from "../../../../test/upstream/scripted-server.ts";

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

  for (const [who, names, isStateless] of [
    ["two clients", ["a", "b"], false],
    ["two requests that speak for themselves, under one name,", ["a", "a"], true],
  ] as const) {
    it(`are refused if ${who} call and either could be meant`, async () => {
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

  it("are refused if one of two clients cannot be asked: it may be the one that is meant", async () => {
    await using pair = await ClientPair.connect(asking("elicitation/create"));
    const able = new SampleContext({ name: "a", answers: { "elicitation/create": accept } });
    const unable = new SampleContext({ name: "b" });
    const calls = [able, unable].map((each) => pair.client.callTool("echo", {}, each));
    for (const { heard } of await Promise.all(calls)) {
      assert.match((heard as { error: { message: string } }).error.message, /2 clients have calls/);
    }
    assert.deepEqual(able.asked, []);
  });

  it("go to the caller on whose stream they came, if the transport knows it", async () => {
    const options = { originOf: (idText: string) => (idText === '"server-1"' ? 2 : 1) };
    await using pair = await ClientPair.connect(asking("elicitation/create"), options);
    const answers = { "elicitation/create": accept };
    const [first, second] = ["a", "b"].map((name) => new SampleContext({ name, answers }));
    await Promise.all([first, second].map((each) => pair.client.callTool("echo", {}, each!)));
    assert.deepEqual([first?.asked.length, second?.asked.length], [1, 1]);
  });
});
