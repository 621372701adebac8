import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../../test/samples/sample-folder.ts";
import { Journal } from "../../../agent/files/journal.ts";
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

    const { against, files } = await changedFiles(data, session(cwd));
    assert.equal(against, "journal");
    assert.deepEqual(files, [
      { path: "a.txt", change: "modified", added: 1, removed: 1 },
      { path: "b.txt", change: "added", added: 1, removed: 0 },
    ]);
    const { diff } = await diffOfFile(data, session(cwd), "a.txt");
    assert.match(diff, /^-two\n\+2$/m);
    await assert.rejects(diffOfFile(data, session(cwd), "c.txt"), /has not changed 'c.txt'/);
  });

  it("says so where nothing was recorded", async () => {
    await using folder = await SampleFolder.create();
    const { against, says } = await changedFiles(folder.path, session("/"));
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
    const { files } = await changedFiles(folder.path, session(cwd));
    const names = files.map(({ path }) => path);
    assert.deepEqual(names, ["environment", "folder", "link", "sub/mine.txt"]);
    for (const path of names) {
      const { diff } = await diffOfFile(folder.path, session(cwd), path);
      assert.doesNotMatch(diff, /the secret text|PATH=/);
    }
    const { diff } = await diffOfFile(folder.path, session(cwd), "link");
    assert.match(diff, new RegExp(`^\\+${secret}$`, "m"));
    // Asked for by its name, though it is not in the list.
    await assert.rejects(diffOfFile(folder.path, session(cwd), "folder/secret"), /has not changed/);
  });

  it("are those of its own folder, not of the whole repository", async () => {
    await using folder = await SampleFolder.create();
    const cwd = join(folder.path, "work/sub");
    await mkdir(cwd, { recursive: true });
    execFileSync("git", ["init", "-q", join(folder.path, "work")]);
    await writeFile(join(folder.path, "work/other.txt"), "not of the session\n");
    await writeFile(join(cwd, "mine.txt"), "mine\n");
    const { files } = await changedFiles(folder.path, session(cwd));
    assert.deepEqual(
      files.map(({ path }) => path),
      ["sub/mine.txt"],
    );
  });
});
