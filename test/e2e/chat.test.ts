import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
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
});
