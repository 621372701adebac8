import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AcpApp, type Message, type TestClient } from "../../../../test/support/acp-app.ts";
import { chunk, promptText } from "../../../../test/support/scripted-agent.ts";
import type { SessionUpdate } from "../../../session/agent.ts";
import type { PermissionOption } from "../../../session/permission/permission.ts";

const PLACE = { cwd: "/tmp", mcpServers: [] };
const OPTIONS: PermissionOption[] = [
  { optionId: "once", kind: "allow_once", name: "Allow once" },
  { optionId: "no", kind: "reject_once", name: "Reject" },
];

async function begin(app: AcpApp): Promise<{ client: TestClient; sessionId: string }> {
  const client = await app.connectV2();
  const { sessionId } = await client.ask("session/new", PLACE);
  return { client, sessionId: String(sessionId) };
}

/** What the states of a session were told to be, without what repeats. */
function states(client: TestClient): string[] {
  return client.updates
    .filter(({ sessionUpdate }) => sessionUpdate === "state_update")
    .map(({ state, stopReason }) => [state, stopReason].filter(Boolean).join(" "));
}

async function untilIdle(client: TestClient, times = 1): Promise<void> {
  const idle = () => client.updates.filter(({ state }) => state === "idle");
  await client.find(() => idle().length >= times);
}

