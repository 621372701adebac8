import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../../test/support/requirement.ts";
import { AcpApp } from "../../../test/support/acp-app.ts";
import { resolveSessionLimits } from "../limits.ts";

describe("requests of an agent to clients", { timeout: 600_000 }, () => {
  it("go only to clients that support files, terminals and forms", async () => {
    covers("acp.write-file.request", "acp.read-file.request");
    const seen: unknown[] = [];
    await using app = await AcpApp.open({
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
    const { client, sessionId } = await app.client();
    await client.prompt(sessionId, "none");
    assert.deepEqual(seen.splice(0), [["notices", "compaction"]]);
    const able = app.connect();
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

  it("are retried once for a file if the client is late, and then fail", async () => {
    covers("acp.timeout.read", "acp.timeout.write");
    const done: unknown[] = [];
    await using app = await AcpApp.open({
      limits: { "fs/read_text_file": { timeout: 250 }, "fs/write_text_file": { timeout: 250 } },
      script: async ({ client: { fs } }) => {
        done.push(await fs?.readTextFile?.("/a"));
        await fs?.writeTextFile?.("/a", "x");
        await fs?.readTextFile?.("/never").catch(({ code }) => done.push(code));
      },
    });
    const { client, sessionId } = await app.client({
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

  it("say that they wait, and why, before they do", async () => {
    const rate = { limit: 1, windowMs: 60_000 };
    await using app = await AcpApp.open({
      limits: { "fs/read_text_file": { rate } },
      script: async ({ client: { fs } }) => {
        await fs?.readTextFile?.("/a");
        await Promise.all(["/b", "/c"].map(async (path) => fs?.readTextFile?.(path)));
      },
    });
    const { client, sessionId } = await app.client({ fs: { readTextFile: true } });
    client.answer = () => ({ result: { content: "" } });
    const prompt = client.prompt(sessionId, "go");
    await client.find(({ params }) => /Waiting \d+ s/.test(params?.update?.content?.text ?? ""));
    client.send({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId } });
    assert.equal((await prompt).stopReason, "cancelled");
    const said = client.updates.map(({ content }) => String(content?.text)).join("");
    assert.match(
      said,
      /Waiting (?:60|59|5\d) s: the editor is sent at most 1 `fs\/read_text_file` in/,
    );
    assert.equal(said.split("Waiting").length, 2, "both calls wait for the same reason");
  });

  it("are limited to a hundred file reads and fifty writes a minute, and wait beyond that", async () => {
    covers("acp.rate.read", "acp.rate.write");
    const rate = { limit: 2, windowMs: 300 };
    const times: number[] = [];
    await using app = await AcpApp.open({
      limits: { "fs/read_text_file": { rate }, "fs/write_text_file": { rate } },
      script: async ({ client: { fs } }) => {
        for (let at = 0; at < 3; at++) await fs?.readTextFile?.("/a");
        for (let at = 0; at < 3; at++) await fs?.writeTextFile?.("/a", "");
      },
    });
    const { client, sessionId } = await app.client({
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

  it("fail with the specification's error if the client fails", async () => {
    covers("acp.read-file.error", "acp.validate.response-body");
    const failures: unknown[] = [];
    await using app = await AcpApp.open({
      script: async ({ client: { fs } }) => {
        await fs?.readTextFile?.("/a").catch((error: unknown) => failures.push(error));
      },
    });
    const { client, sessionId } = await app.client({ fs: { readTextFile: true } });
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

  it("are limited to ten megabytes for a file", async () => {
    covers("acp.size.fs");
    const failures: { problem?: string; code?: string }[] = [];
    const MB = 1024 * 1024;
    await using app = await AcpApp.open({
      script: async ({ client: { fs } }) => {
        const failed = (error: unknown) => void failures.push(error as object);
        await fs?.writeTextFile?.("/a", "x".repeat(11 * MB)).catch(failed);
        await fs?.readTextFile?.("/a").catch(failed);
      },
    });
    const { client, sessionId } = await app.client({
      fs: { readTextFile: true, writeTextFile: true },
    });
    client.answer = () => ({ result: { content: "x".repeat(11 * MB) } });
    await client.prompt(sessionId, "go");
    assert.deepEqual([failures[0]?.problem, failures[1]?.code], ["file-too-large", "limit"]);
  });
});
