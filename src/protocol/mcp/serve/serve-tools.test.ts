import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { fixtureOffer } from "../../../../test/conformance/fixture/offer.ts";
import { covers } from "../../../../test/support/requirement.ts";
import { until } from "../../../../test/support/until.ts";
import { type Json, RawClient } from "../../../../test/upstream/raw-client.ts";
import { Offer } from "../../../tool/offer/offer.ts";
import { textResult, type Tool } from "../../../tool/tool.ts";
import { TASKS_CAPABILITY } from "../meta.ts";
import { McpDoor } from "./door.ts";

const LEGACY = { revision: "2025-11-25" } as const;
const MODERN = { revision: "2026-07-28" } as const;

function doorWith(task: NonNullable<Tool["task"]>): McpDoor {
  const offer = new Offer();
  offer.tools.add({
    definition: { name: "work", inputSchema: { type: "object" } },
    task,
    call: async () => textResult("worked"),
  });
  return new McpDoor({ offer });
}

describe("tools/list", () => {
  it("lists all tools in a fixed order, with the schemas of their arguments", async () => {
    covers("mcp.tools.list", "mcp.tools.deterministic-order", "mcp.tools.schema");
    const door = new McpDoor({ offer: fixtureOffer() });
    await using first = await RawClient.connect(door, LEGACY);
    await using second = await RawClient.connect(door, MODERN);
    const names = async (client: RawClient): Promise<string[]> => {
      const { result } = await client.request("tools/list");
      for (const { inputSchema } of result.tools) assert.equal(inputSchema.type, "object");
      return (result.tools as Json[]).map(({ name }) => name as string);
    };
    const listed = await names(first);
    assert.ok(listed.length > 10);
    assert.deepEqual(await names(second), listed);
  });
});

describe("tools/call", () => {
  it("reports a tool's failure to the model, and an invalid call to the client", async () => {
    covers("mcp.tools.execution-error", "mcp.tools.unknown", "mcp.tools.invalid-arguments");
    for (const options of [LEGACY, MODERN]) {
      await using client = await RawClient.connect(new McpDoor({ offer: fixtureOffer() }), options);
      const failed = await client.callTool("test_error_handling");
      assert.equal(failed["result"].isError, true);
      assert.equal((await client.callTool("no_such_tool"))["error"].code, -32602);
      const wrong = await client.callTool("greet", { name: 5 });
      assert.equal(wrong["result"].isError, true);
      assert.match(wrong["result"].content[0].text, /'name' must be string/);
    }
  });

  it("reports progress under the caller's token, before the answer", async () => {
    covers("mcp.progress.token", "mcp.progress.only-with-token", "mcp.progress.before-answer");
    for (const options of [LEGACY, MODERN]) {
      await using client = await RawClient.connect(new McpDoor({ offer: fixtureOffer() }), options);
      await client.callTool("test_tool_with_progress");
      assert.equal(client.told("notifications/progress").length, 0);
      const { id } = await client.callTool(
        "test_tool_with_progress",
        {},
        { _meta: { progressToken: "t" } },
      );
      const told = client.told("notifications/progress");
      assert.ok(told.length > 1);
      assert.ok(told.every(({ params }) => params.progressToken === "t"));
      const values = told.map(({ params }) => params.progress as number);
      assert.deepEqual(
        values,
        values.toSorted((a, b) => a - b),
      );
      assert.equal(client.messages.at(-1)?.["id"], id);
    }
  });

  it("neither waits for nor answers a cancelled call, and ignores unknown ids", async () => {
    covers("mcp.cancellation.stop", "mcp.cancellation.unknown");
    await using client = await RawClient.connect(new McpDoor({ offer: fixtureOffer() }), LEGACY);
    const _meta = { progressToken: "begun" };
    const id = client.send("tools/call", { name: "test_wait", arguments: {}, _meta });
    await until(() => client.told("notifications/progress").length > 0);
    client.notify("notifications/cancelled", { requestId: "never-sent" });
    client.notify("notifications/cancelled", {});
    client.notify("notifications/cancelled", { requestId: id });
    const { result } = await client.callTool("test_cancelled");
    assert.ok(result !== undefined);
    assert.ok(!client.messages.some((message) => message["id"] === id));
  });
});

