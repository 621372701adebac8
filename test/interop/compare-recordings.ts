import assert from "node:assert/strict";

import type { Json } from "../support/acp-app.ts";
import { goose, type OtherAgent } from "./other-agents.ts";
import type { Recorded } from "./record-agent.ts";

/** A message that an editor gets only directly, or only through Trunkline. */
export interface Difference {
  /** How its row in docs/ACP.md begins. */
  readonly row: string;
  /** `kinds` are those of the tool calls, by their ids. */
  readonly is: (update: Json, kinds: ReadonlyMap<unknown, unknown>, method: string) => boolean;
}

/** Also where an editor announces everything. */
export const ALWAYS: readonly Difference[] = [
  {
    row: "the title of the session",
    is: ({ sessionUpdate, title }) =>
      sessionUpdate === "session_info_update" && title !== undefined,
  },
  {
    row: "the commands of the agent",
    is: ({ sessionUpdate }) => sessionUpdate === "available_commands_update",
  },
];

/** Where it announces nothing. */
export const PLAIN: readonly Difference[] = [
  ...ALWAYS,
  {
    row: "the output of a command",
    is: ({ sessionUpdate, toolCallId }, kinds) =>
      String(sessionUpdate).startsWith("tool_call") && kinds.get(toolCallId) === "execute",
  },
  {
    row: "a compaction",
    is: ({ toolCallId }) => /^(?:compaction:)?ID$/.test(String(toolCallId)),
  },
  {
    row: "a subagent",
    is: ({ toolCallId, _meta }) =>
      String(toolCallId).startsWith("subagent:") || _meta?.claudeCode?.toolName === "Agent",
  },
  { row: "files and terminals", is: (_update, _kinds, method) => method.startsWith("fs/") },
];

/** Where goose is told nothing. Its model is told of a file in other words, which cost something else. */
const GOOSE: Difference = {
  row: "files that goose writes",
  is: ({ sessionUpdate, toolCallId }, kinds) =>
    sessionUpdate === "usage_update" || kinds.get(toolCallId) === "edit",
};

export function plainOf({ name }: OtherAgent): readonly Difference[] {
  return name === goose.name ? [...PLAIN, GOOSE] : PLAIN;
}

/** Members that are ids or times, which are never the same. */
const IDS: ReadonlySet<string> = new Set([
  ...["sessionId", "messageId", "updatedAt", "runId"],
  ...["senderSessionId", "recipientSessionId"],
  // goose's run of a prompt, and when it made a message.
  ...["activeRunId", "created"],
]);

/** Ids in the middle of texts: UUIDs, and those of opencode's and goose's sessions and claude's subagents. */
const IN_TEXT =
  /\b(?:ses_\w{10,}|\d{8}_\d+|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|a[\da-f]{16})\b/g;

function plain(value: Json): Json {
  if (typeof value === "string") return value.replaceAll(IN_TEXT, "ID");
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value)
    .map(([name, item]) => [name, IDS.has(name) ? "ID" : plain(item)] as const)
    // What Trunkline adds for its own clients.
    .filter(([name]) => name !== "trunkline")
    .filter(([name, item]) => name !== "_meta" || Object.keys(item ?? {}).length > 0)
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries);
}

/** What an editor was told, with neighbouring pieces of one message joined. */
function messagesOf({ told }: Recorded): Json[] {
  const joined: Json[] = [];
  for (const message of told.map(plain)) {
    const update = message.params?.update;
    // A title may come at any time, and between two pieces.
    const last = joined.findLastIndex(
      ({ method, params }) =>
        !ALWAYS.some(({ is }) => is(params?.update ?? {}, new Map(), method as string)),
    );
    const before = joined[last]?.params?.update;
    const isText = typeof update?.content?.text === "string";
    const printed = before?._meta?.terminal_output_delta?.data;
    if (isText && before?.sessionUpdate === update.sessionUpdate) {
      before.content.text += update.content.text;
    } else if (typeof printed === "string" && before.toolCallId === update?.toolCallId) {
      // Output of a command that comes quickly is sent together, and with the end of the call.
      const { terminal_output_delta: more, ...meta } = update._meta ?? {};
      const data = printed + (more?.data ?? "");
      const output = { ...before._meta.terminal_output_delta, data };
      const _meta = { ...before._meta, ...meta, terminal_output_delta: output };
      message.params.update = { ...before, ...update, _meta };
      joined[last] = plain(message);
    } else joined.push(message);
  }
  return joined;
}

/** Messages of one recording that the other does not have. */
function without(messages: readonly Json[], others: readonly Json[]): Json[] {
  const left = others.map((other) => JSON.stringify(other));
  return messages.filter((message) => {
    const at = left.indexOf(JSON.stringify(message));
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

/** Throws if two recordings of a conversation differ in more than is named. */
export function compare(
  direct: Recorded,
  through: Recorded,
  differences: readonly Difference[],
): void {
  const [one, other] = [messagesOf(direct), messagesOf(through)];
  const calls = [...one, ...other].map(({ params }) => params?.update ?? {});
  const kinds = new Map<unknown, unknown>(
    calls
      .filter(({ kind }) => kind !== undefined)
      .map(({ toolCallId, kind }) => [toolCallId, kind]),
  );
  const isNamed = ({ method, params }: Json): boolean =>
    differences.some(({ is }) => is(params?.update ?? {}, kinds, method));
  const lost = without(one, other).filter((message) => !isNamed(message));
  const added = without(other, one).filter((message) => !isNamed(message));
  assert.deepEqual({ lost, added }, { lost: [], added: [] });
  // What both have of the conversation comes in the same order.
  const common = (all: readonly Json[], others: readonly Json[]): Json[] => {
    const own = new Set(without(all, others));
    const kinds = /_chunk|tool_call|permission|fs\//;
    return all.filter((message) => !own.has(message) && kinds.test(JSON.stringify(message)));
  };
  assert.deepEqual(common(other, one), common(one, other));
  for (const [name, { stopReason, usage = null }] of Object.entries(direct.answers)) {
    if (stopReason === undefined) continue;
    const got = through.answers[name];
    assert.equal(got.stopReason, stopReason, name);
    if (!differences.includes(GOOSE)) assert.deepEqual(got.usage ?? null, usage, name);
  }
  // However it is shown, nothing of a command's output is lost. What runs in the editor's terminal is there.
  if (!other.some(({ method }) => method === "terminal/create")) {
    assert.match(JSON.stringify(other), /one\\\\?n?.{0,400}two/s);
  }
  const offered = loginsOf(through);
  for (const login of loginsOf(direct)) assert.ok(offered.includes(login), login);
}

/** The ways to log in, without the agent's name in their ids. */
function loginsOf({ answers }: Recorded): string[] {
  const methods: readonly Json[] = answers.initialize.authMethods ?? [];
  return methods.map(({ id, type = "agent" }) => `${type} ${String(id).replace(/^it:/, "")}`);
}
