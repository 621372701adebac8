import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempDisposableSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";

import packageJson from "../../package.json" with { type: "json" };

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "../..");
const SUPPORT = join(ROOT, "test/support");
const MB = 1024 * 1024;

describe("the standalone executable", { timeout: 300_000 }, () => {
  const place = mkdtempDisposableSync(join(tmpdir(), "trunkline-executable-"));
  const program = join(place.path, "trunkline");
  // Nothing else is found: neither Node, nor the checkout.
  const env = { HOME: place.path, PATH: "/usr/bin:/bin" };

  before(async () => {
    const script = join(ROOT, "scripts/executable/build.ts");
    const { stdout } = await run(process.execPath, [script], { cwd: ROOT });
    copyFileSync(stdout.trim().split("\n").at(-1) ?? "", program);
  });
  after(() => place.remove());

  /** Asks MCP on standard streams, one question after the other. */
  async function ask(args: string[], questions: readonly { method: string; params?: object }[]) {
    const child = spawn(program, ["mcp", ...args], { env, cwd: place.path });
    const exit = once(child, "close");
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const answers: Record<string, never>[] = [];
    for (const [index, question] of questions.entries()) {
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: index, ...question })}\n`);
      for (;;) {
        const { value } = await lines.next();
        assert.equal(typeof value, "string", "it ended early");
        const message = JSON.parse(value as string);
        if (message.id === index) {
          answers.push(message.result);
          break;
        }
      }
    }
    child.stdin.end();
    assert.deepEqual(await exit, [0, null]);
    return answers;
  }

  const INITIALIZE = {
    method: "initialize",
    params: {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    },
  };

  it("says its version, and is not larger than Node and itself", async () => {
    const { stdout } = await run(program, ["--version"], { env });
    assert.equal(stdout, `trunkline ${packageJson.version}\n`);
    assert.ok(statSync(program).size < 175 * MB);
  });

  it("finds nothing wrong with itself: its own start, its children, the sandbox's parts", async () => {
    const { stdout } = await run(program, ["doctor", "--deep"], { env });
    // It warns of a slow start, which a busy machine has.
    assert.match(stdout, /^(?:ok|warn) +trunkline mcp: answers 'initialize'/m);
    assert.doesNotMatch(stdout, /^fail/m);
  });

  it("does not take a word for an option of Node", async () => {
    await assert.rejects(run(program, ["--inspect"], { env }), { code: 2 });
  });

  it("offers its tools, those of another server, and a plugin's over QUIC", async () => {
    const node = process.execPath;
    const config = {
      mcpServers: { notes: { command: node, args: [join(SUPPORT, "notes-server.mjs")] } },
      bus: { plugins: { "tools.test": { command: node, args: [join(SUPPORT, "bus-plugin.ts")] } } },
    };
    writeFileSync(join(place.path, "config.jsonc"), JSON.stringify(config));
    const call = (name: string, args: object) => ({
      method: "tools/call",
      params: { name, arguments: args },
    });
    const [, , note, echo] = await ask(
      ["--config", "config.jsonc"],
      [
        INITIALIZE,
        { method: "tools/list" },
        call("read_note", { name: "one" }),
        call("echo", { text: "from the bus" }),
      ],
    );
    assert.match(JSON.stringify(note), /The note one/);
    assert.match(JSON.stringify(echo), /from the bus/);
  });

  it("serves the dashboard, with every file that its page names", async () => {
    const child = spawn(program, ["serve", "--port", "0", "--json"], { env, cwd: place.path });
    const exit = once(child, "close");
    try {
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const { value } = await lines.next();
      const { url, login } = JSON.parse(String(value)) as Record<"url" | "login", string>;
      const entered = await fetch(new URL("/login", url), {
        method: "POST",
        headers: { "content-type": "application/json", origin: url },
        body: JSON.stringify({ code: new URL(login).hash.slice(1) }),
      });
      const [cookie = ""] = (entered.headers.getSetCookie()[0] ?? "").split(";");
      const page = await fetch(url, { headers: { cookie } });
      assert.equal(page.status, 200);
      const html = await page.text();
      const named = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(
        ([, path = ""]) => path,
      );
      const types = named.map((path) => extname(path)).toSorted();
      assert.ok(types.includes(".js") && types.includes(".css"), html);
      for (const path of named) {
        const file = await fetch(new URL(path, url), { headers: { cookie } });
        assert.equal(file.status, 200, path);
        assert.ok((await file.bytes()).length > 0, path);
      }
      const me = await fetch(new URL("/api/me", url), { headers: { cookie } });
      assert.equal(((await me.json()) as { version: string }).version, packageJson.version);
    } finally {
      child.kill("SIGTERM");
    }
    assert.deepEqual(await exit, [0, null]);
  });

  it("runs a script as Node does when a plugin is one", async () => {
    const script = join(place.path, "script.mjs");
    writeFileSync(script, "console.log(JSON.stringify(process.argv.slice(1)));");
    const { stdout } = await run(program, ["--no-warnings", script, "a", "--b"], { env });
    assert.deepEqual(JSON.parse(stdout), [script, "a", "--b"]);
  });
});
