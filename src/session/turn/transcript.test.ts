import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";

import { onAbort } from "../../base/abort.ts";
import { AcpApp, type TestClient } from "../../../test/support/acp-app.ts";
import { DiskFaults } from "../../../test/support/disk-faults.ts";
import { chunk, promptText } from "../../../test/support/scripted-agent.ts";
import type { SessionUpdate } from "../agent.ts";
import type { SessionEvent } from "../event.ts";

const LARGE = "word ".repeat(40_000);

/** SQLite's own limit of a file's size stands for the disk's: it answers the same, SQLITE_FULL. */
function limitDisk(app: AcpApp, isFull: boolean): Promise<void> {
  return app.log.database.read((database) => {
    const { page_count: pages } = database.prepare("PRAGMA page_count").get() ?? {};
    database.exec(`PRAGMA max_page_count = ${isFull ? Number(pages) : 1_000_000}`);
  });
}

async function eventsOf(app: AcpApp, sessionId: string) {
  const events = (await Array.fromAsync(app.log.read(sessionId))).flat();
  const numbers = events.map(({ seq }) => seq);
  assert.deepEqual(
    numbers,
    numbers.map((_, index) => index + 1),
    "there is no gap",
  );
  return events.map(({ message }) => message as SessionEvent);
}

/** What is stored, as it is. */
function linesOf(app: AcpApp): Promise<string> {
  return app.log.database.read((database) =>
    database
      .prepare("SELECT lines FROM session_page ORDER BY id")
      .all()
      .map(({ lines }) => String(lines))
      .join(""),
  );
}

