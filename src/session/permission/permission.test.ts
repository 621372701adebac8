import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AcpApp, type Message, type TestClient } from "../../../test/support/acp-app.ts";
import type { Principal } from "../../base/principal.ts";
import type { SessionEvent } from "../event.ts";
import type { SessionNotice } from "../notice.ts";
import {
  type AnswerPolicy,
  type PermissionOutcome,
  type PermissionRequest,
  type PermissionSubject,
  subjectKey,
  subjectOf,
  subjectWords,
} from "./permission.ts";

const run = (command: string, folder = ".", sandbox: "in" | "left" | "none" = "in") =>
  ({ action: "run", command, folder, sandbox }) as const;

describe("subjectKey()", () => {
  it("differs for subjects whose words are the same", () => {
    const pairs: readonly (readonly [PermissionSubject, PermissionSubject])[] = [
      [run("./check.sh", "sub"), run("./check.sh in sub")],
      [run("x", ".", "left"), { ...run("x"), command: "x" }],
      [
        { action: "call", server: "a/b", tool: "c" },
        { action: "call", server: "a", tool: "b/c" },
      ],
      [
        { action: "call", server: "a", tool: "b", isBrought: true },
        { action: "call", server: "session server a", tool: "b" },
      ],
      [
        { action: "connect", host: "x.example" },
        { action: "fetch", host: "x.example" },
      ],
    ];
    for (const [one, other] of pairs) assert.notEqual(subjectKey(one), subjectKey(other));
    const [[one, other] = []] = pairs;
    assert.equal(subjectWords(one ?? run("")), subjectWords(other ?? run("")));
  });

  it("is the same whatever the order of the parts, and leads back to the subject", () => {
    const subject = run('echo "\u2028"', "sub/ä");
    const { action, ...rest } = subject;
    assert.equal(subjectKey(subject), subjectKey({ ...rest, action }));
    assert.deepEqual(subjectOf(subjectKey(subject)), subject);
  });
});

const REQUEST: PermissionRequest = {
  toolCall: { toolCallId: "t", title: "Run npm install", status: "pending", kind: "execute" },
  options: [
    { optionId: "once", kind: "allow_once", name: "Allow" },
    { optionId: "no", kind: "reject_once", name: "Reject" },
  ],
};

const ASK = "session/request_permission";
const ADMIN: Principal = { id: "token admin", name: "bot", scopes: ["sessions", "admin"] };
const WATCHER: Principal = { ...ADMIN, id: "token tv", name: "tv", limits: { observe: true } };
const OBSERVER = { _meta: { trunkline: { role: "observer" } } };
const MAY_NOT = "you observe this session and cannot answer";

async function open(permissions: AnswerPolicy, notices: SessionNotice[] = []) {
  const outcomes: PermissionOutcome[] = [];
  const app = await AcpApp.open({
    permissions,
    notices: { noticed: (notice) => notices.push(notice), closed: () => {} },
    script: async (turn) => void outcomes.push(await turn.requestPermission(REQUEST)),
  });
  return { app, outcomes };
}

async function join(
  app: AcpApp,
  sessionId: string,
  { principal, ...more }: { principal?: Principal; _meta?: object } = {},
): Promise<TestClient> {
  const client = app.connect({}, principal);
  await client.initialize();
  await client.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [], ...more });
  return client;
}

function answer(client: TestClient, { id }: Message, optionId = "once"): void {
  client.send({ jsonrpc: "2.0", id, result: { outcome: { outcome: "selected", optionId } } });
}

const newsOf = (client: TestClient): Message[] =>
  client.updates.flatMap(({ _meta }) => _meta?.trunkline?.permission ?? []);

const news = (client: TestClient, state: string): Promise<Message> =>
  client.find(({ params }) => params?.update?._meta?.trunkline?.permission?.state === state);

const denied = (error: { code?: number; data?: { details?: string } }): boolean =>
  error.code === -31_923 || /observe/.test(error.data?.details ?? "");

