import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import type { Json } from "../support/acp-app.ts";
import { AcpSocket } from "../support/acp-socket.ts";
import { CONFIG, folderIn, begin, said, pageOf, SECRET } from "../support/dashboard-home.ts";
import { type GuardedGateway, GuardedHome } from "../support/guarded-gateway.ts";

describe("the dashboard's API", { timeout: 600_000 }, () => {
  // Starting a server costs more than most tests: these share one.
  let home: GuardedHome;
  let gateway: GuardedGateway;
  before(async () => {
    home = new GuardedHome(CONFIG);
    gateway = await home.serve();
  });
  after(async () => {
    await gateway[Symbol.asyncDispose]();
    home[Symbol.dispose]();
  });

  it("shows a session live, and answers its permission while the editor waits", async () => {
    using page = pageOf(gateway);
    const live = await page.events();
    await live.find("hello");
    using editor = await AcpSocket.connect(gateway.acp, gateway.owner);
    const sessionId = await begin(editor, folderIn(home, "permission"));
    const asked = editor.send("session/prompt", { sessionId, prompt: said("permission") });

    const { row } = await live.find("session", (data) => data.row?.state === "waiting");
    assert.equal(row.waiting.says, "Run npm install");
    assert.equal(row.agent, "other");
    assert.equal(row.open, "here");
    const { rows } = await page.get("/api/sessions");
    assert.equal(rows[0].id, row.id, "the one that waits is the first of the list");

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

    const { rows: traffic } = await page.get(`/api/sessions/${sessionId}/traffic`);
    const asking = traffic.find(
      ({ method, lane, kind }: Json) =>
        method === "session/request_permission" && lane === "agent" && kind === "request",
    );
    const reply = traffic.find(({ n }: Json) => n === asking.pair);
    assert.deepEqual([reply.direction, reply.kind, reply.latency >= 0], ["out", "response", true]);
    const { text } = await page.get(`/api/sessions/${sessionId}/traffic/${reply.n}`);
    assert.match(text, /"optionId":"once"/);
  });

  it("switches the policy of a tool, in force at once and kept in the configuration", async () => {
    using page = pageOf(gateway);
    const tool = "review_list";
    const { status, body } = await page.post("/api/tools/policy", { tool, decision: "deny" });
    assert.deepEqual([status, body.policy], [200, "deny"], JSON.stringify(body));
    const shown = await home.run("config", "show");
    assert.match(shown.out, /policy\.tools\.rules.*review_list/);
    await gateway.begin(gateway.owner).then(async (session) => {
      const call = {
        jsonrpc: "2.0",
        id: 5,
        method: "tools/call",
        params: { name: tool, arguments: {} },
      };
      const answer = await gateway.post(call, { ...gateway.owner, ...session });
      assert.match(answer.body, /denied|policy/i);
    });
    const { calls } = await page.get("/api/calls");
    assert.equal(calls.find((each: Json) => each.tool === tool)?.errors, 1);
    const { steps } = await page.get("/api/overview");
    const [assistant] = steps;
    assert.deepEqual(
      [assistant.id, assistant.isDone, assistant.says],
      ["assistant", true, "stranger"],
    );
    assert.equal(
      (await page.post("/api/tools/policy", { tool: "none", decision: "deny" })).status,
      404,
    );
    assert.equal((await page.post("/api/plugins/none/restart", {})).status, 404);
    const { out: checked } = await home.run("config", "check", "--json");
    const { files } = JSON.parse(checked) as { files: { path: string }[] };
    const path = files[0]?.path ?? "";
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.replace(/"rules": \[/, "$& // why so\n"));
    const other = await page.post("/api/tools/policy", { tool: "review_wait", decision: "ask" });
    assert.equal(other.status, 200, JSON.stringify(other.body));
    const edited = readFileSync(path, "utf8");
    assert.match(edited, /\/\/ why so[^]*review_wait[^]*review_list/);
  });

  it("prompts, and streams the events of a session from a number on, also after a lost connection", async () => {
    using page = pageOf(gateway);
    using editor = await AcpSocket.connect(gateway.acp, gateway.owner);
    const sessionId = await begin(editor, folderIn(home, "stream"));
    const query = `?session=${sessionId}&after=0`;
    const live = await page.events(query);
    const long = { text: "x".repeat(2 * 1024 * 1024) };
    const refused = await page.post(`/api/sessions/${sessionId}/prompt`, long);
    assert.equal(refused.status, 400, JSON.stringify(refused.body));
    const sent = await page.post(`/api/sessions/${sessionId}/prompt`, { text: "forever" });
    assert.deepEqual(sent.body, { ok: true });
    await live.find("session-events", ({ events }) => events.at(-1).seq > 1);
    const later = await page.post(`/api/sessions/${sessionId}/prompt`, long);
    assert.equal(later.status, 400, "also while a turn runs");
    assert.match(later.body.error, /A prompt has at most 1048576 bytes/);
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

  it("turns a comment on the diff of a session into a review thread that an agent claims", async () => {
    using page = pageOf(gateway);
    const folder = folderIn(home, "comment");
    // Git's reflog knows seconds only, and all of this happens within one.
    const git = (hours: number, ...args: string[]): unknown =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", ...args], {
        cwd: folder,
        env: {
          ...process.env,
          GIT_COMMITTER_DATE: new Date(Date.now() + hours * 3_600_000).toISOString(),
        },
      });
    git(-1, "init", "-q");
    writeFileSync(join(folder, "a.txt"), "one\ntwo\n");
    git(-1, "add", ".");
    git(-1, "commit", "-qm", "first");
    using editor = await AcpSocket.connect(gateway.acp, gateway.owner);
    const sessionId = await begin(editor, folder);
    await editor.ask("session/prompt", { sessionId, prompt: said("put a.txt|zwei|0") });
    await editor.ask("session/prompt", { sessionId, prompt: said(`put b.txt|${SECRET}|0`) });
    git(1, "commit", "-qam", "the agent has committed");

    const { against, files } = await page.get(`/api/sessions/${sessionId}/files`);
    assert.equal(against, "git");
    assert.deepEqual(
      files.map(({ path, change, added, removed }: Json) => [path, change, added, removed]),
      [
        ["a.txt", "modified", 1, 2],
        ["b.txt", "added", 1, 0],
      ],
    );
    const { diff } = await page.get(`/api/sessions/${sessionId}/diff?path=a.txt`);
    assert.match(diff, /^-one\n-two\n\+zwei$/m);
    const { diff: second } = await page.get(`/api/sessions/${sessionId}/diff?path=b.txt`);
    assert.match(second, /^\+•••$/m);
    const outside = await page.send("GET", `/api/sessions/${sessionId}/diff?path=/etc/passwd`);
    assert.equal(outside.status, 404);
    const why = `/api/sessions/${sessionId}/why`;
    const { rows: told, session } = await page.get(`${why}?file=a.txt&line=1&side=new`);
    const facts = Object.fromEntries(told);
    assert.equal(session, sessionId);
    assert.equal(facts.prompt, "put a.txt|zwei|0");
    assert.equal(facts.replaced, "one\ntwo");
    const old = Object.fromEntries((await page.get(`${why}?file=a.txt&line=2&side=old`)).rows);
    assert.deepEqual([old.line, old["written by"], old.session], ["two", "a <a@b.c>", undefined]);
    const masked = await page.get(`${why}?file=b.txt&line=1`);
    assert.equal(masked.session, sessionId);
    assert.ok(!JSON.stringify(masked).includes(SECRET));
    for (const file of ["/etc/passwd", "../a.txt", ":(top)a.txt", "c.txt"]) {
      const query = `file=${encodeURIComponent(file)}&line=1`;
      assert.equal((await page.send("GET", `${why}?${query}`)).status, 404, file);
    }

    const live = await page.events();
    const comment = { path: "a.txt", side: "new", line: 1, text: "Say it in English" };
    const { status, body } = await page.post(`/api/sessions/${sessionId}/comment`, comment);
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.session, sessionId);
    await live.find("thread", ({ id }) => id === body.id);
    const asked = Object.fromEntries((await page.get(`/api/threads/${body.id}/why`)).rows);
    assert.equal(asked.prompt, "put a.txt|zwei|0");
    const claimed = await home.run(
      "tools",
      "call",
      "review_claim",
      "--args",
      JSON.stringify({ repository: folder }),
    );
    assert.equal(claimed.code, 0, claimed.err);
    assert.match(claimed.out, /Say it in English/);
    const { rows } = await page.get("/api/threads");
    assert.equal(rows[0].comment, "Say it in English");
    const replied = await page.post(`/api/threads/${body.id}/resolve`);
    assert.equal(replied.body.state, "resolved");
  });
});

