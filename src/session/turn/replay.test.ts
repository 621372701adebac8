import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AcpApp } from "../../../test/support/acp-app.ts";
import type { SessionUpdate } from "../agent.ts";
import { directionOf, type SessionEvent, type StoredEvent } from "../event.ts";
import { historyOf, replay, SUMMARY } from "./replay.ts";

describe("an agent that continues a session", { timeout: 30_000 }, () => {
  it("gets the earlier events when it asks late, and not the current prompt", async () => {
    const known: unknown[] = [];
    await using app = await AcpApp.open({
      script: async (_turn, session) => {
        for (const entry of (await Array.fromAsync(session.options.history ?? [])).flat()) {
          if (entry.kind === "prompt") known.push(entry.prompt[0]?.text);
        }
      },
    });
    const { client, sessionId } = await app.client();
    await client.prompt(sessionId, "one");
    await app.stop();
    await app.start();
    const later = app.connect();
    await later.initialize();
    await later.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    await later.prompt(sessionId, "two");
    assert.deepEqual(known, ["one"]);
  });
});

describe("an agent that has summarised the conversation", { timeout: 30_000 }, () => {
  it("gets the events from the turn of the last summary on", async () => {
    const known: unknown[] = [];
    await using app = await AcpApp.open({
      script: async (turn, session) => {
        for (const entry of (await Array.fromAsync(session.options.history ?? [])).flat()) {
          if (entry.kind === "prompt") known.push(entry.prompt[0]?.text);
        }
        const [said] = turn.prompt;
        const _meta = {
          ...(said?.text === "two" ? { [SUMMARY]: "Short" } : {}),
          ...(said?.text === "three"
            ? { [SUMMARY]: "Of a subagent", trunkline: { parentToolCallId: "t" } }
            : {}),
        };
        await turn.update({ ...chunk("Done"), _meta });
      },
    });
    const { client, sessionId } = await app.client();
    for (const text of ["one", "two", "three"]) await client.prompt(sessionId, text);
    await app.stop();
    await app.start();
    const later = app.connect();
    await later.initialize();
    await later.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    assert.equal(later.text, "DoneDoneDone");
    await later.prompt(sessionId, "four");
    assert.deepEqual(known, ["two", "three"]);
  });
});

const chunk = (text: string): SessionUpdate => ({
  sessionUpdate: "agent_message_chunk",
  content: { type: "text", text },
});

/** In batches of three. */
async function* stored(...events: SessionEvent[]): AsyncGenerator<readonly StoredEvent[]> {
  const all = events.map((message, index) => {
    return { seq: index + 1, at: 0, direction: directionOf(message), message };
  });
  for (let at = 0; at < all.length; at += 3) yield all.slice(at, at + 3);
}

const shown = (events: AsyncIterable<readonly StoredEvent[]>, upTo = Infinity, notices = true) =>
  Array.fromAsync(replay(events, { upTo, notices, maxBytes: 1_000 })).then((all) => all.flat());

describe("replay()", () => {
  const prompt = [{ type: "text", text: "Hello" }];

  it("shows prompts and updates, but not messages between one client and the agent", async () => {
    const toolCall = { toolCallId: "t" };
    const replayed = await shown(
      stored(
        { kind: "prompt", turnId: "turn", prompt, by: "me" },
        { kind: "update", update: { sessionUpdate: "available_commands_update" } },
        { kind: "permission", turnId: "turn", requestId: "r", request: { toolCall, options: [] } },
        { kind: "answer", requestId: "r", outcome: { outcome: "cancelled" }, by: "me" },
        { kind: "update", update: chunk("Hi") },
        { kind: "setting", setting: "mode", id: "ask" },
        { kind: "end", turnId: "turn", stopReason: "end_turn" },
      ),
    );
    const said = { sessionUpdate: "user_message_chunk", content: prompt[0], messageId: "turn" };
    assert.deepEqual(replayed, [
      { seq: 1, update: said },
      { seq: 5, update: chunk("Hi") },
    ]);
  });

  it("ends with the settings of today if one was changed", async () => {
    const settings = [{ sessionUpdate: "current_mode_update", currentModeId: "ask" }];
    const options = { upTo: Infinity, notices: true, maxBytes: 1_000, settings };
    const text = { kind: "update", update: chunk("Hi") } as const;
    const mode = { kind: "setting", setting: "mode", id: "ask" } as const;
    const replayed = (await Array.fromAsync(replay(stored(mode, mode, text), options))).flat();
    assert.deepEqual(replayed, [
      { seq: 3, update: chunk("Hi") },
      { seq: 3, update: settings[0] },
    ]);
    assert.equal((await Array.fromAsync(replay(stored(text), options))).flat().length, 1);
  });

  it("reports an interrupted turn as a notice, or as text if notices are not shown", async () => {
    const end = {
      kind: "end",
      turnId: "turn",
      stopReason: "interrupted",
      error: "It died",
    } as const;
    const [notice] = await shown(stored(end));
    assert.deepEqual(
      [notice?.update.sessionUpdate, notice?.update.description],
      ["notice", "It died"],
    );
    const [text] = await shown(stored(end), Infinity, false);
    assert.match(JSON.stringify(text?.update.content), /\[This turn was interrupted: It died\]/);
  });

  it("merges text of a long session, loses none of it, and stops at the given event", async () => {
    const events = Array.from({ length: 1_000 }, (_, at) => {
      return { kind: "update", update: chunk(`${at} `) } as const;
    });
    const replayed = await shown(stored(...events), 990);
    assert.ok(replayed.length < 450, `${replayed.length} updates`);
    const text = replayed.map(({ update }) => (update.content as { text: string }).text).join("");
    assert.equal(text, Array.from({ length: 990 }, (_, at) => `${at} `).join(""));
    assert.equal(replayed.at(-1)?.seq, 990, "a client can resume after what it was shown last");
  });
});

describe("historyOf()", () => {
  it("gives prompts, updates and ends, up to an event", async () => {
    const prompt = [{ type: "text", text: "Hello" }];
    const events = stored(
      { kind: "update", update: chunk("before") },
      { kind: "prompt", turnId: "one", prompt, by: "me" },
      { kind: "update", update: chunk("in") },
      { kind: "end", turnId: "one", stopReason: "end_turn" },
      { kind: "update", update: chunk("after") },
      { kind: "prompt", turnId: "two", prompt, by: "me" },
    );
    const history = (await Array.fromAsync(historyOf(events, 5))).flat();
    assert.deepEqual(
      history.map(({ kind }) => kind),
      ["update", "prompt", "update", "end", "update"],
    );
  });
});