describe("version 2 of ACP", { timeout: 30_000 }, () => {
  it("answers a prompt when it is accepted, and reports its end by the state", async () => {
    await using app = await AcpApp.open({
      script: async (turn) => {
        await turn.update(chunk("Hi "));
        await turn.update(chunk("there"));
      },
    });
    const { client, sessionId } = await begin(app);
    const { messageId } = await client.prompt(sessionId, "Hello");
    await untilIdle(client);
    const said = client.updates.slice(1).map(({ sessionUpdate, messageId: id, content }) => {
      return [sessionUpdate, id, content?.text];
    });
    assert.deepEqual(
      said.filter(([kind]) => kind !== "state_update"),
      [
        ["user_message_chunk", messageId, "Hello"],
        ["session_info_update", undefined, undefined],
        ["agent_message_chunk", `${messageId}.1`, "Hi "],
        ["agent_message_chunk", `${messageId}.1`, "there"],
      ],
    );
    assert.deepEqual(states(client), ["running", "idle end_turn"]);
    const answers = client.messages.filter(({ result }) => result?.messageId !== undefined);
    assert.equal(answers.length, 1);
  });

  it("converts every update to its own shape", async () => {
    const diff = { type: "diff", path: "/a", oldText: "1\n", newText: "2\n" };
    const updates: SessionUpdate[] = [
      { sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "Hm" } },
      {
        sessionUpdate: "tool_call",
        toolCallId: "t",
        title: "Edit",
        kind: "edit",
        status: "pending",
        locations: [
          { path: "/a", line: 0 },
          { path: "/b", line: 2 },
        ],
      },
      { sessionUpdate: "tool_call_update", toolCallId: "t", status: "completed", content: [diff] },
      {
        sessionUpdate: "plan",
        entries: [{ content: "All", priority: "high", status: "pending" }],
      },
      { sessionUpdate: "usage_update", used: 1, size: 2 },
      { sessionUpdate: "notice", severity: "info", title: "By the way" },
      { sessionUpdate: "current_mode_update", currentModeId: "architect" },
      {
        sessionUpdate: "available_commands_update",
        availableCommands: [{ name: "a", description: "b", input: { hint: "c" } }],
      },
      chunk("Done"),
    ];
    await using app = await AcpApp.open({
      script: async (turn) => {
        for (const update of updates) await turn.update(update);
      },
    });
    const { client, sessionId } = await begin(app);
    const { messageId } = await client.prompt(sessionId, "all");
    await untilIdle(client);
    const seen = client.updates.filter(({ sessionUpdate }) => {
      return sessionUpdate !== "state_update" && sessionUpdate !== "user_message_chunk";
    });
    const [, , thought, call, update, plan, usage, notice, commands, done] = seen;
    assert.equal(thought?.messageId, `${messageId}.1`);
    assert.deepEqual(call, {
      sessionUpdate: "tool_call_update",
      toolCallId: "t",
      title: "Edit",
      kind: "edit",
      status: "pending",
      locations: [{ path: "/a" }, { path: "/b", line: 2 }],
    });
    assert.deepEqual(update?.content[0].changes, [
      { operation: "modify", path: "/a", fileType: "text" },
    ]);
    assert.match(update?.content[0].patch.text, /@@ -1,1 \+1,1 @@\n-1\n\+2\n$/);
    assert.deepEqual(plan?.plan.entries, updates[3]?.entries);
    assert.deepEqual([usage, notice], [updates[4], updates[5]]);
    assert.deepEqual(commands?.availableCommands, [
      { type: "command", name: "a", description: "b", input: { type: "text", hint: "c" } },
    ]);
    assert.equal(done?.messageId, `${messageId}.2`);
  });

  it("asks for permission in its own shape, and reports that an action is required", async () => {
    await using app = await AcpApp.open({
      script: async (turn) => {
        const toolCall = { toolCallId: "t", title: "Run it", status: "pending" };
        const outcome = await turn.requestPermission({ toolCall, options: OPTIONS });
        await turn.update(chunk(JSON.stringify(outcome)));
      },
    });
    const { client, sessionId } = await begin(app);
    client.answer = () => ({ result: { outcome: { outcome: "selected", optionId: "once" } } });
    await client.prompt(sessionId, "x");
    await untilIdle(client);
    const { params } = await client.request("session/request_permission");
    assert.deepEqual(params, {
      sessionId,
      title: "Run it",
      subject: {
        type: "tool_call",
        toolCall: { toolCallId: "t", title: "Run it", status: "pending" },
      },
      options: OPTIONS,
    });
    assert.match(client.text, /"optionId":"once"/);
    assert.deepEqual(states(client), ["running", "requires_action", "running", "idle end_turn"]);
  });

  it("shows a whole change to the client that must allow it, and a shortened one to others", async () => {
    const newText = "a changed line\n".repeat(5_000);
    const content = [{ type: "diff", path: "/a", oldText: "", newText }];
    await using app = await AcpApp.open({
      script: async (turn) => {
        await turn.requestPermission({ toolCall: { toolCallId: "t", content }, options: OPTIONS });
        await turn.update({ sessionUpdate: "tool_call_update", toolCallId: "t", content });
      },
    });
    const { client, sessionId } = await begin(app);
    client.answer = () => ({ result: { outcome: { outcome: "selected", optionId: "once" } } });
    await client.prompt(sessionId, "x");
    await untilIdle(client);
    const { params } = await client.request("session/request_permission");
    const [asked] = params.subject.toolCall.content;
    assert.equal(asked.patch.text.match(/^\+a changed line$/gm).length, 5_000);
    const told = client.updates.find(({ toolCallId }) => toolCallId === "t");
    assert.equal(told?.content[0].patch, undefined);
  });

  it("reports a failed turn by its state, because the prompt was already answered", async () => {
    await using app = await AcpApp.open({
      script: async () => {
        throw new Error("secret inside");
      },
    });
    const { client, sessionId } = await begin(app);
    await client.prompt(sessionId, "x");
    await untilIdle(client);
    const idle = client.updates.find(({ state }) => state === "idle");
    assert.deepEqual(idle, {
      sessionUpdate: "state_update",
      state: "idle",
      stopReason: "error",
      error: { code: -32035, message: "The agent failed" },
    });
  });

  it("holds a prompt while another runs, until that is done or cancelled", async () => {
    const release = Promise.withResolvers<void>();
    await using app = await AcpApp.open({
      sessionLimits: { cancelGrace: 1 },
      script: async (turn) => {
        await turn.update(chunk(`${promptText(turn)} `));
        if (promptText(turn) === "one") await release.promise;
        if (promptText(turn) === "hang") await new Promise(() => {});
      },
    });
    const { client, sessionId } = await begin(app);
    await client.prompt(sessionId, "one");
    const second = client.prompt(sessionId, "two");
    const withdrawn = client.post("session/prompt", {
      sessionId,
      prompt: [{ type: "text", text: "never" }],
    });
    client.send({ jsonrpc: "2.0", method: "$/cancel_request", params: { requestId: withdrawn } });
    assert.equal((await client.answerTo(withdrawn)).error.code, -32800);
    release.resolve();
    assert.ok((await second).messageId);
    await untilIdle(client, 2);
    await client.prompt(sessionId, "hang");
    const held = client.prompt(sessionId, "never");
    await client.ask("session/list", {});
    client.send({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId } });
    await assert.rejects(held, { code: -32800 });
    await untilIdle(client, 3);
    assert.equal(client.text, "one two hang ");
    assert.equal(states(client).at(-1), "idle cancelled");
  });

  it("replays messages with the same ids, and reports the session's state", async () => {
    await using app = await AcpApp.open({
      script: async (turn) => {
        await turn.update(chunk("one"));
        await turn.update({ sessionUpdate: "tool_call", toolCallId: "t", title: "T" });
        await turn.update(chunk("two"));
        if (promptText(turn) === "hang") await new Promise(() => {});
      },
      sessionLimits: { cancelGrace: 1 },
    });
    const { client, sessionId } = await begin(app);
    await client.prompt(sessionId, "x");
    await untilIdle(client);
    await client.prompt(sessionId, "hang");
    await client.find(() => client.text === "onetwoonetwo");
    const ids = (updates: readonly Message[]): unknown[] =>
      updates.map(({ messageId }) => messageId).filter(Boolean);
    const other = await app.connectV2();
    const answer = await other.ask("session/resume", {
      sessionId,
      ...PLACE,
      replayFrom: { type: "start" },
    });
    assert.deepEqual(ids(other.updates), ids(client.updates));
    assert.equal(new Set(ids(client.updates)).size, 6);
    assert.deepEqual(states(other), ["running"]);
    assert.equal(other.messages.at(-2)?.params.update.state, "running");
    assert.equal(answer.configOptions[0].configId, "mode");
    const third = await app.connectV2();
    await third.ask("session/resume", { sessionId, ...PLACE });
    assert.equal(third.text, "");
    assert.deepEqual(states(third), ["running"]);
    await assert.rejects(
      third.ask("session/resume", { sessionId, ...PLACE, replayFrom: { type: "half" } }),
      { code: -32602 },
    );
    await client.ask("session/close", { sessionId });
    assert.equal(states(client).at(-1), "idle cancelled");
    assert.deepEqual(await client.ask("session/close", { sessionId }), {});
  });

  it("has its own options, errors and methods", async () => {
    await using app = await AcpApp.open();
    const { client, sessionId } = await begin(app);
    const created = await client.ask("session/new", PLACE);
    assert.deepEqual(Object.keys(created).toSorted(), ["configOptions", "sessionId"]);
    const set = await client.ask("session/set_config_option", {
      sessionId,
      configId: "model",
      type: "id",
      value: "openai/gpt-4",
    });
    assert.deepEqual(
      set.configOptions.map((option: Message) => [option.configId, option.currentValue]),
      [
        ["mode", "build"],
        ["model", "openai/gpt-4"],
      ],
    );
    await assert.rejects(client.prompt("none", "x"), {
      code: -32002,
      data: { details: "There is no session 'none'.", sessionId: "none" },
    });
    for (const [method, params] of [
      ["session/load", { sessionId, ...PLACE }],
      ["session/set_mode", { sessionId, modeId: "build" }],
      ["session/set_model", { sessionId, modelId: "openai/gpt-4" }],
      ["authenticate", { methodId: "x" }],
      ["logout", {}],
    ] as const) {
      await assert.rejects(client.ask(method, params), { code: -32601 }, method);
    }
    const { sessions } = await client.ask("session/list", {});
    assert.equal(sessions.length, 2);
    assert.deepEqual(await client.ask("session/delete", { sessionId }), {});
  });

  it("does not affect clients of the same session that use version 1", async () => {
    await using app = await AcpApp.open({ script: (turn) => turn.update(chunk("Hi")) });
    const { client, sessionId } = await begin(app);
    const old = app.connect();
    await old.initialize();
    await old.ask("session/load", { sessionId, ...PLACE });
    await client.prompt(sessionId, "from the new");
    await untilIdle(client);
    await old.prompt(sessionId, "from the old");
    await untilIdle(client, 2);
    assert.equal(old.text, "HiHi");
    assert.equal(client.text, "HiHi");
    const prompts = client.updates.filter(({ sessionUpdate }) => {
      return sessionUpdate === "user_message_chunk";
    });
    assert.deepEqual(
      prompts.map(({ content }) => content.text),
      ["from the new", "from the old"],
    );
  });
});