describe("the dashboard's API of a server of its own", { timeout: 600_000 }, () => {
  it("answers for a session that another process has open, as any other client of it", async () => {
    using home = new GuardedHome(CONFIG);
    const cwd = folderIn(home);
    // Begun before the server: an editor's own process holds the session.
    await using editor = home.start("acp");
    editor.write({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 1 } });
    editor.write({ jsonrpc: "2.0", id: 2, method: "session/new", params: { cwd, mcpServers: [] } });
    const read = (): Json[] => editor.lines.map((line) => JSON.parse(line));
    await editor.until(() => read().some(({ id }) => id === 2));
    const { sessionId } = read().find(({ id }) => id === 2).result;
    await using gateway = await home.serve();
    using page = pageOf(gateway);
    const live = await page.events();
    await live.find("hello");
    const prompt = said("permission");
    editor.write({
      jsonrpc: "2.0",
      id: 3,
      method: "session/prompt",
      params: { sessionId, prompt },
    });
    const { row } = await live.find("session", (data) => data.row?.state === "waiting");
    assert.equal(row.open, "elsewhere");
    const { asks } = await page.get(`/api/sessions/${sessionId}`);
    const answer = { id: asks[0].id, optionId: "once" };
    const { status, body } = await page.post(`/api/sessions/${sessionId}/answer`, answer);
    assert.deepEqual([status, body], [200, { ok: true }]);
    await editor.until(() => read().some(({ id }) => id === 3));
    assert.match(editor.lines.join("\n"), /optionId\\":\\"once/);
    editor.child.stdin.end();
    assert.equal(await editor.exit, 0);
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
