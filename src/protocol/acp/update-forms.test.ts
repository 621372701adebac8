import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { DrivenAgent } from "../../../test/agent/driven-agent.ts";
import type { Message } from "../../../test/support/acp-app.ts";
import type { SessionUpdate } from "../../session/agent.ts";
import { type FormCapabilities, updateForms } from "./update-forms.ts";

const NONE: FormCapabilities = {
  ...{ notices: false, compaction: false, plans: false, subagents: false, booleans: false },
  terminals: "text",
};

/** What a client with these capabilities gets of updates. */
function formed(capabilities: Partial<FormCapabilities>, ...updates: SessionUpdate[]): Message[] {
  const forms = updateForms({ ...NONE, ...capabilities });
  return updates.flatMap((update) => {
    const shown = { kind: update.sessionUpdate, text: JSON.stringify(update) };
    return forms.of("s", shown).map(({ text }) => JSON.parse(text) as Message);
  });
}

const tool = (fields: object, isUpdate = true): SessionUpdate => ({
  sessionUpdate: isUpdate ? "tool_call_update" : "tool_call",
  toolCallId: "t",
  ...fields,
});
const text = (says: string): object => ({ type: "text", text: says });
const part = (says: string): object => ({ type: "content", content: text(says) });

const COMMAND = [
  tool(
    {
      ...{ title: "ls", kind: "execute", status: "pending", rawInput: { command: "ls" } },
      content: [{ type: "terminal", terminalId: "t" }],
      _meta: { terminal_info: { terminal_id: "t", cwd: "/w" }, other: 1 },
    },
    false,
  ),
  tool({ _meta: { terminal_output_delta: { terminal_id: "t", data: "one\n" } } }),
  tool({ _meta: { terminal_output_delta: { terminal_id: "t", data: "\u001b[1mtwo\u001b[0m\n" } } }),
  tool({
    status: "completed",
    _meta: { terminal_exit: { terminal_id: "t", exit_code: 0, signal: null } },
  }),
];

