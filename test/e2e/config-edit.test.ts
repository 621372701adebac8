import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { Program } from "../support/program.ts";

const ROOT = join(import.meta.dirname, "../..");
const NOTES = join(ROOT, "test/support/notes-server.mjs");

class Home implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "trunkline-edit-"));
  readonly env = { PATH: process.env.PATH ?? "", HOME: this.path };

  get file(): string {
    return join(this.path, ".config/trunkline/config.jsonc");
  }

  get config(): Record<string, unknown> {
    return JSON.parse(readFileSync(this.file, "utf8")) as Record<string, unknown>;
  }

  run(input: string, ...args: string[]): { code: number | null; out: string; err: string } {
    const program = join(ROOT, "dist/trunkline.js");
    const options = { input, encoding: "utf8", cwd: this.path, env: this.env } as const;
    const ran = spawnSync(process.execPath, [program, ...args], { ...options, timeout: 300_000 });
    return { code: ran.status, out: ran.stdout, err: ran.stderr };
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}

describe("changing the configuration by commands", { timeout: 600_000 }, () => {
  it("reads secrets from standard input, and shows them to nobody", () => {
    using home = new Home();
    const add = ["server", "add", "web", "https://example.com/mcp", "--header", "Authorization"];
    const { code, out, err } = home.run("Bearer hush-hush\n", ...add);
    assert.equal(code, 0, err);
    assert.doesNotMatch(out + err, /hush/);
    const web = { url: "https://example.com/mcp", headers: { Authorization: "Bearer hush-hush" } };
    assert.deepEqual(home.config, { mcpServers: { web } });
    assert.equal(statSync(home.file).mode & 0o777, 0o600);
    assert.doesNotMatch(home.run("", "config", "show").out, /hush/);
    const without = home.run("", ...add, "--replace");
    assert.equal(without.code, 2);
    assert.match(without.err, /standard input has 0 lines, but 1 are needed/);
    // Whether there is a keychain or not, the key is not in the file.
    const key = home.run("sk-hush", "model", "add", "proxy", "--key");
    assert.doesNotMatch(key.out + key.err + readFileSync(home.file, "utf8"), /sk-hush/);
    const models = { providers: { proxy: { keyVariable: "PROXY_API_KEY" } } };
    assert.deepEqual(home.config, { mcpServers: { web }, models });
  });

  it("is applied by a program that runs", async () => {
    using home = new Home();
    await using assistant = new Program(["mcp"], { env: home.env });
    const clientInfo = { name: "test", version: "1" };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    assistant.write({ jsonrpc: "2.0", id: 1, method: "initialize", params });
    await assistant.answers(1);
    assistant.write({ jsonrpc: "2.0", method: "notifications/initialized" });
    // The folder of its configuration is created while it watches.
    await sleep(400);
    const { code, err } = home.run("", "server", "add", "notes", "--", process.execPath, NOTES);
    assert.equal(code, 0, err);
    await assistant.until(({ lines }) => lines.some((line) => line.includes("list_changed")));
    assistant.write({ jsonrpc: "2.0", id: 2, method: "tools/list", params: {} });
    await assistant.until(({ lines }) => lines.some((line) => line.includes("read_note")));
    assistant.child.stdin.end();
    assert.equal(await assistant.exit, 0);
  });
});
