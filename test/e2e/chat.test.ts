import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
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
    const child = spawn("script", ["-qec", words.join(" "), "/dev/null"], {
      cwd: home.path,
      env: { ...process.env, TERM: "xterm", NO_COLOR: "" },
    });
    const closed = once(child, "close");
    let shown = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      shown += text.replaceAll("\x1b", "ESC");
    });
    const until = async (pattern: RegExp): Promise<void> => {
      while (!pattern.test(shown)) await Promise.race([once(child.stdout, "data"), ended()]);
      shown = "";
    };
    const ended = async (): Promise<never> => {
      await closed;
      return assert.fail(`It ended after: ${shown}`);
    };
    await until(/> ESC\[3G$/);
    child.stdin.write("say **hi**\r");
    await until(/ESC\[1mhiESC\[22m\r\nESC\[2mother · \d+ sESC\[22m\r\n.*> ESC\[3G$/s);
    child.stdin.write("permission\r");
    await until(/\? Run npm install\r\n {2}1\) Allow once\r\n {2}2\) Reject\r\n/);
    child.stdin.write("1");
    await until(/"optionId":"once".*> ESC\[3G$/s);
    child.stdin.write("forever\r");
    await until(/ 20 /);
    child.stdin.write("\x03");
    await until(/\(cancelled\).*> ESC\[3G$/s);
    child.stdin.write("\x04");
    const [code] = (await closed) as [unknown];
    assert.equal(code, 0);
    assert.match(shown, /Continue with `trunkline chat --session [0-9a-f]{8}`/);
  });
});
