import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { HostileRepository } from "../../test/samples/sample-hostile-repository.ts";
import { SampleRepository } from "../../test/samples/sample-repository.ts";
import { TrunklineError } from "../base/errors.ts";
import { Git, gitCommand, gitEnvironment, hardenedCall } from "./git.ts";

function failsWith(code: string, says: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof TrunklineError, String(error));
    assert.equal(error.code, code);
    assert.match(error.message, says);
    return true;
  };
}

describe("Git", { timeout: 60_000 }, () => {
  it("passes arguments unchanged, without a shell", async () => {
    using sample = new SampleRepository();
    const value = "$(touch pwned); `touch pwned` 'x' \"y\" | & > z";
    await sample.git.run(["config", "test.value", value], { mode: "write" });
    assert.equal(await sample.git.text(["config", "--get", "test.value"]), value);
    assert.ok(!existsSync(join(sample.path, "pwned")));
  });

  it("uses the folder it is bound to, whatever the environment says", async () => {
    using sample = new SampleRepository();
    using other = new SampleRepository();
    const env = { ...sample.env, GIT_DIR: join(other.path, ".git"), GIT_WORK_TREE: other.path };
    const git = new Git(sample.path, { env });
    assert.equal(await git.text(["rev-parse", "--show-toplevel"]), sample.path);
  });

  it("keeps the identity and settings that the environment gives git", () => {
    const env = { GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "a.b", GIT_CONFIG_VALUE_0: "c" };
    const passed = gitEnvironment({ ...env, ANTHROPIC_API_KEY: "x", GIT_INDEX_FILE: "y" });
    assert.deepEqual(passed, { ...passed, ...env });
    assert.ok(!("ANTHROPIC_API_KEY" in passed) && !("GIT_INDEX_FILE" in passed));
  });

  it("reports git's message, with secrets masked", async () => {
    using sample = new SampleRepository();
    const url = "https://ada:ghp_0123456789abcdefghij0123@localhost:1/x.git";
    await assert.rejects(
      sample.git.run(["ls-remote", url], { mode: "write", protocols: ["https"] }),
      failsWith("unavailable", /^'git ls-remote' failed in '.*': (?!.*ghp_)/),
    );
  });

  it("distinguishes a missing folder from one without a repository", async () => {
    using sample = new SampleRepository();
    await assert.rejects(
      sample.gitIn(join(sample.home, "none")).run(["status"]),
      failsWith("not-found", /no such folder/),
    );
    const file = join(sample.home, "file");
    writeFileSync(file, "");
    await assert.rejects(
      sample.gitIn(file).run(["status"]),
      failsWith("not-found", /it is not a folder/),
    );
    await assert.rejects(
      sample.gitIn(sample.home).run(["status"]),
      failsWith("not-found", /is not in a git repository/),
    );
  });

  it("says that git is missing", async () => {
    using sample = new SampleRepository();
    const git = new Git(sample.path, { env: { PATH: "/nonexistent" } });
    await assert.rejects(git.run(["status"]), failsWith("unavailable", /not installed/));
  });

  it("says how to trust a repository that somebody else owns", async () => {
    using sample = new SampleRepository();
    const env = { GIT_TEST_ASSUME_DIFFERENT_OWNER: "1" };
    await assert.rejects(
      sample.git.run(["status"], { env }),
      failsWith("untrusted", /safe\.directory/),
    );
  });
});

/** Runs git as a person would, whatever comes of it, and tells which programs that ran. */
function plainGit(sample: HostileRepository, folder: string, ...args: string[]): string[] {
  sample.fired();
  spawnSync("git", args, { cwd: folder, env: sample.env, timeout: 20_000, input: "" });
  return sample.fired();
}

function untrusted(says: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof TrunklineError && error.code === "untrusted", String(error));
    assert.match(error.message, says);
    return true;
  };
}

describe("plain git in a stranger's repository", { timeout: 120_000 }, () => {
  // Without these, nothing below would be shown.
  const LIVE: readonly (readonly [string[], string[]])[] = [
    [["status"], ["fsmonitor", "hook-post-index-change", "clean", "clean-odd", "clean-empty"]],
    [["status"], ["process", "sub-fsmonitor", "sub-clean", "sub-gpg"]],
    [["diff", "--no-ext-diff", "--", "sub"], ["sub-textconv"]],
    [
      ["diff", "--", "a.txt", "c.odd"],
      ["diff-external", "diff-command"],
    ],
    [["diff", "--no-ext-diff", "--", "a.txt"], ["textconv"]],
    [["log", "-1"], ["gpg"]],
    [["cat-file", "--filters", "HEAD:a.txt"], ["smudge"]],
    [["st"], ["alias-st"]],
  ];
  for (const [args, expected] of LIVE) {
    it(`runs ${expected.join(", ")} for 'git ${args.join(" ")}'`, () => {
      using sample = new HostileRepository();
      const fired = plainGit(sample, sample.path, ...args);
      assert.deepEqual(new Set(expected).difference(new Set(fired)), new Set(), fired.join());
    });
  }

  it("runs programs that nested repositories configure", () => {
    using sample = new HostileRepository();
    assert.deepEqual(plainGit(sample, sample.embedded, "status"), ["embedded"]);
    assert.deepEqual(plainGit(sample, sample.nested, "status"), ["nested"]);
  });

  it("runs programs that its remote names to fetch missing objects", () => {
    for (const way of ["ext", "ssh", "uploadpack"] as const) {
      using sample = new HostileRepository();
      sample.lose("a.txt", way);
      assert.deepEqual(plainGit(sample, sample.path, "cat-file", "-p", "HEAD:a.txt"), [way]);
    }
  });
});

