import assert from "node:assert/strict";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, it, type TestContext } from "node:test";

import { FixtureServer, programBeforeFixture } from "../conformance/fixture-server.ts";
import {
  connectV1,
  connectV2,
  type Mode,
  type SdkClient,
  type TaskMessage,
  type ToolAnswer,
  type Transport,
} from "../conformance/sdk-client.ts";
import { packages } from "../conformance/suite.ts";
import { TaskClient } from "../conformance/task-client.ts";
import { until } from "../support/until.ts";

const WATCHED = "test://watched-resource";
const MODERN = "2026-07-28";

const textOf = ({ content }: ToolAnswer): string => content[0]?.text ?? "";

describe("clients of the official SDK", { concurrency: 3, timeout: 600_000 }, () => {
  before(() => packages.install());

  for (const transport of ["http", "sse", "stdio"] satisfies Transport[]) {
    it(`version 1 works over ${transport}`, async (t) => {
      await using server = await FixtureServer.start();
      await using session = await connectV1(transport, server.url);
      await common(t, session);
      await t.test("watches a resource", async () => {
        await session.client.subscribeResource({ uri: WATCHED });
        await session.call("test_trigger_resource_update");
        const updated = await session.heard("notifications/resources/updated");
        assert.equal(updated.params?.uri, WATCHED);
      });
      await hearsOfChanges(t, session);
      await t.test("runs a task, and answers its questions", async () => {
        const { tasks } = session.client.experimental;
        const slow = { name: "slow_compute", arguments: { seconds: 0.05, label: "L" } };
        assert.equal(await endOf(tasks.callToolStream(slow)), "computed L");
        const asking = { name: "confirm_delete", arguments: { filename: "f" } };
        assert.equal(await endOf(tasks.callToolStream(asking)), "delete f: accept");
        const { tasks: known } = await tasks.listTasks();
        assert.deepEqual(
          known.map(({ status }) => status),
          ["completed", "completed"],
        );
        const told = await session.heard("notifications/tasks/status");
        assert.equal(told.params?.status, "completed");
      });
      assert.deepEqual(session.errors, []);
    });
  }

  const modes: Record<string, Mode> = { legacy: "legacy", auto: "auto", modern: { pin: MODERN } };
  for (const transport of ["http", "stdio"] as const) {
    for (const [name, mode] of Object.entries(modes)) {
      it(`version 2 works over ${transport}, ${name}`, async (t) => {
        await using server = await FixtureServer.start();
        await using session = await connectV2(transport, server.url, mode);
        const { client } = session;
        const isModern = name !== "legacy";
        assert.equal(client.getProtocolEra(), isModern ? "modern" : "legacy");
        assert.equal(client.getNegotiatedProtocolVersion(), isModern ? MODERN : "2025-11-25");
        await common(t, session);
        await t.test("watches a resource, and lists", async () => {
          if (isModern) {
            const filter = { resourceSubscriptions: [WATCHED], toolsListChanged: true };
            const subscription = await client.listen(filter);
            assert.deepEqual(subscription.honoredFilter, filter);
            await session.call("test_trigger_resource_update");
            await session.call("test_trigger_tool_change");
            await session.heard("notifications/tools/list_changed");
            await session.heard("notifications/resources/updated");
            await subscription.close();
          } else {
            await client.subscribeResource({ uri: WATCHED });
            await session.call("test_trigger_resource_update");
            await session.heard("notifications/resources/updated");
          }
        });
        if (!isModern) await hearsOfChanges(t, session);
        assert.deepEqual(session.errors, []);
      });
    }
  }
});

describe(
  "clients of the official SDK, with a server behind the program",
  { timeout: 600_000 },
  () => {
    before(() => packages.install());

    for (const [version, connect] of [
      ["version 1", (program) => connectV1("stdio", "", program)],
      ["version 2, legacy", (program) => connectV2("stdio", "", "legacy", program)],
      ["version 2, modern", (program) => connectV2("stdio", "", { pin: MODERN }, program)],
    ] satisfies [string, (program: ReturnType<typeof programBeforeFixture>) => unknown][]) {
      it(`work as with the server itself: ${version}`, async (t) => {
        await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-sdk-"));
        await using session: SdkClient = await connect(programBeforeFixture(folder.path));
        await common(t, session);
        assert.deepEqual(session.errors, []);
      });
    }
  },
);