describe("UpdateForms", () => {
  it("passes on what it does not know, and all that the client has announced", () => {
    const unknown = { sessionUpdate: "of_the_future", a: 1 };
    assert.deepEqual(formed({}, unknown), [unknown]);
    const all = {
      ...{ notices: true, compaction: true, plans: true, subagents: true, booleans: true },
      terminals: "delta",
    } as const;
    const updates = [
      { sessionUpdate: "notice", severity: "info", title: "N" },
      { sessionUpdate: "plan_update", plan: { type: "items", planId: "p", entries: [] } },
      { sessionUpdate: "subagent_update", sessionId: "s/a" },
      { sessionUpdate: "config_option_update", configOptions: [{ id: "f", type: "boolean" }] },
      ...COMMAND,
    ];
    assert.deepEqual(formed(all, ...updates), updates);
  });

  it("shows a notice as bold text, and switches as a choice of two", () => {
    const notice = { sessionUpdate: "notice", severity: "warning", title: "A", description: "b" };
    assert.equal(formed({}, notice)[0]?.content.text, "\n\n**A:** b\n\n");
    const options = [{ id: "fast", name: "Fast", type: "boolean", currentValue: true }];
    const update = { sessionUpdate: "config_option_update", configOptions: options };
    const [shown] = formed({}, update);
    const { type, currentValue, options: values } = shown?.configOptions[0] ?? {};
    assert.deepEqual([type, currentValue, values.length], ["select", "on", 2]);
  });

  it("shows a compaction as a tool call with the summary", () => {
    const about = { sessionUpdate: "compaction_update", compactionId: "c" };
    const chunk = { sessionUpdate: "compaction_summary_chunk", compactionId: "c" };
    const shown = formed(
      {},
      { ...about, status: "in_progress" },
      { ...chunk, content: text("It was ") },
      { ...chunk, content: text("long.") },
      { ...about, status: "completed" },
    );
    assert.deepEqual(
      shown.map(({ sessionUpdate, status }) => [sessionUpdate, status]),
      [
        ["tool_call", "in_progress"],
        ["tool_call_update", "completed"],
      ],
    );
    assert.deepEqual(shown[1]?.content, [part("It was long.")]);
  });

  it("shows a plan as entries, and one that is text as what is added to it", () => {
    const items = { type: "items", planId: "p", entries: [{ content: "Look" }] };
    const written = (content: string): SessionUpdate => ({
      sessionUpdate: "plan_update",
      plan: { type: "markdown", planId: "q", content },
    });
    const shown = formed(
      {},
      { sessionUpdate: "plan_update", plan: items },
      ...["# Plan", "# Plan\n1. Look", "# Plan\n1. Look"].map(written),
      { sessionUpdate: "plan_update", plan: { type: "file", planId: "r", uri: "file:///p" } },
      { sessionUpdate: "plan_update", plan: { type: "file", planId: "t" } },
      { sessionUpdate: "plan_removed", planId: "q" },
      { sessionUpdate: "plan_removed", planId: "p" },
    );
    assert.deepEqual(
      shown.map(({ entries, content }) => entries ?? content.text),
      [items.entries, "# Plan", "\n1. Look", "The plan is in file:///p.", []],
    );
  });

  it("shows the output of a command as text, once a while and at its end", () => {
    const shown = formed({}, ...COMMAND);
    assert.deepEqual(shown[0], {
      ...{ sessionUpdate: "tool_call", toolCallId: "t", title: "ls", kind: "execute" },
      ...{ status: "pending", rawInput: { command: "ls" }, content: [], _meta: { other: 1 } },
    });
    const last = tool({ status: "completed", content: [part("```console\none\ntwo\n```")] });
    assert.deepEqual(shown.at(-1), last);
    assert.ok(!JSON.stringify(shown).includes("terminal"));
  });

  it("names the pieces as Zed does, and makes them terminals of version 2", () => {
    const pieces = formed({ terminals: "output" }, ...COMMAND);
    assert.deepEqual(
      pieces.map(({ _meta }) => Object.keys(_meta).at(-1)),
      ["other", "terminal_output", "terminal_output", "terminal_exit"],
    );
    const shown = formed({ terminals: "updates" }, ...COMMAND);
    const terminal = { sessionUpdate: "terminal_update", terminalId: "t" };
    const output = (data: string): object => ({
      ...{ sessionUpdate: "terminal_output_chunk", terminalId: "t" },
      data: Buffer.from(data).toString("base64"),
    });
    assert.deepEqual(
      shown.filter(({ sessionUpdate }) => !String(sessionUpdate).startsWith("tool_call")),
      [
        { ...terminal, command: "ls", cwd: "/w" },
        output("one\n"),
        output("\u001b[1mtwo\u001b[0m\n"),
        { ...terminal, exitStatus: { exitCode: 0, signal: null } },
      ],
    );
    assert.equal(shown.at(-1)?.status, "completed");
  });

  it("ignores the mark of a subagent of another session", () => {
    const update = { ...tool({}), _meta: { trunkline: { subagent: "victim/x" } } };
    const forms = updateForms({ ...NONE, subagents: true });
    const [shown] = forms.of("s", { kind: "tool_call_update", text: JSON.stringify(update) });
    assert.equal(shown?.sessionId, "s");
  });
});

/** Has the agent send these updates, each of the session or of one of its subagents. */
function raw(...said: (readonly [id: string, update: object])[]): string {
  const lines = said.map(([sessionId, update]) =>
    JSON.stringify({ jsonrpc: "2.0", method: "session/update", params: { sessionId, update } }),
  );
  return `raw ${lines.join("\n")}`;
}

const SUBAGENT = raw(
  [
    "SESSION",
    {
      ...{ sessionUpdate: "subagent_update", sessionId: "child", title: "Scout" },
      ...{ capabilities: { cancel: {} }, state: { state: "running" } },
    },
  ],
  [
    "SESSION",
    {
      ...{ sessionUpdate: "session_message", messageId: "m", content: [text("Look")] },
      ...{ senderSessionId: "SESSION", recipientSessionId: "child" },
    },
  ],
  ["child", { sessionUpdate: "tool_call", toolCallId: "inner", title: "Read" }],
  ["child", { sessionUpdate: "session_info_update", title: "Not the title of the session" }],
  ["child", { sessionUpdate: "agent_message_chunk", content: text("I looked.") }],
  [
    "SESSION",
    {
      ...{ sessionUpdate: "subagent_update", sessionId: "child" },
      state: { state: "idle", stopReason: "end_turn" },
    },
  ],
);

