import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Log } from "../base/log.ts";
import type { SessionUpdate } from "../session/agent.ts";
import { ExternalAgent } from "./external-agent.ts";

const AGENT = join(import.meta.dirname, "../../test/support/acp-agent.mjs");

function setUp(...flags: string[]) {
  const log = new Log("error");
  const agent = new ExternalAgent({
    name: "other",
    command: process.execPath,
    args: [AGENT, ...flags],
    log,
  });
  const stored: SessionUpdate[] = [];
  const live: SessionUpdate[] = [];
  const memories: unknown[] = [];
  const open = (id: string, memory?: unknown) =>
    agent.open({
      sessionId: "ours",
      cwd: "/",
      additionalDirectories: [],
      owner: "",
      revoked: new AbortController().signal,
      mcpServers: [],
      history: undefined,
      imports: {
        id,
        isForced: true,
        update: async (update) => {
          stored.push(update);
        },
      },
      chosen: {},
      memory,
      remember: async (value) => {
        memories.push(value);
      },
      log,
      update: (update) => {
        live.push(update);
      },
    });
  return {
    agent,
    open,
    stored,
    live,
    memories,
    [Symbol.asyncDispose]: () => agent[Symbol.asyncDispose](),
  };
}

describe("a session that an external agent began itself", { timeout: 60_000 }, () => {
  it("is listed by the agent, page by page", async () => {
    await using it = setUp("--lists");
    const first = await it.agent.list({ owner: "" });
    const second = await it.agent.list({ owner: "", cursor: first.nextCursor });
    assert.deepEqual(
      [...first.sessions, ...second.sessions].map(({ id, title }) => [id, title]),
      [1, 2, 3].map((count) => [`terminal-${count}`, `Task ${count}`]),
    );
    assert.equal(second.nextCursor, undefined);
    const none = await it.agent.list({ owner: "", cwd: "/nowhere" });
    assert.deepEqual(none.sessions, []);
  });

  it("is stored with what the agent replays, marked as imported", async () => {
    await using it = setUp("--loads", "--lists");
    await using session = await it.open("terminal-1");
    assert.deepEqual(
      it.stored,
      [
        ["user_message_chunk", "What is the past?"],
        ["agent_message_chunk", "This is the past, which is known already."],
      ].map(([sessionUpdate, text]) => ({
        sessionUpdate,
        content: { type: "text", text },
        _meta: { trunkline: { imported: true } },
      })),
    );
    assert.deepEqual([it.live, it.memories], [[], [{ sessionId: "terminal-1" }]]);
    assert.equal(session.settings.modes?.currentModeId, "code");
  });

  it("fails if the agent cannot load it, and is not replaced by a new one", async () => {
    await using it = setUp("--loads", "--lists");
    await assert.rejects(
      it.open("terminal-3"),
      /cannot load its session 'terminal-3': It is in use/,
    );
    assert.deepEqual(it.memories, []);
    await using unable = setUp("--lists");
    await assert.rejects(
      unable.open("terminal-1"),
      /cannot continue sessions that it began itself/,
    );
    await using other = setUp();
    await assert.rejects(other.agent.list({ owner: "" }), /does not list its sessions/);
  });
});
