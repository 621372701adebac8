import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AcpSocket } from "../support/acp-socket.ts";
import { DashboardPage } from "../support/dashboard-page.ts";
import { bearer, type GuardedGateway, GuardedHome } from "../support/guarded-gateway.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");
const CONFIG = {
  agent: "other",
  agents: { other: { command: process.execPath, args: [AGENT, "--loads"] } },
};

function folderIn(home: GuardedHome, name = "work"): string {
  const folder = join(home.path, name);
  mkdirSync(folder, { recursive: true });
  return folder;
}

async function begin(editor: AcpSocket, cwd: string): Promise<string> {
  const { sessionId } = await editor.ask("session/new", { cwd, mcpServers: [] });
  return String(sessionId);
}

const said = (text: string): object => [{ type: "text", text }];

const pageOf = (gateway: GuardedGateway): DashboardPage =>
  new DashboardPage(gateway.ready.url, gateway.owner);

describe("the dashboard's API", { timeout: 120_000 }, () => {
  it("shows a session live, and answers its permission while the editor waits", async () => {
    using home = new GuardedHome(CONFIG);
    await using gateway = await home.serve();
    using page = pageOf(gateway);
    const live = await page.events();
    await live.find("hello");
    using editor = await AcpSocket.connect(gateway.acp, gateway.owner);
    const sessionId = await begin(editor, folderIn(home));
    const asked = editor.send("session/prompt", { sessionId, prompt: said("permission") });

    const { row } = await live.find("session", (data) => data.row?.state === "waiting");
    assert.equal(row.waiting.says, "Run npm install");
    assert.equal(row.agent, "other");
    assert.equal(row.open, "here");
    const { rows } = await page.get("/api/sessions");
    assert.deepEqual(rows[0], row, "the one that waits is the first of the list");

    const detail = await page.get(`/api/sessions/${sessionId}`);
    const [ask] = detail.asks;
    assert.equal(ask.toolCall.title, "Run npm install");
    assert.equal(detail.settings.modes.currentModeId, "code");
    const wrong = await page.post(`/api/sessions/${sessionId}/answer`, {
      id: ask.id,
      optionId: "x",
    });
    assert.equal(wrong.status, 400);
    assert.match(wrong.body.error, /Choose one of: once, reject/);
    const right = await page.post(`/api/sessions/${sessionId}/answer`, {
      id: ask.id,
      optionId: "once",
    });
    assert.deepEqual(right, { status: 200, body: { ok: true } });
    const answer = await editor.until(({ messages }) => messages.find(({ id }) => id === asked));
    assert.deepEqual(answer.result, { stopReason: "end_turn" });
    await live.find("session", (data) => data.row?.ended === "end_turn");
    const late = await page.post(`/api/sessions/${sessionId}/answer`, {
      id: ask.id,
      optionId: "once",
    });
    assert.equal(late.status, 409);

    const { events, last } = await page.get(`/api/sessions/${sessionId}/events?from=1`);
    assert.equal(events.at(-1).seq, last);
    const answered = events.find(
      (each: { message: { kind: string } }) => each.message.kind === "answer",
    );
    assert.equal(answered.message.by, "dashboard");
  });

  it("prompts, and streams the events of a session from a number on, also after a lost connection", async () => {
    using home = new GuardedHome(CONFIG);
    await using gateway = await home.serve();
    using page = pageOf(gateway);
    using editor = await AcpSocket.connect(gateway.acp, gateway.owner);
    const sessionId = await begin(editor, folderIn(home));
    const query = `?session=${sessionId}&after=0`;
    const live = await page.events(query);
    const sent = await page.post(`/api/sessions/${sessionId}/prompt`, { text: "forever" });
    assert.deepEqual(sent.body, { ok: true });
    await live.find("session-events", ({ events }) => events.at(-1).seq > 1);
    // The connection is lost in the middle; a browser comes back with the id of the last event.
    const { lastId } = live;
    const before = live.events.length;
    live.close();
    const again = await page.events(query, lastId);
    const isEnd = ({ message }: { message: { kind: string } }): boolean => message.kind === "end";
    await again.find("session-events", ({ events }) => events.at(-1).seq > 10);
    assert.equal((await page.post(`/api/sessions/${sessionId}/cancel`)).status, 200);
    await again.find("session-events", ({ events }) => events.some(isEnd));
    const numbers = [...live.events.slice(0, before), ...again.events].flatMap((each) =>
      each.event === "session-events" ? each.data.events.map(({ seq }) => seq) : [],
    );
    assert.deepEqual(
      numbers,
      numbers.map((_, at) => at + 1),
      "every event once, in order",
    );
    assert.equal(
      again.events.some(({ event }) => event === "reset"),
      false,
    );
    const { events: old } = await page.get(`/api/sessions/${sessionId}/events?before=10&limit=4`);
    assert.deepEqual(
      old.map(({ seq }: { seq: number }) => seq),
      [6, 7, 8, 9],
    );
  });

  it("tells a page that a restarted server knows nothing of what it had seen", async () => {
    using home = new GuardedHome(CONFIG);
    let lastId = "";
    let sessionId = "";
    {
      await using gateway = await home.serve();
      using page = pageOf(gateway);
      const live = await page.events();
      using editor = await AcpSocket.connect(gateway.acp, gateway.owner);
      sessionId = await begin(editor, folderIn(home));
      await editor.ask("session/prompt", { sessionId, prompt: said("say first") });
      await live.find("session", ({ row }) => row?.ended === "end_turn");
      ({ lastId } = live);
    }
    await using gateway = await home.serve();
    using page = pageOf(gateway);
    const live = await page.events(`?session=${sessionId}&after=0`, lastId);
    const { epoch } = await live.find("hello");
    assert.notEqual(epoch, lastId.split(".")[0]);
    await live.find("reset");
    const { events } = await live.find("session-events");
    assert.equal(
      events[0].message.prompt[0].text,
      "say first",
      "its log is still read from its number",
    );
    const { rows } = await page.get("/api/sessions");
    assert.equal(rows[0].open, "no");
  });
});
