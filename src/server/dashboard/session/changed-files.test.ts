import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../../test/samples/sample-folder.ts";
import { initRepository, plainGit } from "../../../../test/support/stored-folder.ts";
import { Journal } from "../../../agent/files/journal.ts";
import { OWNER, type Principal } from "../../../base/principal.ts";
import type { ReadSession } from "../../../store/session/session-reader.ts";
import { changedFiles, diffOfFile } from "./changed-files.ts";

const session = (cwd: string): ReadSession => ({
  id: "s",
  cwd,
  agent: "built-in",
  title: undefined,
  created: Date.now(),
  updated: 0,
  parent: undefined,
  notes: {},
  last: 0,
  holder: undefined,
});

// In a repository: test/e2e/dashboard-api.test.ts.
describe("the changed files of a session outside of a repository", () => {
  it("are those that the agent has recorded, against what they were before the first turn", async () => {
    await using folder = await SampleFolder.create();
    const data = folder.path;
    const cwd = join(data, "work");
    await mkdir(cwd, { recursive: true });
    const [changed, added, same] = ["a.txt", "b.txt", "c.txt"].map((name) => join(cwd, name));
    const journal = new Journal(data, "s");
    const first = journal.begin();
    await first.before(changed ?? "", Buffer.from("one\ntwo\n"));
    await first.before(same ?? "", Buffer.from("same\n"));
    const second = journal.begin();
    await second.before(changed ?? "", Buffer.from("one\nzwei\n"));
    await second.before(added ?? "", undefined);
    await writeFile(changed ?? "", "one\n2\n");
    await writeFile(added ?? "", "new\n");
    await writeFile(same ?? "", "same\n");

    const { against, files } = await changedFiles(data, session(cwd), OWNER);
    assert.equal(against, "journal");
    assert.deepEqual(files, [
      { path: "a.txt", change: "modified", added: 1, removed: 1 },
      { path: "b.txt", change: "added", added: 1, removed: 0 },
    ]);
    const { diff } = await diffOfFile(data, session(cwd), "a.txt", OWNER);
    assert.match(diff, /^-two\n\+2$/m);
    await assert.rejects(diffOfFile(data, session(cwd), "c.txt", OWNER), /has not changed 'c.txt'/);
  });

  it("says so where nothing was recorded", async () => {
    await using folder = await SampleFolder.create();
    const { against, says } = await changedFiles(folder.path, session("/"), OWNER);
    assert.equal(against, "none");
    assert.match(says ?? "", /not in a git repository/);
  });
});

describe("the changed files of a session in a hostile repository", () => {
  it("show where a link leads, but nothing of what is there, and wait for no pipe", async () => {
    await using folder = await SampleFolder.create();
    const cwd = join(folder.path, "work");
    await mkdir(join(cwd, "sub"), { recursive: true });
    execFileSync("git", ["init", "-q", cwd]);
    const secret = join(folder.path, "secret");
    await writeFile(secret, "the secret text\n");
    await symlink(secret, join(cwd, "link"));
    await symlink("/proc/self/environ", join(cwd, "environment"));
    await symlink(folder.path, join(cwd, "folder"));
    for (let count = 0; count < 6; count++) {
      execFileSync("mkfifo", [join(cwd, `pipe${count}`), join(cwd, "sub", `pipe${count}`)]);
    }
    await writeFile(join(cwd, "sub/mine.txt"), "mine\n");
    const { files } = await changedFiles(folder.path, session(cwd), OWNER);
    const diff = (path: string) => diffOfFile(folder.path, session(cwd), path, OWNER);
    const names = files.map(({ path }) => path);
    assert.deepEqual(names, ["environment", "folder", "link", "sub/mine.txt"]);
    for (const path of names) {
      assert.doesNotMatch((await diff(path)).diff, /the secret text|PATH=/);
    }
    assert.match((await diff("link")).diff, new RegExp(`^\\+${secret}$`, "m"));
    // Asked for by its name, though it is not in the list.
    await assert.rejects(diff("folder/secret"), /has not changed/);
  });

  it("are listed with a tracked file that has become a pipe", async () => {
    await using folder = await SampleFolder.create();
    const cwd = join(folder.path, "work");
    await mkdir(cwd, { recursive: true });
    initRepository(cwd);
    await writeFile(join(cwd, "pipe.txt"), "a file\n");
    await writeFile(join(cwd, "other.txt"), "one\n");
    plainGit(cwd, "add", ".");
    plainGit(cwd, "commit", "--quiet", "--message", "Add two files");
    await rm(join(cwd, "pipe.txt"));
    execFileSync("mkfifo", [join(cwd, "pipe.txt")]);
    await writeFile(join(cwd, "other.txt"), "two\n");
    const { files } = await changedFiles(folder.path, session(cwd), OWNER);
    assert.deepEqual(files, [
      { path: "other.txt", change: "modified", added: 1, removed: 1 },
      { path: "pipe.txt", change: "modified", added: 0, removed: 0, isBinary: true },
    ]);
    assert.equal((await diffOfFile(folder.path, session(cwd), "pipe.txt", OWNER)).diff, "");
    assert.match(
      (await diffOfFile(folder.path, session(cwd), "other.txt", OWNER)).diff,
      /^\+two$/m,
    );
  });
});

