import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { HistoryEntry } from "../../session/agent.ts";
import { AgentRig } from "../../../test/agent/agent-rig.ts";
import { FakeLlm, type Request, type Scripted } from "../../../test/agent/fake-llm.ts";
import { REJECT, type SampleTurn } from "../../../test/agent/sample-turn.ts";

const task = (prompt: string, more: object = {}) => ({
  name: "task",
  arguments: { title: `About ${prompt}`, prompt, ...more },
});
const tool = (name: string, args: object): Scripted => ({
  toolCalls: [{ name, arguments: args }],
});

const roles = ({ messages }: Request): unknown[] => messages.map(({ role }) => role);
const saysFirst = (request: Request, words: string): boolean =>
  JSON.stringify(request.messages.find(({ role }) => role === "user")).includes(words);
/** An answer to the subagent with that prompt, after so many answers to its tools. */
const to = (words: string, answers: number, step: Scripted): Scripted => ({
  ...step,
  when: (request) =>
    saysFirst(request, words) &&
    roles(request).filter((role) => role === "tool").length === answers,
});

function nested(turn: SampleTurn) {
  return turn.ofKind("tool_call").filter(({ _meta }) => _meta !== undefined);
}

async function* entries(list: readonly HistoryEntry[]): AsyncGenerator<readonly HistoryEntry[]> {
  yield list;
}

