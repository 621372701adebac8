import assert from "node:assert/strict";
import { describe, it, mock } from "node:test";

import { sampleTool } from "../../../../test/samples/sample-context.ts";
import { textResult } from "../../../tool/tool.ts";
import { Policy, type PolicyRule } from "../../../tool/policy.ts";
import { answering, AppWithLanes, isPassed } from "../../../../test/upstream/app-with-lanes.ts";
import { type Json, RawClient } from "../../../../test/upstream/raw-client.ts";
import {
  ECHO,
  LEGACY,
  MODERN,
  Refusal,
  SILENCE,
} from "../../../../test/upstream/scripted-server.ts";
import { META } from "../meta.ts";

describe("a call that is passed on as text", () => {
  it("is answered and recorded as one that is parsed", async () => {
    await using app = new AppWithLanes(LEGACY);
    await using client = await app.client();
    const parsed = await client.callTool(
      "echo",
      { text: "hi" },
      { _meta: { [META.logLevel]: "info" } },
    );
    assert.equal(isPassed(app.server), false);
    const passed = await client.callTool("echo", { text: "hi" });
    assert.equal(isPassed(app.server), true);
    assert.deepEqual(passed["result"], parsed["result"]);
    const [one, other] = app.records
      .slice(-2)
      .map((record) => ({ ...record, time: 0, milliseconds: 0 }));
    assert.deepEqual(other, one);
    const members = app.records.slice(-2).map((record) => Object.keys(record));
    assert.deepEqual(members[1], members[0]);
    assert.equal(typeof app.records.at(-1)?.["milliseconds"], "number");
  });

  it("fails with words where the server asked while another client was using it", async () => {
    const open = Promise.withResolvers<void>();
    await using app = new AppWithLanes(
      answering(async ({ arguments: { text } }, server) => {
        if (text === "other") return SILENCE;
        await open.promise;
        const { error } = await server.request("elicitation/create", { message: "Who?" });
        return { content: [{ type: "text", text: String(error?.message) }], isError: true };
      }),
    );
    await using client = await app.client({ capabilities: { elicitation: {} } });
    const asks = client.callTool("echo", { text: "asks" });
    await app.server.until((server) => server.asked("tools/call").length > 1);
    assert.equal(isPassed(app.server), true);
    await using another = await RawClient.connect(app.door, { revision: "2025-11-25" });
    another.callTool("echo", { text: "other" }).catch(() => {});
    const isOther = (asked: Json): boolean => asked["params"].arguments.text === "other";
    await app.server.until((server) => server.asked("tools/call").some(isOther));
    open.resolve();
    const { content, isError } = (await asks)["result"];
    assert.equal(isError, true);
    assert.match(content[0].text, /^MCP server 'a' asked a question while several clients/);
    assert.equal(app.records.at(-1)?.["outcome"], "error");
  });

  it("takes along what its caller sent beside the arguments", async () => {
    await using app = new AppWithLanes(LEGACY);
    await using client = await app.client();
    const _meta = { "vendor/call": "7" };
    const answer = await client.callTool("echo", { text: "hi" }, { _meta });
    assert.equal(answer["result"].content[0].text, "hi");
    assert.deepEqual(app.server.asked("tools/call").at(-1)?.["params"]._meta, _meta);
    assert.deepEqual(app.records.at(-1)?.["arguments"], { text: "hi" });
  });

  it("has its progress passed on under the token of its caller", async () => {
    const tokens: unknown[] = [];
    await using app = new AppWithLanes(
      answering(({ _meta }, server) => {
        tokens.push(_meta.progressToken);
        server.notify("notifications/progress", { ..._meta, progress: 1, message: "half" });
        return { content: [{ type: "text", text: "done" }] };
      }),
    );
    await using client = await app.client();
    const called = mock.method(app.offer.tools, "call");
    const full = await client.callTool(
      "echo",
      { text: "slow" },
      { _meta: { progressToken: "full", [META.logLevel]: "info" } },
    );
    const passed = await client.callTool(
      "echo",
      { text: "slow" },
      { _meta: { progressToken: "mine" } },
    );
    assert.equal(called.mock.callCount(), 1, "the second one was passed on");
    assert.deepEqual(passed["result"], full["result"]);
    const told = client.told("notifications/progress").map(({ params }) => params);
    assert.deepEqual(told, [
      { progressToken: "full", progress: 1, message: "half" },
      { progressToken: "mine", progress: 1, message: "half" },
    ]);
    assert.ok(tokens.every((token) => typeof token === "number"));
    assert.equal(new Set(tokens).size, 2);
    const outcomes = app.records.slice(-2).map(({ outcome }) => outcome as string);
    assert.deepEqual(outcomes, ["ok", "ok"]);
  });

  it("has its secrets masked in the record", async () => {
    await using app = new AppWithLanes(LEGACY);
    await using client = await app.client();
    await client.callTool("echo", { text: "t", password: "hunter2" });
    assert.equal(isPassed(app.server), true);
    assert.deepEqual(app.records.at(-1)?.["arguments"], { text: "t", password: "•••" });
  });

  for (const [what, script, expected] of [
    [
      "another kind of content",
      answering(() => ({ content: [{ type: "image", data: "", mimeType: "image/png" }] })),
      { result: { content: [{ type: "image", data: "", mimeType: "image/png" }] } },
    ],
    [
      "an error",
      answering(() => {
        throw new Refusal(-32050, "No", { why: 1 });
      }),
      { error: { code: -32050, message: "No", data: { why: 1 } } },
    ],
    [
      "no result",
      answering(() => 7),
      {
        error: {
          code: -32036,
          message:
            "Bad answer: the response to 'tools/call' is malformed: 'result' must be an object",
        },
      },
    ],
  ] as const) {
    it(`may be answered with ${what}`, async () => {
      await using app = new AppWithLanes(script);
      await using client = await app.client();
      const { jsonrpc: _, id: __, ...answer } = await client.callTool("echo", { text: "odd" });
      assert.equal(isPassed(app.server), true);
      assert.deepEqual(answer, expected);
      assert.equal(app.records.at(-1)?.["outcome"], "error" in expected ? "error" : "ok");
    });
  }

  it("can be cancelled", async () => {
    await using app = new AppWithLanes(answering(() => SILENCE));
    await using client = await app.client();
    const id = client.send("tools/call", { name: "echo", arguments: { text: "slow" } });
    await app.server.until(isPassed);
    client.notify("notifications/cancelled", { requestId: id, reason: "enough" });
    await app.server.until(({ heard }) =>
      heard.some(({ method }) => method === "notifications/cancelled"),
    );
    const [told] = app.server.asked("notifications/cancelled");
    assert.equal(told?.["params"].requestId, app.server.asked("tools/call").at(-1)?.["id"]);
    assert.equal((await client.callTool("echo", { text: "first" }))["error"], undefined);
    const outcomes = app.records.map(({ outcome }) => outcome as string);
    assert.equal(outcomes.filter((outcome) => outcome === "cancelled").length, 1);
  });

  it("fails in words where its server dies", async () => {
    await using app = new AppWithLanes(
      answering((_, server) => {
        server.die();
        return SILENCE;
      }),
    );
    await using client = await app.client();
    const answer = await client.callTool("echo", { text: "die" });
    assert.equal(answer["result"].isError, true);
    assert.match(answer["result"].content[0].text, /'a' ended before it had answered/);
    assert.equal(app.records.at(-1)?.["outcome"], "error");
  });

  it("is repeated where its server dies and that does no harm", async () => {
    let deaths = 0;
    const tool = { ...ECHO, annotations: { readOnlyHint: true } };
    await using app = new AppWithLanes(
      answering(
        (_, server) => {
          if (deaths++ > 0) return { content: [{ type: "text", text: "again" }] };
          server.die();
          return SILENCE;
        },
        { "tools/list": () => ({ tools: [tool] }) },
      ),
    );
    await using client = await app.client();
    const answer = await client.callTool("echo", { text: "die once" });
    assert.deepEqual(answer["result"], { content: [{ type: "text", text: "again" }] });
    assert.equal(app.scripts.of("a").length, 2);
  });

  it("may have its client asked, and hears what its server says", async () => {
    const question = { message: "Sure?", requestedSchema: { type: "object", properties: {} } };
    await using app = new AppWithLanes(
      answering(async (_, server) => {
        server.notify("notifications/message", { level: "warning", data: "hm" });
        const { result } = await server.request("elicitation/create", question);
        return { content: [{ type: "text", text: JSON.stringify(result) }] };
      }),
    );
    await using client = await app.client({
      capabilities: { elicitation: {} },
      answers: { "elicitation/create": () => ({ action: "decline" }) },
    });
    const answer = await client.callTool("echo", { text: "ask" });
    assert.equal(isPassed(app.server), true);
    assert.equal(answer["result"].content[0].text, '{"action":"decline"}');
    assert.equal(client.asked.length, 1);
    assert.equal(client.told("notifications/message")[0]?.["params"].data, "hm");
  });

  it("is refused as ever when its id is in use", async () => {
    await using app = new AppWithLanes(answering(() => SILENCE));
    await using client = await app.client();
    const id = client.send("tools/call", { name: "echo", arguments: { text: "slow" } });
    await app.server.until(isPassed);
    client.repeat(id, "tools/call", { name: "echo", arguments: { text: "slow" } });
    const answer = await client.answerTo(id);
    assert.match(answer["error"].message, /belongs to a request in flight/);
  });

  it("is refused when the number of a call in flight is used for a tool that is here", async () => {
    await using app = new AppWithLanes(LEGACY);
    app.offer.tools.add(sampleTool("here", () => textResult("yes")));
    app.offer.tools.add(sampleTool("slow", () => new Promise<never>(() => {})));
    await using client = await RawClient.connect(app.door, { revision: "2025-11-25" });
    for (let n = 0; n < 2; n++) await client.callTool("here", {});
    // The client's own ids are texts.
    const id = 7 as unknown as string;
    client.repeat(id, "tools/call", { name: "here", arguments: {} });
    assert.equal((await client.answerTo(id))["result"].content[0].text, "yes");
    client.repeat(id, "tools/call", { name: "slow", arguments: {} });
    const before = client.messages.length;
    client.repeat(id, "tools/call", { name: "here", arguments: {} });
    await client.until(({ messages }) => messages.length > before);
    assert.match(client.messages.at(-1)?.["error"].message, /belongs to a request in flight/);
  });
});