describe("the log of a session", { timeout: 60_000 }, () => {
  it("has only the text of what differs in nothing else from the event before", async () => {
    const image = { type: "image", data: "AA==", mimeType: "image/png" };
    const thought = { sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "g" } };
    const said: SessionUpdate[] = [
      ...["a", "b", "\n"].map((text) => chunk(text)),
      { ...chunk("c"), messageId: "m" },
      { ...chunk("d"), messageId: "m" },
      { ...chunk("e"), messageId: "n" },
      { ...chunk("f"), messageId: undefined },
      thought,
      { ...chunk(""), content: image },
      { ...chunk(""), content: image },
      chunk("h"),
      { ...chunk("i"), content: { type: "text", text: "i", annotations: {} } },
    ];
    await using app = await AcpApp.open({
      script: async (turn) => {
        await Promise.all(said.map((update) => turn.update(update)));
        await turn.update(chunk("of another commit"));
      },
    });
    const { client, sessionId } = await app.client();
    await client.prompt(sessionId, "go");
    const updates = (await eventsOf(app, sessionId)).flatMap((event) =>
      event.kind === "update" && event.update.sessionUpdate !== "available_commands_update"
        ? [event.update]
        : [],
    );
    assert.deepEqual(updates, JSON.parse(JSON.stringify([...said, chunk("of another commit")])));
    const texts = (await linesOf(app)).match(/(?<=^\[\d+,)".*(?=\]$)/gm);
    assert.deepEqual(texts, ['"b"', String.raw`"\n"`, '"d"']);
  });

  it("of an earlier version is loaded, continued, and loaded again", async () => {
    const words = Array.from({ length: 40 }, (_, at) => `word ${at} `);
    await using app = await AcpApp.open({
      script: async (turn) => {
        await Promise.all(words.map((word) => turn.update(chunk(word))));
      },
    });
    const { sessionId } = await app.client();
    await app.stop();
    // As that version wrote it.
    const older = [
      { kind: "prompt", turnId: "t", prompt: [{ type: "text", text: "Hi" }], by: "zed" },
      ...["I ", "was ", "here. "].map((text) => ({ kind: "update", update: chunk(text) })),
      { kind: "end", turnId: "t", stopReason: "end_turn" },
    ];
    const lines = older.map(
      (event, at) => `[${at + 2},1794812032643,"agent",${JSON.stringify(event)}]\n`,
    );
    {
      using database = new DatabaseSync(join(app.folder.path, "sessions.sqlite"));
      database
        .prepare("INSERT INTO session_page (session, first, last, lines) VALUES (1, 2, 6, ?)")
        .run(lines.join(""));
      const since = "DROP TABLE session_move; DROP TABLE known_host";
      database.exec(`${since}; PRAGMA user_version = 6`);
    }
    await app.start();
    const load = async (): Promise<TestClient> => {
      const client = app.connect();
      await client.initialize();
      await client.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
      return client;
    };
    const client = await load();
    assert.equal(client.text, "I was here. ");
    await client.prompt(sessionId, "go on");
    assert.equal(client.text, `I was here. ${words.join("")}`);
    assert.equal((await load()).text, client.text);
    const events = await eventsOf(app, sessionId);
    assert.deepEqual(events.slice(1, 6), older);
    assert.deepEqual(
      events.slice(8, -1),
      words.map((word) => ({ kind: "update", update: chunk(word) })),
    );
    const stored = await linesOf(app);
    assert.ok(stored.includes(lines.join("")), "what was written stays as it was");
    assert.match(stored, /^\[\d+,"word 39 "\]\n/m);
  });
});

function updatesOf(client: TestClient): string[] {
  return client.updates.map(({ content }) => String(content?.text ?? "").slice(0, 8));
}

describe("a session whose store fails", { timeout: 60_000 }, () => {
  it("fails the turn with a message, shows nothing that is not stored, and recovers", async () => {
    await using app = await AcpApp.open({
      script: async (turn) => {
        if (promptText(turn) === "small") return turn.update(chunk("small answer"));
        await turn.update(chunk("stored"));
        await limitDisk(app, true);
        // As somebody else's agent does, which never hears whether its words are stored.
        for (let at = 0; at < 20; at++) {
          void turn.update(chunk(LARGE));
          await new Promise(setImmediate);
        }
        await limitDisk(app, false);
        void turn.update(chunk("after the gap"));
        await new Promise((resolve) => onAbort(turn.signal, resolve));
        return { stopReason: "cancelled" };
      },
    });
    const { client, sessionId } = await app.client();
    await assert.rejects(client.prompt(sessionId, "large"), /database or disk is full.*Free some/s);
    assert.deepEqual(updatesOf(client).filter(Boolean), ["stored"]);
    const { stopReason } = await client.prompt(sessionId, "small");
    assert.equal(stopReason, "end_turn");
    assert.deepEqual(updatesOf(client).filter(Boolean), ["stored", "small an"]);
    const kinds = (await eventsOf(app, sessionId)).map((event) => {
      return event.kind === "end" ? `end ${event.stopReason}` : event.kind;
    });
    assert.deepEqual(kinds, [
      "update",
      "prompt",
      "update",
      "end interrupted",
      "prompt",
      "update",
      "end end_turn",
    ]);
  });

  it("records the end of a turn later, if it could not be written at once", async () => {
    await using app = await AcpApp.open({
      script: async (turn) => {
        if (promptText(turn) !== "large") return;
        await turn.update({ sessionUpdate: "tool_call", toolCallId: "t", title: "T" });
        disk.decide = ({ operation }) => (operation === "COMMIT" ? "EIO" : undefined);
      },
    });
    using disk = new DiskFaults(app.folder.path);
    const { client, sessionId } = await app.client();
    await assert.rejects(client.prompt(sessionId, "large"), /disk I\/O error/);
    // While it lasts, so does the failure, and in words.
    await assert.rejects(client.prompt(sessionId, "again"), /disk I\/O error/);
    disk.decide = () => undefined;
    assert.equal((await eventsOf(app, sessionId)).at(-1)?.kind, "update");
    await client.prompt(sessionId, "again");
    const kinds = (await eventsOf(app, sessionId)).map((event) => {
      if (event.kind === "end") return `end ${event.stopReason}`;
      return event.kind === "update"
        ? ((event.update.status as string | undefined) ?? "update")
        : event.kind;
    });
    assert.deepEqual(kinds.slice(-4), ["failed", "end interrupted", "prompt", "end end_turn"]);
  });
});
