import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { findLiveWriter } from "./external-foreign.ts";

const SESSION = "0197a1b2-c3d4";

/** A folder like /proc with processes that a test describes. */
function setUp() {
  const proc = realpathSync(mkdtempSync(join(tmpdir(), "trunkline-proc-")));
  const add = (
    pid: number,
    words: readonly string[],
    { cwd = "/elsewhere", parent = 1, open = [] as readonly string[] } = {},
  ) => {
    const folder = join(proc, String(pid));
    mkdirSync(join(folder, "fd"), { recursive: true });
    writeFileSync(join(folder, "cmdline"), words.map((word) => `${word}\0`).join(""));
    writeFileSync(join(folder, "stat"), `${pid} (odd) name) S ${parent} 0 0`);
    symlinkSync(cwd, join(folder, "cwd"));
    for (const [fd, target] of open.entries()) symlinkSync(target, join(folder, "fd", `${fd}`));
  };
  const find = (commandLine: readonly string[] = ["npx", "@zed/claude-agent-acp"]) =>
    findLiveWriter({ commandLine, session: SESSION, cwd: "/work", proc });
  return { add, find, [Symbol.dispose]: () => rmSync(proc, { recursive: true }) };
}

describe("findLiveWriter()", () => {
  it("is sure of a program that names the session, or has a file of it open", async () => {
    using it = setUp();
    it.add(100, ["/usr/bin/node", "/opt/bin/claude", "--resume", SESSION]);
    const found = await it.find();
    assert.deepEqual([found?.pid, found?.isSure], [100, true]);
    using other = setUp();
    other.add(7, ["codex"], { open: ["/dev/null", `/home/a/rollout-${SESSION}.jsonl`] });
    assert.deepEqual((await other.find(["codex-acp"]))?.isSure, true);
  });

  it("is not sure of one with a file whose name only begins as the session's id does", async () => {
    using it = setUp();
    it.add(7, ["codex"], { open: [`/home/a/rollout-${SESSION}5.jsonl`] });
    assert.equal(await it.find(["codex-acp"]), undefined);
  });

  it("suspects a program of the agent in the same folder, and prefers one that it is sure of", async () => {
    using it = setUp();
    it.add(100, ["claude"], { cwd: "/work" });
    assert.deepEqual(await it.find(), { pid: 100, command: "claude", isSure: false });
    it.add(200, ["claude", "--resume", SESSION]);
    assert.equal((await it.find())?.pid, 200);
  });

  it("suspects no other program, no other folder, and nothing that this process has started", async () => {
    using it = setUp();
    it.add(100, ["vim", "claude.md"], { cwd: "/work" });
    it.add(101, ["claude"], { cwd: "/other" });
    it.add(102, ["claude"], { cwd: "/work", parent: 103 });
    it.add(103, ["node", "claude-agent-acp"], { cwd: "/work", parent: process.pid });
    it.add(104, [], { cwd: "/work" });
    assert.equal(await it.find(), undefined);
  });

  it("finds a real process", { skip: process.platform !== "linux" }, async () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "trunkline-writer-")));
    const script = join(folder, "my-agent.mjs");
    writeFileSync(script, "console.log('up'); setInterval(() => {}, 1000);");
    // Through a shell that ends, so that it is not a child of this process.
    const command = `"${process.execPath}" "${script}" & echo $!`;
    const shell = spawn("sh", ["-c", command], {
      cwd: folder,
      stdio: ["ignore", "pipe", "ignore"],
    });
    let text = "";
    shell.stdout.setEncoding("utf8").on("data", (part: string) => (text += part));
    await once(shell, "exit");
    while (!text.includes("up")) await once(shell.stdout, "data");
    const pid = Number(/^\d+$/m.exec(text)?.[0]);
    try {
      const query = { commandLine: ["node", script], session: SESSION, cwd: folder };
      assert.deepEqual((await findLiveWriter(query))?.pid, pid);
    } finally {
      const closed = once(shell, "close");
      process.kill(pid);
      await closed;
      rmSync(folder, { recursive: true });
    }
  });
});
