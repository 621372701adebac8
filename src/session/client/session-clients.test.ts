import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../../test/support/requirement.ts";
import { AcpHouse } from "../../../test/support/acp-house.ts";
import { chunk, promptText, ScriptedAgent } from "../../../test/support/scripted-agent.ts";
import { resolveSessionLimits } from "../limits.ts";
import { chosenAfter } from "../settings.ts";

describe("the clients of a session", { timeout: 30_000 }, () => {
  it("resumes after an event, and sees all that comes then once", async () => {
    await using house = await AcpHouse.open({
      script: async (turn) => {
        for (const word of ["a", "b", "c"]) await turn.update(chunk(word));
      },
    });
    const client = house.connect();
    await client.initialize({ _meta: { trunkline: { sequence: true } } });
    const { sessionId } = await client.ask("session/new", { cwd: "/tmp", mcpServers: [] });
    await client.prompt(String(sessionId), "go");
    const b = client.messages.find(({ params }) => params?.update?.content?.text === "b");
    assert.ok(b);
    const { seq: after } = b.params._meta.trunkline as { seq: number };
    const again = house.connect();
    await again.initialize();
    const params = { sessionId, cwd: "/tmp", _meta: { trunkline: { after } } };
    await again.ask("session/resume", params);
    assert.equal(again.text, "c");
    await client.prompt(String(sessionId), "go");
    await again.find(({ params: it }) => it?.update?._meta !== undefined);
    assert.equal(again.text, "cabc");
  });

  it("shows its first client what was said before it came, once and after the answer", async () => {
    const agent = new ScriptedAgent();
    const open = agent.open.bind(agent);
    agent.open = async (options) => {
      options.update(chunk("early "));
      const session = await open(options);
      options.update(chunk("and late"));
      return session;
    };
    await using house = await AcpHouse.open({ agent });
    const { client, sessionId } = await house.client();
    await client.find(() => client.text === "early and late");
    const order = client.messages.map(({ method, id }) => method ?? id);
    assert.deepEqual(order.slice(0, 3), [1, 2, "session/update"]);
    const place = { sessionId, cwd: "/tmp", mcpServers: [] };
    const other = house.connect();
    await other.initialize();
    await other.ask("session/resume", place);
    await client.prompt(sessionId, "go");
    assert.equal(other.text, "");
    await client.ask("session/close", { sessionId });
    await other.ask("session/load", place);
    assert.equal(other.text, "early and lateearly and late");
  });

  it("tells a client that falls behind to resume, and holds up nobody for it", async () => {
    const text = "x".repeat(1000);
    await using house = await AcpHouse.open({
      script: async (turn) => {
        for (let at = 0; at < 50; at++) await turn.update(chunk(text));
      },
      sessionLimits: { backlog: { updates: 5, characters: 1_000_000 } },
    });
    const { client, sessionId } = await house.client();
    const slow = house.connect({ highWater: 2_000 });
    await slow.initialize({ _meta: { trunkline: { sequence: true } } });
    await slow.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    const release = slow.pause();
    await client.prompt(sessionId, "go");
    assert.equal(client.text.length, 50_000);
    release();
    const told = await slow.find(
      ({ params }) => params?.update?._meta?.trunkline?.lagged !== undefined,
    );
    const { after } = told.params.update._meta.trunkline.lagged as { after: number };
    assert.ok(slow.text.length < 50_000, "it was told though it had seen everything");
    const params = { sessionId, cwd: "/tmp", _meta: { trunkline: { after } } };
    await slow.ask("session/resume", params);
    assert.equal(slow.text.length, 50_000);
  });

  it("answers a client that reads slowly after all that the turn said", async () => {
    await using house = await AcpHouse.open({
      script: async (turn) => {
        for (let at = 0; at < 20; at++) await turn.update(chunk("x".repeat(1000)));
      },
    });
    const slow = house.connect({ highWater: 2_000 });
    await slow.initialize();
    const { sessionId } = await slow.ask("session/new", { cwd: "/tmp", mcpServers: [] });
    const other = house.connect();
    await other.initialize();
    await other.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    const release = slow.pause();
    const answered = slow.prompt(sessionId, "go");
    await other.find(({ params }) => params?.update?._meta?.trunkline?.turn?.state === "end_turn");
    release();
    await answered;
    assert.equal(slow.text.length, 20_000);
  });

  it("asks only clients that offer it for files, terminals and answers", async () => {
    covers("acp.write-file.request", "acp.read-file.request");
    const seen: unknown[] = [];
    await using house = await AcpHouse.open({
      script: async ({ client }) => {
        seen.push(Object.keys(client));
        if (client.fs?.readTextFile === undefined) return;
        seen.push(await client.fs.readTextFile("/a", { line: 1, limit: 1000 }));
        await client.fs.writeTextFile?.("/a", "new");
        const terminal = await client.terminal?.create({ command: "ls", args: ["-l"] });
        seen.push(await terminal?.waitForExit(), await terminal?.output());
        await terminal?.release();
        seen.push(await client.elicit?.({ mode: "form", message: "?\u202e", requestedSchema: {} }));
      },
    });
    const { client, sessionId } = await house.client();
    await client.prompt(sessionId, "none");
    assert.deepEqual(seen.splice(0), [["notices", "compaction"]]);
    const able = house.connect();
    const results: Record<string, object> = {
      "fs/read_text_file": { content: "text\n" },
      "fs/write_text_file": {},
      "terminal/create": { terminalId: "term-1" },
      "terminal/wait_for_exit": { exitCode: 0 },
      "terminal/output": { output: "a", truncated: false },
      "terminal/release": {},
      "elicitation/create": { action: "decline" },
    };
    able.answer = ({ method }) => ({ result: results[String(method)] });
    await able.initialize({
      fs: { readTextFile: true, writeTextFile: true },
      terminal: true,
      elicitation: { form: {} },
    });
    await able.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    await client.prompt(sessionId, "all");
    assert.deepEqual(seen.slice(1), [
      "text\n",
      { exitCode: 0 },
      { output: "a", truncated: false },
      { action: "decline" },
    ]);
    const asked = able.messages.filter(
      ({ method, id }) => method !== undefined && id !== undefined,
    );
    assert.deepEqual(
      asked.map(({ method }) => method),
      Object.keys(results),
    );
    assert.deepEqual(asked[0]?.params, { sessionId, path: "/a", line: 1, limit: 1000 });
    assert.equal(asked.at(-1)?.params.message, String.raw`?\u202e`);
    const toOther = client.messages.filter(({ method }) => String(method).startsWith("fs/"));
    assert.deepEqual(toOther, []);
  });

  it("tries a file once more when the client is late, and then gives it up", async () => {
    covers("acp.timeout.read", "acp.timeout.write");
    const done: unknown[] = [];
    await using house = await AcpHouse.open({
      limits: { "fs/read_text_file": { timeout: 250 }, "fs/write_text_file": { timeout: 250 } },
      script: async ({ client: { fs } }) => {
        done.push(await fs?.readTextFile?.("/a"));
        await fs?.writeTextFile?.("/a", "x");
        await fs?.readTextFile?.("/never").catch(({ code }) => done.push(code));
      },
    });
    const { client, sessionId } = await house.client({
      fs: { readTextFile: true, writeTextFile: true },
    });
    const asked: Record<string, number> = {};
    client.answer = ({ method, params }) => {
      const what = `${String(method)} ${params.path}`;
      asked[what] = (asked[what] ?? 0) + 1;
      if (asked[what] === 1 || params.path === "/never") return undefined;
      return { result: method === "fs/read_text_file" ? { content: "late" } : {} };
    };
    await client.prompt(sessionId, "go");
    assert.deepEqual(done, ["late", "timeout"]);
    assert.deepEqual(asked, {
      "fs/read_text_file /a": 2,
      "fs/write_text_file /a": 2,
      "fs/read_text_file /never": 2,
    });
  });

  it("reads a hundred files a minute and writes fifty, and waits for its turn beyond that", async () => {
    covers("acp.rate.read", "acp.rate.write");
    const rate = { limit: 2, windowMs: 300 };
    const times: number[] = [];
    await using house = await AcpHouse.open({
      limits: { "fs/read_text_file": { rate }, "fs/write_text_file": { rate } },
      script: async ({ client: { fs } }) => {
        for (let at = 0; at < 3; at++) await fs?.readTextFile?.("/a");
        for (let at = 0; at < 3; at++) await fs?.writeTextFile?.("/a", "");
      },
    });
    const { client, sessionId } = await house.client({
      fs: { readTextFile: true, writeTextFile: true },
    });
    client.answer = () => {
      times.push(performance.now());
      return { result: { content: "" } };
    };
    // Each is counted after what came before it was answered, however late that was seen here.
    const started = performance.now();
    await client.prompt(sessionId, "go");
    const [, , third = 0, , , sixth = 0] = times;
    assert.ok(third - started >= 300 && sixth - third >= 300, String([started, ...times]));
    const { ask } = resolveSessionLimits();
    assert.equal(ask("fs/read_text_file").rate?.rate.limit, 100);
    assert.equal(ask("fs/write_text_file").rate?.rate.limit, 50);
    assert.deepEqual(
      [ask("fs/read_text_file").timeout, ask("fs/write_text_file").timeout],
      [30_000, 60_000],
    );
  });

  it("tells the agent what the client could not do, in the document's words", async () => {
    covers("acp.read-file.error", "acp.validate.response-body");
    const failures: unknown[] = [];
    await using house = await AcpHouse.open({
      script: async ({ client: { fs } }) => {
        await fs?.readTextFile?.("/a").catch((error: unknown) => failures.push(error));
      },
    });
    const { client, sessionId } = await house.client({ fs: { readTextFile: true } });
    const error = { code: -31700, message: "File not found", data: { path: "/a" } };
    client.answer = () => ({ error });
    await client.prompt(sessionId, "one");
    client.answer = () => ({ result: {}, error });
    await client.prompt(sessionId, "two");
    client.answer = () => ({ result: { content: 1 } });
    await client.prompt(sessionId, "three");
    const told = failures.map((failure) => {
      const { problem, data, message } = failure as Record<string, unknown>;
      return problem === undefined ? message : { problem, data };
    });
    assert.deepEqual(told[0], { problem: "file-not-found", data: { path: "/a" } });
    assert.match(String(told[1]), /has both a result and an error/);
    assert.match(String(told[2]), /'result.content' must be a string/);
  });

  it("keeps to ten megabytes for a file", async () => {
    covers("acp.size.fs");
    const failures: { problem?: string; code?: string }[] = [];
    const MB = 1024 * 1024;
    await using house = await AcpHouse.open({
      script: async ({ client: { fs } }) => {
        const failed = (error: unknown) => void failures.push(error as object);
        await fs?.writeTextFile?.("/a", "x".repeat(11 * MB)).catch(failed);
        await fs?.readTextFile?.("/a").catch(failed);
      },
    });
    const { client, sessionId } = await house.client({
      fs: { readTextFile: true, writeTextFile: true },
    });
    client.answer = () => ({ result: { content: "x".repeat(11 * MB) } });
    await client.prompt(sessionId, "go");
    assert.deepEqual([failures[0]?.problem, failures[1]?.code], ["file-too-large", "limit"]);
  });

  it("forgets a client that leaves while its session is opened", async () => {
    await using house = await AcpHouse.open();
    const client = house.connect();
    const open = house.agent.open.bind(house.agent);
    const left = Promise.withResolvers<void>();
    house.agent.open = async (options) => {
      await left.promise;
      return open(options);
    };
    client.post("session/new", { cwd: "/tmp" });
    while (house.sessions.size === 0 && (await house.log.list()).length === 0) {
      await new Promise(setImmediate);
    }
    await client.leave();
    left.resolve();
    while (house.sessions.size === 0) await new Promise(setImmediate);
    await new Promise((resolve) => setTimeout(resolve, 5));
    const [record] = await house.log.list();
    const session = house.sessions.get(record?.id ?? "");
    assert.ok(session !== undefined && session.idleFor > 0);
  });

  it("forks with all that was said, and goes its own way", async () => {
    await using house = await AcpHouse.open({
      script: (turn) => turn.update(chunk(promptText(turn))),
    });
    const { client, sessionId } = await house.client();
    await client.prompt(sessionId, "one");
    const { sessionId: forked } = await client.ask("session/fork", { sessionId, cwd: "/tmp" });
    await client.prompt(String(forked), "two");
    const reader = house.connect();
    await reader.initialize();
    await reader.ask("session/load", { sessionId: forked, cwd: "/tmp", mcpServers: [] });
    assert.equal(reader.text, "onetwo");
    const first = house.connect();
    await first.initialize();
    await first.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    assert.equal(first.text, "one");
  });

  it("gives an agent that looks late what was said before, and not the prompt of now", async () => {
    const known: unknown[] = [];
    await using house = await AcpHouse.open({
      script: async (_turn, session) => {
        for await (const entry of session.options.history ?? []) {
          if (entry.kind === "prompt") known.push(entry.prompt[0]?.text);
        }
      },
    });
    const { client, sessionId } = await house.client();
    await client.prompt(sessionId, "one");
    await house.stop();
    await house.start();
    const later = house.connect();
    await later.initialize();
    await later.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    await later.prompt(sessionId, "two");
    assert.deepEqual(known, ["one"]);
  });

  it("keeps what was chosen over a restart", async () => {
    await using house = await AcpHouse.open();
    const { client, sessionId } = await house.client();
    await client.ask("session/set_mode", { sessionId, modeId: "architect" });
    await client.ask("session/set_model", { sessionId, modelId: "openai/gpt-4" });
    await house.stop();
    await house.start();
    const later = house.connect();
    await later.initialize();
    const loaded = await later.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    assert.equal(loaded.modes.currentModeId, "architect");
    assert.equal(loaded.models.currentModelId, "openai/gpt-4");
  });

  it("keeps the last choice of a mode, whether it was made as a mode or as an option", () => {
    const options = [{ id: "how", category: "mode" }, { id: "depth" }];
    const asMode = chosenAfter({}, { setting: "mode", id: "ask" }, options);
    const asOption = { setting: "option", id: "how", value: "build" } as const;
    assert.deepEqual(chosenAfter(asMode, asOption, options), { modeId: "build" });
    const deep = chosenAfter(asMode, { setting: "option", id: "depth", value: true }, options);
    assert.deepEqual(deep, { modeId: "ask", configOptions: { depth: true } });
  });
});
