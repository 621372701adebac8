import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AcpEditor, Place } from "../support/acp-editor.ts";
import { Program } from "../support/program.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");
const CONFIG = { agent: "other", agents: { other: { command: process.execPath, args: [AGENT] } } };

/** A place whose folder is a repository with one commit. */
class Repository extends Place {
  readonly env = { HOME: this.home, GIT_CONFIG_NOSYSTEM: "1" };

  constructor() {
    super();
    writeFileSync(
      join(this.home, ".gitconfig"),
      "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n",
    );
    writeFileSync(join(this.folder, "a.txt"), "first\n");
    this.git("init", "-q");
    this.git("add", ".");
    this.git("commit", "-q", "-m", "First");
  }

  git(...args: string[]): string {
    const env = { ...this.env, PATH: process.env.PATH };
    return execFileSync("git", args, { cwd: this.folder, env, encoding: "utf8" }).trim();
  }

  read(name: string): string {
    return readFileSync(join(this.folder, name), "utf8");
  }

  /** Runs a command to its end. */
  async run(...args: string[]): Promise<{ code: unknown; out: string; err: string }> {
    const where = ["--config", join(this.path, "config.jsonc")];
    const options = { env: this.env, cwd: this.folder };
    await using program = new Program([...args, ...where], options);
    program.child.stdin.end();
    const code = await program.exit;
    return { code, out: program.lines.join("\n"), err: program.stderr };
  }
}

describe("sessions with work trees", { timeout: 600_000 }, () => {
  it("work on the same file at once, land, and keep what conflicts", async () => {
    using place = new Repository();
    const ids: string[] = [];
    const trees: string[] = [];
    {
      const options = { config: CONFIG, args: ["--worktree"], env: place.env };
      await using editor = new AcpEditor(place, options);
      await editor.hello();
      for (const _ of [1, 2]) {
        const params = { cwd: place.folder, mcpServers: [] };
        const { sessionId, _meta } = await editor.ask("session/new", params);
        ids.push(String(sessionId));
        trees.push(String(_meta.trunkline.worktree.folder));
      }
      const [one = "", two = ""] = ids;
      await Promise.all([
        editor.prompt(one, "put a.txt|by one|100"),
        editor.prompt(two, "put a.txt|by two|100"),
      ]);
      assert.equal(place.read("a.txt"), "first\n");
      assert.deepEqual(
        trees.map((tree) => readFileSync(join(tree, "a.txt"), "utf8")),
        ["by one\n", "by two\n"],
      );
      const { sessions } = await editor.ask("session/list", { cwd: place.folder });
      assert.equal(sessions.length, 2);
      assert.equal(sessions[0]._meta.trunkline.worktree.base.branch, "main");
      assert.equal(place.git("branch").match(/trunkline\//g)?.length, 2);
    }
    const [one = "", two = ""] = ids;
    const listed = await place.run("session", "list");
    assert.match(listed.out, /trunkline\/[0-9a-f]{8} \(1 changed\)/);
    const landed = await place.run("session", "land", two);
    assert.equal(landed.code, 0, landed.err);
    assert.match(landed.out, /^Committed what was uncommitted. Moved main forward to/);
    assert.equal(place.read("a.txt"), "by two\n");
    const refused = await place.run("session", "land", one);
    assert.equal(refused.code, 1);
    assert.match(refused.err, /conflicts with 'main' in: a.txt. Nothing was changed/);
    assert.equal(place.read("a.txt"), "by two\n");
    const deleted = await place.run("session", "delete", one, two);
    const branch = `trunkline/${one.slice(0, 8)}`;
    assert.match(deleted.out, new RegExp(`Its work is on the branch ${branch}.`));
    assert.equal(place.git("cat-file", "blob", `${branch}:a.txt`), "by one");
    assert.doesNotMatch(place.git("branch"), new RegExp(two.slice(0, 8)));
    assert.deepEqual(
      trees.map((tree) => existsSync(tree)),
      [false, false],
    );
  });

  it("continues in its work tree after it was killed, wherever the editor has its folder", async () => {
    using place = new Repository();
    let id = "";
    let tree = "";
    {
      const options = { config: CONFIG, env: place.env, isShared: true };
      await using editor = new AcpEditor(place, options);
      await editor.hello();
      const worktree = { branch: "task/one" };
      const params = { cwd: place.folder, mcpServers: [], _meta: { trunkline: { worktree } } };
      const { sessionId, _meta } = await editor.ask("session/new", params);
      id = String(sessionId);
      tree = String(_meta.trunkline.worktree.folder);
      editor.post("session/prompt", {
        sessionId,
        prompt: [{ type: "text", text: "put b.txt|half done|60000" }],
      });
      await editor.update(({ sessionUpdate }) => sessionUpdate === "tool_call");
      editor.program.child.kill("SIGKILL");
    }
    await using editor = new AcpEditor(place, { config: CONFIG, env: place.env });
    await editor.hello();
    const params = { sessionId: id, cwd: place.folder, mcpServers: [] };
    const { _meta } = await editor.ask("session/load", params);
    assert.equal(_meta.trunkline.worktree.branch, "task/one");
    const before = editor.messages.length;
    await editor.prompt(id, "git rev-parse --show-toplevel");
    assert.equal(editor.text(before).trim().split("\n").at(-1), tree);
    assert.equal(readFileSync(join(tree, "b.txt"), "utf8"), "half done\n");
    const bad = { cwd: place.folder, mcpServers: [], _meta: { trunkline: { worktree: 1 } } };
    await assert.rejects(editor.ask("session/new", bad), /must be true or an object/);
  });
});
