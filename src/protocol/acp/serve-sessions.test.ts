import assert from "node:assert/strict";
import { mkdirSync, mkdtempDisposableSync, realpathSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { AcpApp, type Message } from "../../../test/support/acp-app.ts";
import { covers } from "../../../test/support/requirement.ts";
import { ANYONE, OWNER, type Principal, type PrincipalLimits } from "../../base/principal.ts";
import { SessionError } from "../../session/session-error.ts";
import { AcpDoor } from "./door.ts";
import { refuseFolders, refusePrograms } from "./serve-sessions.ts";

const limited = (limits: PrincipalLimits): Principal => ({ id: "token ci", name: "ci", limits });
const DENIED = { problem: "permission-denied" };

describe("refusePrograms()", () => {
  const program = [{ name: "shell", command: "sh", args: [], env: [] }];

  it("refuses programs to principals that may not start any", () => {
    assert.throws(() => refusePrograms(program, ANYONE), {
      ...DENIED,
      message: /MCP server 'shell'\) needs the scope 'programs'/,
    });
    refusePrograms(program, OWNER);
    refusePrograms(program, { id: "token ci", scopes: ["sessions", "programs"] });
  });

  it("allows servers that are reached by URL", () => {
    refusePrograms([{ name: "web", type: "http", url: "http://h", headers: [] }], ANYONE);
  });
});

describe("refuseFolders()", () => {
  const setup = (cwd: string, ...additionalDirectories: string[]) => ({
    cwd,
    additionalDirectories,
    mcpServers: [],
  });
  const door = (addresses: readonly string[] = []) =>
    new AcpDoor({
      sessions: () => assert.fail("no session is opened"),
      addressesOf: async () => addresses,
    });

  it("restricts a principal to its folders, after links are resolved", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-setup-"));
    const root = realpathSync(folder.path);
    const [mine, theirs] = [join(root, "mine"), join(root, "theirs")];
    mkdirSync(join(mine, "sub"), { recursive: true });
    mkdirSync(theirs);
    symlinkSync(theirs, join(mine, "link"));
    const principal = limited({ folders: [mine] });
    await refuseFolders(door(), setup(mine, join(mine, "sub")), principal);
    for (const outside of [setup(theirs), setup(mine, theirs), setup(join(mine, "link"))]) {
      await assert.rejects(refuseFolders(door(), outside, principal), DENIED);
    }
    await refuseFolders(door(), setup(theirs), OWNER);
  });

  it("restricts a principal to its repositories, and refuses folders outside of any", async () => {
    const principal = limited({ repositories: ["https://example.org/team/*"] });
    await refuseFolders(door(["https://example.org/team/app"]), setup("/"), principal);
    await assert.rejects(
      refuseFolders(door(["https://example.org/other/app"]), setup("/"), principal),
      { ...DENIED, message: /the repository 'https:\/\/example.org\/other\/app'/ },
    );
    await assert.rejects(refuseFolders(door(), setup("/"), principal), {
      ...DENIED,
      message: /in no repository with an address.*--repo ADDRESS/,
    });
  });
});