describe("whose answer to a permission request counts", { timeout: 30_000 }, () => {
  it("first: any controller's, and the others learn who has answered", async () => {
    const { app, outcomes } = await open("first");
    await using _ = app;
    const { client, sessionId } = await app.client();
    const bot = await join(app, sessionId, { principal: ADMIN });
    const prompt = client.prompt(sessionId, "go");
    answer(bot, await bot.request(ASK), "no");
    await prompt;
    assert.equal(outcomes[0]?.outcome === "selected" && outcomes[0].optionId, "no");
    const { params } = await news(client, "answered");
    const { by, toolCallId } = params.update._meta.trunkline.permission;
    assert.deepEqual([by, toolCallId], ["bot", "t"]);
    assert.deepEqual(newsOf(bot), [], "who has answered knows");
  });

  it("asker: only that of the client that prompted, though another is of the same principal", async () => {
    const { app, outcomes } = await open("asker");
    await using _ = app;
    const { client, sessionId } = await app.client();
    const window = await join(app, sessionId);
    const bot = await join(app, sessionId, { principal: ADMIN });
    const prompt = client.prompt(sessionId, "go");
    for (const other of [window, bot]) {
      const asked = await other.request(ASK);
      assert.equal(asked.params._meta.trunkline.mayAnswer, false);
      answer(other, asked, "no");
      await news(other, "refused");
      assert.match(other.text, /does not count: only the client that sent the prompt \('test'\)/);
    }
    assert.equal(outcomes.length, 0);
    const asked = await client.request(ASK);
    assert.equal(asked.params._meta, undefined);
    answer(client, asked);
    await prompt;
    assert.equal(outcomes[0]?.outcome === "selected" && outcomes[0].optionId, "once");
    for (const other of [window, bot]) await news(other, "answered");
  });

  it("asker: after it has disconnected, that of a client of the same principal, and of no other", async () => {
    const { app, outcomes } = await open("asker");
    await using _ = app;
    const { client, sessionId } = await app.client();
    client.post("session/prompt", { sessionId, prompt: [{ type: "text", text: "go" }] });
    const window = await join(app, sessionId);
    const first = await window.request(ASK);
    answer(window, first);
    await news(window, "refused");
    const bot = await join(app, sessionId, { principal: ADMIN });
    await client.leave();
    answer(bot, await bot.request(ASK), "no");
    await news(bot, "refused");
    const again = await window.find(({ id, method }) => method === ASK && id !== first.id);
    assert.equal(again.params._meta, undefined);
    answer(window, again);
    await news(bot, "answered");
    await bot.find(({ params }) => params?.update?._meta?.trunkline?.turn?.state === "end_turn");
    assert.equal(outcomes[0]?.outcome === "selected" && outcomes[0].optionId, "once");
  });

  it("owner: only the owner's, also where somebody else prompted", async () => {
    const notices: SessionNotice[] = [];
    const { app, outcomes } = await open("owner", notices);
    await using _ = app;
    const bot = app.connect({}, ADMIN);
    await bot.initialize();
    const { sessionId } = await bot.ask("session/new", { cwd: "/tmp", mcpServers: [] });
    const prompt = bot.prompt(String(sessionId), "go");
    answer(bot, await bot.request(ASK));
    await news(bot, "refused");
    assert.match(bot.text, /only the owner of this gateway may answer/);
    const owner = await join(app, String(sessionId));
    answer(owner, await owner.request(ASK), "no");
    await prompt;
    assert.equal(outcomes[0]?.outcome === "selected" && outcomes[0].optionId, "no");
    const [asked, ended] = notices;
    assert.ok(asked?.reason === "permission" && asked.mayAnswer);
    assert.equal(ended?.reason, "turn-ended");
  });

  it("an answer from elsewhere counts once, and by the same rule", async () => {
    const notices: SessionNotice[] = [];
    const { app } = await open("owner", notices);
    await using _ = app;
    const { client, sessionId } = await app.client();
    const prompt = client.prompt(sessionId, "go");
    await client.request(ASK);
    const [asked] = notices;
    assert.ok(asked?.reason === "permission");
    const session = await app.sessions.need(sessionId);
    const answerAs = (principal: Principal, option = "once"): Promise<void> =>
      session.answer(asked.requestId, option, { name: "phone", principal });
    await assert.rejects(answerAs(ADMIN), /Your answer does not count: only the owner/);
    await assert.rejects(answerAs({ id: "" }, "other"), /no option 'other'/);
    await answerAs({ id: "" });
    const log = (await Array.fromAsync(app.log.read(sessionId))).flat();
    const isAnswer = ({ message }: { message: unknown }): boolean =>
      (message as SessionEvent).kind === "answer";
    assert.ok(log.some(isAnswer), "it is stored before it is acknowledged");
    await prompt;
    await assert.rejects(answerAs({ id: "" }), /answered already/);
    const told = await news(client, "answered");
    assert.equal(told.params.update._meta.trunkline.permission.by, "phone");
  });
});

