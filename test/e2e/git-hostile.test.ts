import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { HostileRepository } from "../samples/sample-hostile-repository.ts";
import { AgentEditor } from "../agent/agent-editor.ts";
import { FakeLlm, type Scripted } from "../agent/fake-llm.ts";
import type { Json } from "../support/acp-app.ts";
import { seeded } from "../fuzz/fuzz-run.ts";
import { oneIn } from "../support/full-run.ts";
import { Program } from "../support/program.ts";
import { type Ran, runInProcess } from "../support/run-in-process.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");
/** Of the commands one in so many is started as a program in `npm test`: others each day. */
const PART = 8;
const DONE: Scripted = { content: "Done." };

const call = (name: string, args: object = {}): Scripted => ({
  toolCalls: [{ name, arguments: args }],
});

/** What a stranger has packed is opened, looked at and worked in: nothing of it may run unasked. */
describe("a stranger's repository", { timeout: 600_000 }, () => {
  let sample: HostileRepository;
  before(() => {
    sample = new HostileRepository();
    sample.fired();
  });
  after(() => sample[Symbol.dispose]());

  describe("with the built-in agent", () => {
    const READS = [
      call("git_status"),
      call("git_diff"),
      call("git_diff", { staged: true }),
      call("git_diff", { base: "HEAD~1", paths: ["a.txt"] }),
      call("git_log", { paths: ["a.txt"] }),
      call("search_files", { pattern: "two" }),
      call("list_files", {}),
    ];

    it("runs none of its programs for tools that read, in the mode Ask", async () => {
      await using llm = await FakeLlm.start([...READS, DONE]);
      await using editor = new AgentEditor({ llm });
      const { sessionId } = await editor.begin({ cwd: sample.path });
      const id = String(sessionId);
      await editor.ask("session/set_mode", { sessionId: id, modeId: "ask" });
      const { calls } = await editor.say(id, "What has changed?");
      assert.equal(calls.length, READS.length);
      for (const each of calls) assert.match(each, /: completed$/);
      assert.match(llm.seen(1), / M a\.txt\n/);
      assert.match(llm.seen(2), /-one\n\+two/);
      assert.deepEqual(editor.asked, []);
      assert.deepEqual(sample.fired(), []);
    });

    it("runs none of its programs for commands that read", async () => {
      await using editor = new AgentEditor();
      const { sessionId } = await editor.begin({ cwd: sample.path });
      for (const command of ["/diff", "/review", "/search two", "/help"]) {
        await editor.say(String(sessionId), command);
        assert.deepEqual(sample.fired(), [], command);
      }
    });

    it("runs none of its programs when a command is recorded for undo", async () => {
      await using llm = await FakeLlm.start([call("run_command", { command: "echo 3 > e" }), DONE]);
      await using editor = new AgentEditor({ llm });
      const { sessionId } = await editor.begin({ cwd: sample.path });
      await editor.say(String(sessionId), "go");
      assert.ok(existsSync(join(sample.path, "e")));
      await editor.say(String(sessionId), "/undo");
      assert.ok(!existsSync(join(sample.path, "e")));
      assert.deepEqual(sample.fired(), []);
    });

    it("runs its hooks for a commit only after they were allowed", async () => {
      await using llm = await FakeLlm.start([
        call("git_commit", { message: "No" }),
        DONE,
        call("git_commit", { message: "Yes", paths: ["a.txt"] }),
        DONE,
      ]);
      const env = { EMAIL: "t@example.org" };
      await using editor = new AgentEditor({ llm, env });
      const { sessionId } = await editor.begin({ cwd: sample.path });
      let asked: Json;
      editor.decide = (params) => {
        asked = params;
        return "reject_once";
      };
      await editor.say(String(sessionId), "commit");
      assert.match(
        asked.toolCall.title,
        /runs hook pre-commit, .*filter plain.* of this repository/,
      );
      assert.match(JSON.stringify(asked.toolCall.content), /hooks\/pre-commit/);
      assert.deepEqual(sample.fired(), []);
      editor.decide = () => "allow_once";
      sample.run("config", "user.name", "T");
      sample.run("config", "user.email", "t@example.org");
      await editor.say(String(sessionId), "commit");
      const fired = sample.fired();
      for (const name of ["hook-pre-commit", "hook-post-commit", "clean"]) {
        assert.ok(fired.includes(name), `${name} in ${fired.join()}`);
      }
      // These are nobody's wish, whatever was allowed.
      for (const name of ["fsmonitor", "editor", "sub-clean", "sub-fsmonitor"]) {
        assert.ok(!fired.includes(name), name);
      }
    });
  });

  describe("with the command line", () => {
    const COMMANDS = [
      "review add --file a.txt --line 1 --comment Why",
      "review add --file a.txt --line 1 --side old --comment Why",
      "review add --file gone.txt --comment Why",
      "review list",
      "review list --json",
      "review lines a.txt",
      "review export",
      "identity detect",
      "identity status",
      "identity status --json",
      "identity guard status",
      "identity switch work",
      "identity undo",
      "doctor",
      "tool list",
      'tool call juggler_detect_identity --args {"repoPath":"."}',
      "tool call juggler_status",
      "tool call review_list",
      "completion bash",
    ];

    const started = async (args: readonly string[], cwd: string): Promise<Ran> => {
      await using program = new Program(args, { cwd });
      program.child.stdin.end();
      const code = await program.exit;
      return { code: Number(code), out: program.lines.join("\n"), err: program.stderr };
    };
    const inThisProcess = async (args: readonly string[], cwd: string): Promise<Ran> => {
      const before = process.cwd();
      process.chdir(cwd);
      try {
        const { PATH = "" } = process.env;
        return await runInProcess(args, { env: { PATH, HOME: sample.home }, cwd });
      } finally {
        process.chdir(before);
      }
    };
    for (const where of ["path", "submodule", "nested", "embedded"] as const) {
      it(`runs none of its programs in its folder '${where}'`, async (test) => {
        // To start the program for each line would take four times as long, and shows no more.
        const isStarted = where === "path" ? oneIn(PART, seeded(test)) : () => false;
        const config = {
          identities: {
            work: { provider: "github", user: "ada", email: "ada@example.org" },
          },
        };
        sample.write("trunkline.jsonc", JSON.stringify(config));
        const cwd = sample[where];
        for (const [place, line] of COMMANDS.entries()) {
          const way = isStarted(place) ? started : inThisProcess;
          const files = ["--data", join(sample.home, "data"), "--config"];
          const args = [...line.split(" "), ...files, join(sample.home, "trunkline.jsonc")];
          const { code, err } = await way(args, cwd);
          // Not everything can be done everywhere; nothing may fail for a reason of ours.
          assert.ok(code === 0 || code === 1, `${line}: ${code} ${err}`);
          assert.doesNotMatch(err, /git-commands\.ts|\n {4}at /, line);
          assert.deepEqual(sample.fired(), [], line);
        }
      });
    }
  });

  describe("with an external agent", () => {
    const config = {
      agent: "other",
      agents: { other: { command: process.execPath, args: [AGENT] } },
    };
    const PATHS = [
      ".git/hooks/post-checkout",
      ".git/config",
      ".GIT/config",
      "git~1/config",
      "nested/.git/config",
      "sub/.git",
      "vendor/lib.git/config",
      "way/post-merge",
      "new/.git/hooks/x",
    ];

    for (const fs of [false, true]) {
      const where = fs ? "through the editor" : "on disk";
      it(`is not written in git's own files, ${where}`, async () => {
        mkdirSync(join(sample.path, ".git/hooks"), { recursive: true });
        const way = join(sample.path, "way");
        if (!existsSync(way)) symlinkSync(".git/hooks", way);
        const before = readFileSync(join(sample.path, ".git/config"));
        const capabilities = { fs: { readTextFile: fs, writeTextFile: fs } };
        await using editor = new AgentEditor({ config, capabilities });
        const { sessionId } = await editor.begin({ cwd: sample.path });
        for (const path of PATHS) {
          const file = join(sample.path, path);
          const { text } = await editor.say(String(sessionId), `write ${file}|x`);
          assert.match(text, /^error -31701 /, path);
        }
        assert.equal(editor.buffers.size, 0);
        assert.deepEqual(readFileSync(join(sample.path, ".git/config")), before);
        assert.ok(!existsSync(join(sample.path, ".git/hooks/post-merge")));
        const { text } = await editor.say(String(sessionId), `write ${sample.path}/.gitignore|x`);
        assert.match(text, /written/);
      });
    }
  });
});