describe("the ACP routes of sessions", { timeout: 30_000 }, () => {
  it("answers session/new before any update of the session, with models, modes and options", async () => {
    covers("acp.new.answer", "acp.new.local-server");
    await using app = await AcpApp.open();
    const client = app.connect();
    await client.initialize();
    const created = await client.ask("session/new", {
      cwd: "/path/to/project",
      mcpServers: [
        {
          name: "weather",
          type: "local",
          command: ["bun", "x", "@h1deya/mcp-server-weather"],
        },
        { name: "today", command: "node", args: ["x"], env: [{ name: "A", value: "b" }] },
        { name: "web", type: "http", url: "http://localhost:1", headers: [] },
      ],
    });
    const order = client.messages.map(({ id, method }) => id ?? method);
    assert.deepEqual(order.slice(0, 2), [1, 2]);
    assert.equal(created.models.currentModelId, "anthropic/claude-3-5-sonnet-20241022");
    assert.deepEqual(created.modes.availableModes[0], {
      id: "build",
      name: "Build",
      description: "General purpose coding assistant",
    });
    const categories = created.configOptions.map((option: { category: string }) => option.category);
    assert.deepEqual(categories, ["mode", "model"]);
    assert.deepEqual(app.agent.sessions[0]?.options.mcpServers, [
      { name: "weather", command: "bun", args: ["x", "@h1deya/mcp-server-weather"], env: [] },
      { name: "today", command: "node", args: ["x"], env: [{ name: "A", value: "b" }] },
      { name: "web", type: "http", url: "http://localhost:1", headers: [] },
    ]);
    const update = await client.find(({ method }) => method === "session/update");
    assert.equal(update.params.sessionId, created.sessionId);
  });

  it("changes mode and model in both forms, and notifies the other clients", async () => {
    covers("acp.set-mode.answer", "acp.set-model.answer", "acp.order.session");
    await using app = await AcpApp.open();
    const { client, sessionId } = await app.client();
    const other = app.connect();
    await other.initialize();
    await other.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    const ids = [
      client.post("session/set_mode", { sessionId, modeId: "architect" }),
      client.post("session/set_model", { sessionId, modelId: "openai/gpt-4" }),
      client.post("session/set_config_option", { sessionId, configId: "mode", value: "build" }),
    ];
    const [mode, model, option] = await Promise.all(ids.map((id) => client.answerTo(id)));
    assert.deepEqual([mode?.result, model?.result], [{}, {}]);
    const values = option?.result.configOptions.map((one: { currentValue: string }) => {
      return one.currentValue;
    });
    assert.deepEqual(values, ["build", "openai/gpt-4"]);
    await other.find(() => other.updates.filter((it) => it.currentModeId).length === 2);
    assert.deepEqual(
      other.updates.filter((it) => it.currentModeId).map((it) => it.currentModeId),
      ["architect", "build"],
    );
    assert.ok(other.updates.some((it) => it.sessionUpdate === "config_option_update"));
    assert.ok(!client.updates.some((it) => it.sessionUpdate === "current_mode_update"));
    for (const [method, params, words] of [
      ["session/set_mode", { modeId: "x" }, /Cannot set the mode to 'x'.*build, architect/],
      ["session/set_model", { modelId: "x" }, /Cannot set the model to 'x'/],
      ["session/set_config_option", { configId: "x", value: 1 }, /no such option.*mode, model/],
      ["session/set_config_option", { configId: "mode", value: 1 }, /to number/],
    ] as const) {
      await assert.rejects(client.ask(method, { sessionId, ...params }), {
        code: -32602,
        message: words,
      });
    }
  });

  it("distinguishes sessions that do not exist, were closed or were deleted", async () => {
    covers("acp.flow.invalid-session", "acp.error.session-not-found", "acp.error.session-expired");
    covers("acp.error.session-locked", "acp.order.concurrent", "acp.answer.helpful");
    await using app = await AcpApp.open();
    const { client, sessionId } = await app.client();
    await assert.rejects(client.prompt("invalid", "x"), {
      code: -31900,
      message: "Session not found",
      data: { details: "There is no session 'invalid'." },
    });
    const place = { cwd: "/tmp", mcpServers: [] };
    const id = crypto.randomUUID();
    await assert.rejects(client.ask("session/load", { sessionId: id, ...place }), { code: -31900 });
    await client.ask("session/close", { sessionId });
    assert.equal(app.agent.sessions[0]?.isDisposed, true);
    await assert.rejects(client.prompt(sessionId, "x"), {
      code: -31901,
      message: "Session expired",
    });
    await client.ask("session/load", { sessionId, ...place });
    assert.deepEqual(await client.prompt(sessionId, "x"), { stopReason: "end_turn" });
    await client.ask("session/delete", { sessionId });
    await assert.rejects(client.ask("session/load", { sessionId, ...place }), { code: -31901 });
    const { sessions } = await client.ask("session/list", {});
    assert.deepEqual(sessions, []);
  });

  it("lists sessions page by page, also of one folder", async () => {
    await using app = await AcpApp.open();
    const { client, sessionId } = await app.client();
    await client.prompt(sessionId, "A title\nand more");
    for (let at = 0; at < 101; at++) await client.ask("session/new", { cwd: "/", mcpServers: [] });
    const here = await client.ask("session/list", { cwd: "/tmp" });
    assert.deepEqual(here.sessions, [
      {
        ...{ sessionId, cwd: "/tmp", title: "A title", archived: false },
        updatedAt: here.sessions[0].updatedAt,
      },
    ]);
    assert.equal((await client.ask("session/list", { cwd: "/tmp/x/../" })).sessions.length, 1);
    await assert.rejects(client.ask("session/list", { cwd: "tmp" }), { code: -32602 });
    const first = await client.ask("session/list", {});
    const second = await client.ask("session/list", { cursor: first.nextCursor });
    assert.deepEqual([first.sessions.length, second.sessions.length], [100, 2]);
    assert.equal(second.nextCursor, undefined);
    await client.prompt(sessionId, "to the front");
    await client.ask("session/new", { cwd: "/", mcpServers: [] });
    const seen = new Set(first.sessions.map((one: Message) => one.sessionId));
    const later = await client.ask("session/list", { cursor: first.nextCursor });
    assert.equal(later.sessions.length, 1);
    assert.ok(later.sessions.every((one: Message) => !seen.has(one.sessionId)));
    for (const cursor of ["x", "100", `-1.${sessionId}`]) {
      await assert.rejects(client.ask("session/list", { cursor }), { code: -32602 });
    }
  });

  it("changes a setting completely or not at all", async () => {
    covers("acp.order.atomic");
    await using app = await AcpApp.open();
    const { client, sessionId } = await app.client();
    const other = app.connect();
    await other.initialize();
    const place = { sessionId, cwd: "/tmp", mcpServers: [] };
    await other.ask("session/load", place);
    const [worker] = app.agent.sessions;
    assert.ok(worker);
    worker.setMode = () => Promise.reject(new SessionError("tool-disabled", "Not now"));
    const change = client.ask("session/set_mode", { sessionId, modeId: "architect" });
    await assert.rejects(change, { code: -31801 });
    await client.ask("session/close", { sessionId });
    const again = await client.ask("session/load", place);
    assert.equal(again.modes.currentModeId, "build");
    assert.ok(!other.updates.some(({ sessionUpdate }) => sessionUpdate === "current_mode_update"));
  });

  it("leaves nothing behind if a session's agent does not start", async () => {
    covers("acp.order.rollback");
    await using app = await AcpApp.open();
    const client = app.connect();
    app.agent.open = () => Promise.reject(new SessionError("mcp-unavailable", "It is down"));
    await assert.rejects(client.ask("session/new", { cwd: "/tmp" }), { code: -31601 });
    assert.deepEqual((await client.ask("session/list", {})).sessions, []);
    assert.equal(app.sessions.size, 0);
  });

  it("aborts a session/new that takes too long", async () => {
    covers("acp.timeout.new", "acp.error.timeout");
    await using app = await AcpApp.open({ limits: { "session/new": { timeout: 20 } } });
    const open = app.agent.open.bind(app.agent);
    const late = Promise.withResolvers<void>();
    app.agent.open = async (options) => {
      await late.promise;
      return open(options);
    };
    const client = app.connect();
    await assert.rejects(client.ask("session/new", { cwd: "/tmp" }), { code: -32001 });
    late.resolve();
  });
});