describe("tools/call as a task, at 2025-11-25", () => {
  it("is refused with -32601 if the tool requires a task and the client did not ask for one", async () => {
    covers("mcp.tasks.required");
    await using client = await RawClient.connect(doorWith("required"), LEGACY);
    assert.equal((await client.callTool("work"))["error"].code, -32601);
    const { result } = await client.callTool("work", {}, { task: { ttl: 60_000 } });
    assert.equal(result.task.ttl, 60_000);
    const { result: done } = await client.request("tasks/result", { taskId: result.task.taskId });
    assert.equal(done.content[0].text, "worked");
    const related = done._meta["io.modelcontextprotocol/related-task"];
    assert.equal(related.taskId, result.task.taskId);
  });

  it("is the client's choice if the tool allows both", async () => {
    covers("mcp.tasks.optional", "mcp.tasks.result", "mcp.tasks.list");
    await using client = await RawClient.connect(doorWith("optional"), LEGACY);
    assert.equal((await client.callTool("work"))["result"].content[0].text, "worked");
    const { result } = await client.callTool("work", {}, { task: {} });
    const listed = await client.request("tasks/list");
    assert.equal(listed["result"].tasks[0].taskId, result.task.taskId);
    const { result: tools } = await client.request("tools/list");
    assert.deepEqual(tools.tools[0].execution, { taskSupport: "optional" });
  });

  it("is not supported in older revisions: the call is answered with its result", async () => {
    covers("mcp.tasks.ignored-before");
    await using client = await RawClient.connect(doorWith("required"), { revision: "2025-06-18" });
    const { result } = await client.callTool("work", {}, { task: {} });
    assert.equal(result.content[0].text, "worked");
  });
});

describe("tools/call as a task, at 2026-07-28", () => {
  it("is our choice, for clients that support tasks", async () => {
    covers("mcp.tasks-extension.server-decides");
    const options = { ...MODERN, capabilities: TASKS_CAPABILITY };
    await using client = await RawClient.connect(doorWith("optional"), options);
    assert.equal((await client.callTool("work"))["result"].resultType, "task");
    await using plain = await RawClient.connect(doorWith("optional"), MODERN);
    assert.equal((await plain.callTool("work"))["result"].resultType, "complete");
  });

  it("is refused with the missing capability if there is no other way", async () => {
    covers("mcp.modern.missing-capability");
    await using client = await RawClient.connect(doorWith("required"), MODERN);
    const { error } = await client.callTool("work");
    assert.equal(error.code, -32021);
    assert.deepEqual(error.data.requiredCapabilities, TASKS_CAPABILITY);
  });

  it("is left to an upstream that has not been called yet", async () => {
    const options = { ...MODERN, capabilities: TASKS_CAPABILITY };
    await using client = await RawClient.connect(doorWith("if-asked"), options);
    assert.equal((await client.callTool("work"))["result"].resultType, "complete");
  });
});

describe("a tool that asks a question", () => {
  it("reports to the model that its client cannot be asked, and from 2026-07-28 on to the client", async () => {
    covers("mcp.elicitation.needs-capability", "mcp.sampling.needs-capability");
    const door = new McpDoor({ offer: fixtureOffer() });
    await using legacy = await RawClient.connect(door, LEGACY);
    const { result } = await legacy.callTool("test_sampling", { prompt: "a" });
    assert.equal(result.isError, true);
    assert.match(result.content[0].text, /sampling\/createMessage/);
    await using modern = await RawClient.connect(door, MODERN);
    const { error } = await modern.callTool("test_missing_capability");
    assert.equal(error.code, -32021);
    assert.deepEqual(legacy.asked, []);
    assert.deepEqual(modern.asked, []);
  });
});
