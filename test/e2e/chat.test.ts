import assert from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Program } from "../support/program.ts";

const ROOT = join(import.meta.dirname, "../..");
const AGENT = join(ROOT, "test/support/acp-agent.mjs");

class Home implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "trunkline-chat-"));
  readonly where = ["--config", this.config, "--data", join(this.path, "data")];

  constructor() {
    const other = { command: process.execPath, args: [AGENT] };
    writeFileSync(this.config, JSON.stringify({ agent: "other", agents: { other } }));
  }

  get config(): string {
    return join(this.path, "config.jsonc");
  }

  run(input: string, ...args: string[]): { code: number | null; out: string; err: string } {
    const program = join(ROOT, "dist/trunkline.js");
    const options = { input, encoding: "utf8", cwd: this.path, timeout: 300_000 } as const;
    const ran = spawnSync(process.execPath, [program, ...args, ...this.where], options);
    return { code: ran.status, out: ran.stdout, err: ran.stderr };
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}

/** A terminal in which a command runs. */
class Terminal implements AsyncDisposable {
  /** What it has shown since `until`. */
  shown = "";
  /** Resolves to the exit code. */
  readonly closed: Promise<unknown>;
  readonly #child: ChildProcessWithoutNullStreams;

  constructor(command: string, cwd: string) {
    const child = spawn("script", ["-qec", command, "/dev/null"], {
      cwd,
      env: { ...process.env, TERM: "xterm", NO_COLOR: "" },
    });
    this.#child = child;
    this.closed = once(child, "close").then(([code]: unknown[]) => code);
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.shown += text.replaceAll("\x1b", "ESC");
    });
  }

  type(keys: string): void {
    this.#child.stdin.write(keys);
  }

  async until(pattern: RegExp): Promise<void> {
    const ended = this.closed.then(() => assert.fail(`It ended after: ${this.shown}`));
    ended.catch(() => {});
    while (!pattern.test(this.shown)) {
      await Promise.race([once(this.#child.stdout, "data"), ended]);
    }
    this.shown = "";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.closed;
  }
}

describe("trunkline chat", { timeout: 600_000 }, () => {
  it("answers a prompt of the command line or of a pipe, and refuses what it is asked", () => {
    using home = new Home();
    assert.deepEqual(home.run("", "chat", "say", "hello", "**you**"), {
      code: 0,
      out: "hello **you**\n",
      err: "",
    });
    const refused = home.run("permission\n", "chat");
    assert.match(refused.out, /"optionId":"reject"/);
    assert.equal(refused.err, "Refused: Run npm install. --yes allows it.\n");
    const allowed = home.run("", "chat", "permission", "--yes", "--json");
    const { answer, stopReason } = JSON.parse(allowed.out);
    assert.match(answer, /"optionId":"once"/);
    assert.equal(stopReason, "end_turn");
    assert.equal(home.run("", "chat").code, 2);
  });

  it("joins a session that another process has open, without repeating what was said", async () => {
    using home = new Home();
    await using editor = new Program(["acp", ...home.where]);
    const params = { cwd: home.path, mcpServers: [] };
    editor.write({ jsonrpc: "2.0", id: 1, method: "session/new", params });
    const [created] = await editor.answers(1);
    const sessionId = String(created?.result?.["sessionId"]);
    const prompt = [{ type: "text", text: "say earlier words" }];
    editor.write({
      jsonrpc: "2.0",
      id: 2,
      method: "session/prompt",
      params: { sessionId, prompt },
    });
    await editor.answers(1);
    await using person = new Program(["chat", "--session", sessionId, "say joined", ...home.where]);
    person.child.stdin.end();
    assert.equal(await person.exit, 0, person.stderr);
    assert.deepEqual(person.lines, ["joined"]);
    await editor.until(({ lines }) => lines.some((line) => line.includes("say joined")));
    editor.child.stdin.end();
    assert.equal(await editor.exit, 0);
  });

  it("holds a conversation at a terminal", async (test) => {
    if (spawnSync("script", ["--version"]).status !== 0) {
      return test.skip("needs `script` of util-linux: install bsdutils");
    }
    using home = new Home();
    const words = [process.execPath, join(ROOT, "dist/trunkline.js"), "chat", ...home.where];
    await using terminal = new Terminal(words.join(" "), home.path);
    await terminal.until(/> ESC\[3G$/);
    terminal.type("say **hi**\r");
    await terminal.until(/ESC\[1mhiESC\[22m\r\nESC\[2mother · \d+ sESC\[22m\r\n.*> ESC\[3G$/s);
    terminal.type("permission\r");
    await terminal.until(/\? Run npm install\r\n {2}1\) Allow once\r\n {2}2\) Reject\r\n/);
    terminal.type("1");
    await terminal.until(/"optionId":"once".*> ESC\[3G$/s);
    terminal.type("forever\r");
    await terminal.until(/ 20 /);
    terminal.type("\x03");
    await terminal.until(/\(cancelled\).*> ESC\[3G$/s);
    terminal.type("\x04");
    assert.equal(await terminal.closed, 0);
    assert.match(terminal.shown, /Continue with `trunkline chat --session [0-9a-f]{8}`/);
  });

  it("is stopped by Ctrl-Z, and says when it goes on what happened to its session", async (test) => {
    if (spawnSync("script", ["--version"]).status !== 0) {
      return test.skip("needs `script` of util-linux: install bsdutils");
    }
    using home = new Home();
    await using terminal = new Terminal("bash --norc --noprofile -i", home.path);
    const words = [process.execPath, join(ROOT, "dist/trunkline.js"), "chat", ...home.where];
    terminal.type(`${words.join(" ")}\r`);
    await terminal.until(/> ESC\[3G$/);
    terminal.type("say first\r");
    await terminal.until(/first\r\n.*> ESC\[3G$/s);
    terminal.type("\x1a");
    await terminal.until(/Stopped/);
    terminal.type("fg\r");
    await terminal.until(/> ESC\[3G$/);
    terminal.type("say second\r");
    await terminal.until(/second\r\n.*> ESC\[3G$/s);

    terminal.type("\x1a");
    await terminal.until(/Stopped/);
    const { sessions } = JSON.parse(home.run("", "session", "list", "--json").out);
    const [{ id }] = sessions;
    const { code, out } = home.run("", "chat", "--session", id, "say", "meanwhile");
    assert.equal(code, 0);
    assert.match(out, /meanwhile\n$/);
    terminal.type("fg\r");
    await terminal.until(/Another Trunkline has taken this session over.*meanwhile/s);
    terminal.type("say third\r");
    await terminal.until(/third\r\n.*> ESC\[3G$/s);
    terminal.type("\x04");
    await terminal.until(/Continue with/);
    terminal.type("exit\r");
    await terminal.closed;
  });
});