describe("subagents of another agent", { timeout: 30_000 }, () => {
  it("are sessions for clients that know them, and tool calls for others, live and loaded", async () => {
    await using driven = await DrivenAgent.open({ subagents: {} });
    const { app, client, sessionId } = driven;
    const poor = app.connect();
    await poor.initialize();
    const where = { sessionId, cwd: driven.folder, mcpServers: [] };
    await poor.ask("session/load", where);
    await client.prompt(sessionId, SUBAGENT);
    await client.prompt(sessionId, "say done");
    await poor.find(({ params }) => params?.update?.content?.text === "done");
    const child = `${sessionId}/child`;
    const rich = (messages: readonly Message[]): unknown[] =>
      messages
        .filter(({ method }) => method === "session/update")
        .map(({ params }) => [params.sessionId, params.update.sessionUpdate])
        .filter(([id, kind]) => id === child || /^(?:subagent|session_message)/.test(kind));
    const expected = [
      [sessionId, "subagent_update"],
      [sessionId, "session_message"],
      [child, "tool_call"],
      [child, "session_info_update"],
      [child, "agent_message_chunk"],
      [sessionId, "subagent_update"],
    ];
    assert.deepEqual(rich(client.messages), expected);
    const message = client.updates.find(({ messageId }) => messageId === "m");
    assert.deepEqual([message?.senderSessionId, message?.recipientSessionId], [sessionId, child]);
    // It joined before, with less.
    const calls = (updates: readonly Message[]): unknown[] =>
      updates
        .filter(({ toolCallId }) => toolCallId !== undefined)
        .map(({ toolCallId, sessionUpdate, status, content, rawInput, _meta }) => ({
          ...{ toolCallId, sessionUpdate, status, content, rawInput },
          parent: _meta?.trunkline?.parentToolCallId,
        }));
    const toolCallId = `subagent:${child}`;
    const blank = { status: undefined, content: undefined, rawInput: undefined, parent: undefined };
    const asTools = [
      { ...blank, toolCallId, sessionUpdate: "tool_call", status: "in_progress" },
      { ...blank, toolCallId, sessionUpdate: "tool_call_update", rawInput: { prompt: "Look" } },
      { ...blank, toolCallId: "inner", sessionUpdate: "tool_call", parent: toolCallId },
      {
        ...{ ...blank, toolCallId, sessionUpdate: "tool_call_update", status: "completed" },
        content: [part("I looked.")],
      },
    ];
    assert.deepEqual(calls(poor.updates), asTools);
    assert.equal(poor.text, "done");
    // A client that joins later sees what it can show.
    const later = app.connect();
    await later.initialize({ subagents: {} });
    await later.ask("session/load", where);
    assert.deepEqual(rich(later.messages), expected);
    const { sessions } = await client.ask("session/list", {});
    assert.notEqual(sessions[0].title, "Not the title of the session");
  });

  it("are cancelled alone, and ask for permission in their session", async () => {
    await using driven = await DrivenAgent.open({ subagents: {} });
    const { client, sessionId } = driven;
    await client.prompt(sessionId, SUBAGENT);
    const request = {
      ...{ jsonrpc: "2.0", id: 77, method: "session/request_permission" },
      params: {
        sessionId: "child",
        toolCall: { toolCallId: "inner", title: "Read" },
        options: [{ optionId: "yes", name: "Yes", kind: "allow_once" }],
      },
    };
    client.answer = () => ({ result: { outcome: { outcome: "selected", optionId: "yes" } } });
    const asking = client.prompt(sessionId, `linger`);
    await client.find(() => client.text.endsWith("lingering"));
    client.send({
      ...{ jsonrpc: "2.0", method: "session/cancel" },
      params: { sessionId: `${sessionId}/child` },
    });
    client.send({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId } });
    assert.equal((await asking).stopReason, "cancelled");
    const raised = client.prompt(sessionId, `raw ${JSON.stringify(request)}`);
    const { params } = await client.request("session/request_permission");
    assert.equal(params.sessionId, sessionId);
    await raised;
  });
});