describe("a call is parsed", () => {
  /** What comes of a call after a change, and whether it came to the server as text. */
  async function after(
    change: (app: AppWithLanes) => void,
    args: Json = { text: "x" },
  ): Promise<Json> {
    await using app = new AppWithLanes(LEGACY);
    await using client = await app.client();
    const before = app.server.asked("tools/call").length;
    change(app);
    const answer = await client.callTool("echo", args);
    const calls = app.server.asked("tools/call").length - before;
    return { calls, isPassed: isPassed(app.server), answer };
  }
  const policy = (rule: Partial<PolicyRule>) => (app: AppWithLanes) => {
    const rules: PolicyRule[] = [{ tool: "echo", decision: "deny", ...rule }];
    app.offer.tools.policy = new Policy({ default: "allow", rules });
  };

  it("as soon as the policy is another one, which may deny it", async () => {
    const { calls, answer } = await after(policy({}));
    assert.equal(calls, 0);
    assert.match(answer.result.content[0].text, /The policy does not let/);
  });

  it("where a rule looks at arguments", async () => {
    const denied = await after(policy({ arguments: { text: "secret*" } }), { text: "secret plan" });
    assert.equal(denied["calls"], 0);
    const allowed = await after(policy({ arguments: { text: "secret*" } }));
    assert.deepEqual([allowed["calls"], allowed["isPassed"]], [1, false]);
  });

  it("where the tool is gone", async () => {
    const { calls, answer } = await after((app) => {
      void app.upstreams.configure({});
    });
    assert.equal(calls, 0);
    assert.match(answer.error.message, /echo/);
  });

  it("where its arguments do not fit the schema", async () => {
    const properties = { text: { type: "string" } };
    const tool = { ...ECHO, inputSchema: { type: "object", properties } };
    await using app = new AppWithLanes({ ...LEGACY, "tools/list": () => ({ tools: [tool] }) });
    await using client = await app.client();
    const answer = await client.callTool("echo", { text: 7 });
    assert.match(answer["result"].content[0].text, /'text' must be string/);
    await client.callTool("echo", { text: "fits" });
    assert.equal(isPassed(app.server), true);
  });

  it("where client and server speak different revisions", async () => {
    await using app = new AppWithLanes(MODERN);
    await app.upstreams.configure({ a: { command: "a" } });
    await app.upstreams.known();
    await using client = await RawClient.connect(app.door, { revision: "2025-11-25" });
    for (let n = 0; n < 20; n++) await client.callTool("echo", { text: `${n}` });
    assert.ok(app.server.asked("tools/call").every(({ params }) => "_meta" in params));
  });

  it("where its client introduces itself anew, under whose new name it is recorded", async () => {
    await using app = new AppWithLanes(LEGACY);
    app.offer.tools.add(sampleTool("here", () => textResult("yes")));
    await using client = await RawClient.connect(app.door, { revision: "2025-11-25", name: "0" });
    for (let round = 1; round <= 3; round++) {
      // Both are read before a lane of the call is open.
      client.send("tools/call", { name: "here" });
      const clientInfo = { name: `${round}`, version: "1" };
      await client.request("initialize", {
        ...{ protocolVersion: "2025-11-25", capabilities: {}, clientInfo },
      });
      for (let call = 1; call <= 2; call++) await client.callTool("here");
    }
    const names = app.records.map(({ caller }) => caller as string);
    assert.equal(names.join(" "), "0 1 1 1 2 2 2 3 3");
  });

  it("where another client uses the server, too", async () => {
    await using app = new AppWithLanes(LEGACY);
    await using client = await app.client();
    await using other = await RawClient.connect(app.door, { revision: "2025-11-25" });
    await other.callTool("echo", { text: "mine" });
    const answer = await client.callTool("echo", { text: "yours" });
    assert.equal(isPassed(app.server), false);
    assert.equal(answer["result"].content[0].text, "yours");
  });
});