describe("the changed files of a session in one folder of a repository", () => {
  it("are shown to a token for that folder without the rest of the repository", async () => {
    await using folder = await SampleFolder.create();
    const root = join(folder.path, "work");
    const cwd = join(root, "sub");
    await mkdir(cwd, { recursive: true });
    initRepository(root);
    await writeFile(join(root, "outside.txt"), "outside\n");
    await writeFile(join(cwd, "inside.txt"), "inside\n");
    await symlink("/etc/passwd", join(cwd, "link.txt"));
    const token: Principal = { id: "token 1", scopes: ["dashboard"], limits: { folders: [cwd] } };
    const pathsFor = async (principal: Principal): Promise<string[]> =>
      (await changedFiles(folder.path, session(cwd), principal)).files.map(({ path }) => path);
    assert.ok((await pathsFor(OWNER)).includes("outside.txt"));
    assert.deepEqual(await pathsFor(token), ["sub/inside.txt"]);
    const diff = (path: string): Promise<unknown> =>
      diffOfFile(folder.path, session(cwd), path, token);
    await diff("sub/inside.txt");
    for (const path of ["outside.txt", "sub/link.txt", "sub/../outside.txt"]) {
      await assert.rejects(diff(path), /has not changed/, path);
    }
  });
});

describe("the changed files of a session with a work tree of its own", () => {
  it("are those of that tree, for whoever may see the folder that it came from", async () => {
    await using folder = await SampleFolder.create();
    const data = folder.path;
    const [cwd, tree] = [join(data, "work"), join(data, "tree")];
    await mkdir(cwd, { recursive: true });
    const git = (...args: string[]): string => {
      const who = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
      return execFileSync("git", [...who, ...args], { cwd, encoding: "utf8" }).trim();
    };
    git("init", "-q", "-b", "main");
    await writeFile(join(cwd, "a.txt"), "one\n");
    git("add", ".");
    git("commit", "-qm", "first");
    git("worktree", "add", "-q", "-b", "own", tree);
    await writeFile(join(tree, "a.txt"), "two\n");
    git("-C", tree, "commit", "-qam", "second");
    const base = { revision: git("rev-parse", "main") };
    const place = { folder: tree, tree, repository: cwd, branch: "own", isOwnBranch: true, base };
    const own = { ...session(cwd), notes: { worktree: { ...place, warnings: [] } } };
    const limited: Principal = { id: "t", limits: { folders: [cwd] } };
    for (const principal of [OWNER, limited]) {
      const { files } = await changedFiles(data, own, principal);
      assert.deepEqual(
        files.map(({ path }) => path),
        ["a.txt"],
      );
    }
    assert.match((await diffOfFile(data, own, "a.txt", OWNER)).diff, /^-one\n\+two$/m);
    assert.deepEqual((await changedFiles(data, session(cwd), OWNER)).files, []);
  });
});