describe("reading a stranger's repository", { timeout: 120_000 }, () => {
  const READS: readonly string[][] = [
    ["status"],
    ["status", "--porcelain=v1", "-z", "--untracked-files=all"],
    ["diff"],
    ["diff", "--stat", "HEAD"],
    ["diff", "--cached"],
    ["diff", "-M", "--name-status", "HEAD~1"],
    ["log", "-p"],
    ["log", "--oneline", "--", "a.txt"],
    ["show", "HEAD:./a.txt"],
    ["show", "HEAD"],
    ["ls-files", "--others", "--exclude-standard"],
    ["ls-files", "--modified"],
    ["cat-file", "--filters", "HEAD:a.txt"],
    ["cat-file", "-p", "HEAD"],
    ["grep", "--no-index", "-n", "-e", "two", "--", "."],
    ["rev-parse", "HEAD"],
    ["rev-list", "HEAD"],
    ["config", "--list"],
    ["var", "GIT_PAGER"],
    ["version"],
  ];
  it("runs none of its programs, nor those of nested repositories", async (t) => {
    using sample = new HostileRepository();
    sample.fired();
    for (const args of READS) {
      await t.test(`git ${args.join(" ")}`, async () => {
        await sample.git.run(args);
        for (const folder of [sample.submodule, sample.nested, sample.embedded]) {
          // Not all of it makes sense there.
          await sample
            .gitIn(folder)
            .run(args)
            .catch(() => undefined);
        }
        assert.deepEqual(sample.fired(), []);
      });
    }
  });

  it("still reports the changes", async () => {
    using sample = new HostileRepository();
    const status = await sample.git.text(["status", "--short", "--untracked-files=no"]);
    assert.deepEqual(status.split("\n"), [
      " M a.txt",
      " M b.bin",
      " M c.odd",
      " M d.empty",
      " M sub",
    ]);
    assert.match(await sample.git.text(["diff", "--", "a.txt"]), /^-one\n\+two$/m);
  });

  it("reports the commit of a submodule, and does not look into it", async () => {
    using sample = new HostileRepository();
    sample.fired();
    const status = await sample.git.text(["status", "--short", "--", "sub"]);
    assert.equal(status, " M sub");
    assert.match(await sample.git.text(["diff", "--", "sub"]), /^\+Subproject commit/m);
    assert.deepEqual(sample.fired(), []);
  });

  it("writes nothing, not even git's index refresh", async () => {
    using sample = new HostileRepository();
    const index = join(sample.path, ".git/index");
    const before = readFileSync(index);
    utimesSync(join(sample.path, ".gitmodules"), 1, 1);
    await sample.git.run(["status"]);
    assert.deepEqual(readFileSync(index), before);
    // Where it does, no hook is told of it.
    sample.fired();
    await sample.git.run(["status"], { env: { GIT_OPTIONAL_LOCKS: "1" } });
    assert.notDeepEqual(readFileSync(index), before);
    assert.deepEqual(sample.fired(), []);
  });

  for (const way of ["ext", "ssh", "uploadpack"] as const) {
    it(`fetches nothing that is missing (${way})`, async () => {
      using sample = new HostileRepository();
      sample.lose("a.txt", way);
      const calls = [
        {},
        { protocols: ["ext", "ssh", "file"] },
        // Git before 2.39.4 does not know this variable.
        { env: { GIT_NO_LAZY_FETCH: "0" } },
      ];
      for (const call of calls) {
        await assert.rejects(sample.git.run(["cat-file", "-p", "HEAD:a.txt"], call));
        await sample.git.run(["diff", "HEAD"], call).catch(() => undefined);
        assert.deepEqual(sample.fired(), []);
      }
    });
  }

  it("ignores variables and settings of the process that started us", async () => {
    using sample = new HostileRepository();
    const canary = sample.run("config", "core.pager");
    const env = {
      ...sample.env,
      GIT_EXTERNAL_DIFF: canary,
      GIT_PAGER: canary,
      GIT_EDITOR: canary,
      GIT_SSH_COMMAND: canary,
      GIT_CONFIG_PARAMETERS: `'core.fsmonitor'='${canary}' 'filter.more.clean'='${canary}'`,
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "core.fsmonitor",
      GIT_CONFIG_VALUE_0: canary,
    };
    writeFileSync(join(sample.path, ".gitattributes"), "*.empty filter=more\n");
    sample.fired();
    await new Git(sample.path, { env }).run(["diff"]);
    assert.deepEqual(sample.fired(), []);
  });

  it("does not run a file of the repository called git", async () => {
    using sample = new HostileRepository();
    const script = readFileSync(sample.run("config", "core.pager"));
    writeFileSync(join(sample.path, "git"), script, { mode: 0o755 });
    sample.fired();
    const env = { ...sample.env, PATH: `.::relative:${sample.env.PATH}` };
    await new Git(sample.path, { env }).run(["status"]);
    assert.deepEqual(sample.fired(), []);
  });

  it("turns hooks of the configuration off when it changes refs", async () => {
    using sample = new SampleRepository();
    sample.write("app/a.txt", "a");
    sample.run("add", ".");
    sample.commit();
    const ran = join(sample.home, "ran");
    sample.run("config", "hook.a=b.command", `touch ${ran}`);
    sample.run("config", "hook.a=b.event", "reference-transaction");
    const git = new Git(sample.path, { env: sample.env });
    const args = ["update-ref", "refs/heads/x", "HEAD"];
    const { args: hardened, env } = await hardenedCall(git, gitCommand(args, "files"), "files");
    assert.ok(hardened.includes("--config-env=hook.a=b.enabled=TRUNKLINE_EMPTY"));
    const at = { cwd: sample.path, env: { ...sample.env, ...env }, encoding: "utf8" } as const;
    const asked = [...hardened.slice(0, -args.length), "config", "--type=bool", "hook.a=b.enabled"];
    assert.equal(spawnSync("git", asked, at).stdout, "false\n");
    // Before 2.54, git has no such hooks.
    await git.run(args, { mode: "files" });
    assert.ok(!existsSync(ran));
  });

  it("refuses a filter whose name cannot be passed to git", async () => {
    using sample = new SampleRepository();
    const config = readFileSync(join(sample.path, ".git/config"));
    const filter = Buffer.from('[filter "caf\xe9"]\n\tclean = touch pwned\n', "latin1");
    writeFileSync(join(sample.path, ".git/config"), Buffer.concat([config, filter]));
    await assert.rejects(sample.git.run(["status"]), untrusted(/not UTF-8/));
  });

  it("refuses a repository with an implausible number of filters", async () => {
    using sample = new SampleRepository();
    const file = join(sample.path, ".git/config");
    const many = Array.from({ length: 1_001 }, (_, at) => `[filter "f${at}"]\n\tclean = x\n`);
    writeFileSync(file, readFileSync(file, "utf8") + many.join(""));
    await assert.rejects(sample.git.run(["status"]), untrusted(/1001 settings of filters/));
  });

  it("refuses a work tree that is configured to be somewhere else", async () => {
    using sample = new SampleRepository();
    sample.write("secret/id", "secret\n");
    sample.run("config", "core.worktree", join(sample.home, "secret"));
    for (const args of [["status"], ["diff"], ["ls-files", "--others"]]) {
      await assert.rejects(sample.git.run(args), untrusted(/core\.worktree/));
    }
    // Our own folder may well be in it.
    sample.run("config", "core.worktree", sample.home);
    await assert.rejects(sample.git.run(["status"]), untrusted(/core\.worktree/));
  });

  it("accepts a submodule and a linked work tree, whose git folders are elsewhere by design", async () => {
    using sample = new HostileRepository();
    for (const key of ["core.hooksPath", "core.fsmonitor", "submodule.recurse"]) {
      sample.run("config", "--unset", key);
    }
    const linked = sample.addWorktree("linked");
    symlinkSync(sample.submodule, join(sample.home, "link"));
    const linkedToo = join(sample.home, "linked-sub");
    sample.runIn(sample.submodule, "worktree", "add", "-q", linkedToo);
    for (const folder of [linked, linkedToo, sample.submodule, join(sample.home, "link")]) {
      await sample.gitIn(folder).run(["status"]);
    }
  });

  it("refuses a bare repository inside the files of another, and accepts one that stands alone", async () => {
    using sample = new HostileRepository();
    const inside = join(sample.embedded, "objects");
    for (const folder of [sample.embedded, inside]) {
      await assert.rejects(
        sample.gitIn(folder).run(["rev-parse", "HEAD"]),
        untrusted(/bare repository among the files of another/),
      );
    }
    sample.runIn(sample.home, "clone", "-q", "--bare", sample.path, "hub.git");
    const hub = sample.gitIn(join(sample.home, "hub.git"));
    assert.equal(await hub.text(["rev-parse", "HEAD"]), sample.run("rev-parse", "HEAD"));
    assert.equal(
      await sample.gitIn(join(sample.path, ".git")).text(["rev-parse", "HEAD"]),
      sample.run("rev-parse", "HEAD"),
    );
  });
});