describe("a client that observes a session", { timeout: 30_000 }, () => {
  it("sees requests and updates, and cannot prompt, cancel, answer, change or close", async () => {
    const { app, outcomes } = await open("first");
    await using _ = app;
    const { client, sessionId } = await app.client();
    const observer = app.connect();
    await observer.initialize();
    const params = { sessionId, cwd: "/tmp", mcpServers: [] };
    const loaded = await observer.ask("session/load", { ...params, ...OBSERVER });
    assert.equal(loaded._meta.trunkline.role, "observer");
    await assert.rejects(observer.prompt(sessionId, "mine"), denied);
    await assert.rejects(observer.ask("session/close", { sessionId }), denied);
    await assert.rejects(observer.ask("session/delete", { sessionId }), denied);
    await assert.rejects(observer.ask("session/set_mode", { sessionId, modeId: "x" }), denied);
    const prompt = client.prompt(sessionId, "go");
    const asked = await observer.request(ASK);
    assert.deepEqual(asked.params._meta.trunkline, { mayAnswer: false, why: MAY_NOT });
    observer.send({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId } });
    answer(observer, asked);
    await news(observer, "refused");
    answer(client, await client.request(ASK), "no");
    assert.equal((await prompt).stopReason, "end_turn");
    assert.equal(outcomes[0]?.outcome === "selected" && outcomes[0].optionId, "no");
    const again = await observer.ask("session/resume", params);
    assert.equal(again._meta.trunkline.role, "controller");
  });

  it("is not asked for files, terminals and forms", async () => {
    const offered: string[][] = [];
    await using app = await AcpApp.open({
      script: async ({ client }) => void offered.push(Object.keys(client)),
    });
    const { client, sessionId } = await app.client();
    const able = app.connect();
    await able.initialize({
      fs: { readTextFile: true },
      terminal: true,
      elicitation: { form: {} },
    });
    const params = { sessionId, cwd: "/tmp", mcpServers: [] };
    await able.ask("session/load", { ...params, ...OBSERVER });
    await client.prompt(sessionId, "go");
    await able.ask("session/load", params);
    await client.prompt(sessionId, "go");
    assert.deepEqual(
      offered.map((keys) => keys.includes("terminal")),
      [false, true],
    );
  });

  it("cannot be more with a token that only observes, and opens a session as it was stored", async () => {
    const { app } = await open("first");
    await using _ = app;
    const { client, sessionId } = await app.client();
    await client.ask("session/close", { sessionId });
    const tv = app.connect({}, WATCHER);
    await tv.initialize();
    const params = { sessionId, cwd: "/etc", mcpServers: [] };
    const loaded = await tv.ask("session/load", params);
    assert.equal(loaded._meta.trunkline.role, "observer");
    assert.equal((await app.sessions.need(sessionId)).cwd, "/tmp");
    await assert.rejects(tv.prompt(sessionId, "mine"), denied);
    await assert.rejects(tv.ask("session/new", { cwd: "/tmp", mcpServers: [] }), denied);
    await assert.rejects(tv.ask("session/fork", params), denied);
  });

  it("a mode accepts only what the person who prompts could allow", async () => {
    for (const permissions of ["first", "asker", "owner"] as const) {
      const outcomes: PermissionOutcome[] = [];
      const request = { ...REQUEST, acceptedBy: "mode auto-accept" };
      await using app = await AcpApp.open({
        permissions,
        script: async (turn) => void outcomes.push(await turn.requestPermission(request)),
      });
      const { client, sessionId } = await app.client();
      client.answer = () => ({ result: { outcome: { outcome: "selected", optionId: "no" } } });
      const bot = await join(app, sessionId, { principal: ADMIN });
      await client.prompt(sessionId, "go");
      const prompt = bot.prompt(sessionId, "go");
      await prompt;
      const ids = outcomes.map((each) => each.outcome === "selected" && each.optionId);
      assert.deepEqual(ids, ["once", permissions === "owner" ? "no" : "once"], permissions);
    }
  });
});