describe("a subagent", () => {
  it("works in a context of its own, with tools that only read, and gives back its answer", async () => {
    await using llm = await FakeLlm.start([
      { toolCalls: [task("find the number")] },
      to("find the number", 0, tool("read_file", { path: "a.txt" })),
      to("find the number", 1, { content: "It is 42." }),
      { content: "Done." },
    ]);
    await using rig = new AgentRig({ llm, files: { "a.txt": "the number is 42\n" } });
    const { turn } = await rig.turn("explore");
    assert.equal(turn.text, "Done.");
    const [parent, first, second, last] = llm.requests;
    assert.match(JSON.stringify(parent?.tools), /"task"/);
    const names = first?.tools?.map(({ function: it }) => (it as { name: string }).name).toSorted();
    assert.deepEqual(
      names,
      "git_diff git_log git_status list_files read_file search_files".split(" "),
    );
    assert.deepEqual(roles(first as Request), ["system", "user"]);
    assert.match(JSON.stringify(second?.messages), /the number is 42/);
    assert.match(llm.seen(3), /tool: It is 42\./);
    assert.doesNotMatch(JSON.stringify(last?.messages), /the number is 42/);
  });

  it("has its calls shown as nested ones, and in the call that started it", async () => {
    await using llm = await FakeLlm.start([
      { toolCalls: [task("look")] },
      to("look", 0, tool("list_files", { path: "." })),
      to("look", 1, { content: "Nothing there." }),
      { content: "Done." },
    ]);
    await using rig = new AgentRig({ llm });
    const { turn } = await rig.turn("explore");
    const [outer] = turn.ofKind("tool_call");
    assert.deepEqual([outer?.title, outer?.kind], ["Task: About look", "think"]);
    const id = outer?.toolCallId;
    assert.deepEqual(
      nested(turn).map(({ _meta, name }) => [name, _meta]),
      [
        [
          "list_files",
          { trunkline: { parentToolCallId: id }, claudeCode: { parentToolUseId: id } },
        ],
      ],
    );
    const shown = turn.updates.filter(({ toolCallId }) => toolCallId === id);
    assert.ok(shown.some(({ content }) => /- List/.test(JSON.stringify(content))));
    assert.match(JSON.stringify(shown.at(-1)?.content), /Nothing there/);
  });

  it("works beside others if they all explore", async () => {
    await using llm = await FakeLlm.start([
      { toolCalls: [task("first part"), task("second part")] },
      to("first part", 0, { content: "One.", latency: 100 }),
      to("second part", 0, { content: "Two.", latency: 100 }),
      { content: "Done." },
    ]);
    await using rig = new AgentRig({ llm });
    const { turn } = await rig.turn("explore");
    const states = turn.ofKind("tool_call_update").flatMap(({ status }) => status ?? []);
    assert.deepEqual(states.slice(0, 2), ["in_progress", "in_progress"]);
    assert.match(llm.seen(3), /tool: One\..*tool: Two\./s);
  });

  it("asks before it changes files if it is to work", async () => {
    const write = tool("write_file", { path: "b.txt", content: "b\n" });
    await using llm = await FakeLlm.start([
      { toolCalls: [task("write it", { kind: "work" })] },
      to("write it", 0, write),
      to("write it", 1, { content: "Written." }),
      { content: "Done." },
    ]);
    await using rig = new AgentRig({ llm });
    const refused = await rig.turn({ prompt: "explore", decide: () => REJECT });
    assert.deepEqual(refused.turn.ends, ["completed", "failed"]);
    const [outer] = refused.turn.ofKind("tool_call");
    assert.deepEqual(refused.turn.asked[0]?.toolCall._meta, {
      trunkline: { parentToolCallId: outer?.toolCallId },
      claudeCode: { parentToolUseId: outer?.toolCallId },
    });
  });

  it("is refused tools that it was not given, so that it starts no other", async () => {
    await using llm = await FakeLlm.start([
      { toolCalls: [task("go deep")] },
      to("go deep", 0, {
        toolCalls: [task("deeper"), { name: "write_file", arguments: { path: "x" } }],
      }),
      to("go deep", 2, { content: "I cannot." }),
      { content: "Done." },
    ]);
    await using rig = new AgentRig({ llm });
    const { turn } = await rig.turn("explore");
    assert.deepEqual(turn.ends, ["completed", "failed", "failed"]);
    assert.match(JSON.stringify(llm.requests[2]), /there is no tool 'task'/);
  });

  it("ends with the turn", async () => {
    await using llm = await FakeLlm.start([
      { toolCalls: [task("wait")] },
      to("wait", 0, tool("read_file", { path: "a.txt" })),
      to("wait", 1, { content: "Never.", latency: 60_000 }),
    ]);
    await using rig = new AgentRig({ llm, files: { "a.txt": "a" } });
    const { turn, end } = await rig.turn({
      prompt: "explore",
      onUpdate: ({ sessionUpdate, status, _meta }, it) => {
        if (sessionUpdate === "tool_call_update" && status === "completed" && _meta !== undefined) {
          it.cancel();
        }
      },
    });
    assert.equal(end.stopReason, "cancelled");
    assert.deepEqual(turn.ends, ["failed", "completed"]);
  });

  it("shares what the turn may use", async () => {
    const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
    const script = [
      { toolCalls: [task("count")], usage },
      to("count", 0, { ...tool("list_files", { path: "." }), usage }),
      to("count", 1, { content: "Counted.", usage }),
      { content: "Done.", usage },
    ];
    await using llm = await FakeLlm.start(script);
    await using rig = new AgentRig({ llm, cost: { "*": { input: 1_000, output: 1_000 } } });
    const { turn, end } = await rig.turn("explore");
    assert.equal(end.usage?.totalTokens, 440);
    const reports = turn.ofKind("usage_update") as { used?: number; cost?: { amount: number } }[];
    assert.deepEqual(
      reports.map(({ cost }) => Math.round((cost?.amount ?? 0) * 100)),
      [11, 22, 33, 44],
    );
    await using short = await FakeLlm.start(script);
    await using limited = new AgentRig({ llm: short, limits: { maxSteps: 2 } });
    const stopped = await limited.turn("explore");
    assert.equal(stopped.end.stopReason, "max_turn_requests");
    assert.equal(short.requests.length, 2);
  });

  it("costs only its own call if its model fails", async () => {
    await using llm = await FakeLlm.start([
      { toolCalls: [task("fail")] },
      to("fail", 0, { error: { message: "bad request" }, status: 400 }),
      { content: "Then without." },
    ]);
    await using rig = new AgentRig({ llm });
    const { turn } = await rig.turn("explore");
    assert.deepEqual([turn.ends, turn.text], [["failed"], "Then without."]);
    assert.match(llm.seen(2), /status 400: bad request/);
  });

  it("is one call in the history of a loaded session", async () => {
    await using llm = await FakeLlm.start([
      { toolCalls: [task("read")] },
      to("read", 0, tool("read_file", { path: "a.txt" })),
      to("read", 1, { content: "It says one." }),
      { content: "Done." },
    ]);
    await using rig = new AgentRig({ llm, files: { "a.txt": "one\n" } });
    const { turn } = await rig.turn("explore");
    const history = entries([
      { kind: "prompt", turnId: turn.id, prompt: turn.prompt },
      ...turn.updates.map((update) => ({ kind: "update" as const, turnId: turn.id, update })),
      { kind: "end", turnId: turn.id, stopReason: "end_turn" },
    ]);
    await rig.turnOf(await rig.open({ history }), "and?");
    assert.match(llm.seen(-1), /task.*tool: It says one\..*Done\..*and\?/s);
    assert.doesNotMatch(llm.seen(-1), /read_file/);
  });
});