describe("the official client of the tasks extension", { timeout: 600_000 }, () => {
  before(() => packages.install());

  it("runs tasks until they end, and answers their questions", async () => {
    await using server = await FixtureServer.start();
    await using client = await TaskClient.connect(server.url);
    assert.equal(textOf(await client.run("greet", { name: "Ada" })), "Hello, Ada!");
    const slow = await client.run("slow_compute", { seconds: 0.05, label: "L" });
    assert.equal(textOf(slow), "computed L");
    const asked = await client.run("confirm_delete", { filename: "f" });
    assert.equal(textOf(asked), "delete f: accept");
    assert.match(textOf(await client.run("multi_input")), /"name":"Ada"/);
    assert.equal(textOf(await client.run("test_tool_with_task")), "Hello Ada");
    const failed = await client.run("failing_job");
    assert.deepEqual([failed.isError, textOf(failed)], [true, "job failed"]);
    await assert.rejects(client.run("protocol_error_job"), /Internal failure/);
  });
});

/** What every client can do, whatever it speaks. */
async function common(t: TestContext, session: SdkClient): Promise<void> {
  const { client } = session;
  await t.test("lists tools, resources and prompts", async () => {
    // On a busy machine a server behind the program may need longer than a list waits.
    await until(async () => (await client.listTools()).tools.length > 0);
    const { tools } = await client.listTools();
    assert.equal(tools[0]?.name, "test_simple_text");
    const { resources } = await client.listResources();
    assert.ok(resources.some(({ uri }) => uri === WATCHED));
    const { resourceTemplates } = await client.listResourceTemplates();
    assert.equal(resourceTemplates[0]?.uriTemplate, "test://template/{id}/data");
    const { prompts } = await client.listPrompts();
    assert.equal(prompts[0]?.name, "test_simple_prompt");
  });
  await t.test("calls tools", async () => {
    const answer = await session.call("test_simple_text");
    assert.equal(textOf(answer), "This is a simple text response for testing.");
    const region = await session.call("test_custom_header", { region: "Zürich " });
    assert.equal(textOf(region), "region=Zürich ");
    assert.equal((await session.call("test_error_handling")).isError, true);
    await assert.rejects(session.call("no_such_tool"), { code: -32602 });
  });
  await t.test("receives progress", async () => {
    const seen: number[] = [];
    const onprogress = ({ progress }: { progress: number }) => void seen.push(progress);
    await session.call("test_tool_with_progress", {}, { onprogress });
    // What comes late has come by the time of the next answer.
    await session.call("test_simple_text");
    assert.deepEqual([...seen, ...session.lateProgress], [0, 50, 100]);
  });
  await t.test("cancels a call", async () => {
    const abort = new AbortController();
    const onprogress = () => abort.abort(new Error("enough"));
    const call = session.call("test_wait", {}, { onprogress, signal: abort.signal });
    await assert.rejects(call, /enough/);
    assert.equal(textOf(await session.call("test_cancelled")), "cancelled");
  });
  await t.test("answers the questions of tools", async () => {
    const elicited = await session.call("test_elicitation", { message: "Who are you?" });
    assert.match(textOf(elicited), /action: accept.*"username":"ada"/);
    const sampled = await session.call("test_sampling", { prompt: "Hello" });
    assert.equal(textOf(sampled), "LLM response: You said: Hello");
    const roots = await session.call("test_input_required_result_list_roots");
    assert.equal(textOf(roots), "file:///project");
    const rounds = await session.call("test_input_required_result_multi_round");
    assert.equal(textOf(rounds), "Ada likes red");
    const three = await session.call("test_input_required_result_multiple_inputs");
    assert.equal(textOf(three), "all inputs received");
  });
  await t.test("reads resources and prompts, and completes arguments", async () => {
    const { contents } = await client.readResource({ uri: "test://template/ä/data" });
    assert.match(contents[0]?.text ?? "", /Data for ID: ä/);
    const args = { arg1: "one", arg2: "two" };
    const prompt = await client.getPrompt({ name: "test_prompt_with_arguments", arguments: args });
    assert.match(prompt.messages[0]?.content.text ?? "", /arg1='one', arg2='two'/);
    const { completion } = await client.complete({
      ref: { type: "ref/prompt", name: "test_prompt_with_arguments" },
      argument: { name: "arg1", value: "test" },
    });
    assert.deepEqual(completion.values, ["test-one", "test-two"]);
  });
}

async function hearsOfChanges(t: TestContext, session: SdkClient): Promise<void> {
  await t.test("is notified that a list has changed", async () => {
    await session.call("test_trigger_tool_change");
    await session.heard("notifications/tools/list_changed");
  });
}

/** The text that a task ends with. */
async function endOf(messages: AsyncIterable<TaskMessage>): Promise<string> {
  let last: TaskMessage | undefined;
  for await (const message of messages) last = message;
  assert.equal(last?.type, "result", JSON.stringify(last));
  return textOf(last.result!);
}
