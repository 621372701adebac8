import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import {
  discover,
  findRepository,
  listSubmodules,
  openRepository,
  superproject,
} from "./repository.ts";
import { SampleRepository } from "../../test/samples/sample-repository.ts";

const allowFile = ["-c", "protocol.file.allow=always"];

describe("findRepository()", { timeout: 60_000 }, () => {
  it("finds the repository from any folder in it (RemoteJuggler defect 6)", async () => {
    using sample = new SampleRepository();
    const deep = join(sample.path, "a/b c/d");
    mkdirSync(deep, { recursive: true });
    const expected = {
      worktree: sample.path,
      gitDir: join(sample.path, ".git"),
      commonDir: join(sample.path, ".git"),
    };
    assert.deepEqual(await findRepository(sample.gitIn(deep)), expected);
    assert.deepEqual((await discover(sample.gitIn(deep))).repository, expected);
  });

  it("finds nothing if there is none", async () => {
    using sample = new SampleRepository();
    assert.equal(await findRepository(sample.gitIn(sample.home)), undefined);
    assert.equal((await discover(sample.gitIn(sample.home))).repository, undefined);
    await assert.rejects(openRepository(sample.gitIn(sample.home)), { code: "not-found" });
  });

  it("refuses one whose work tree is another folder", async () => {
    using sample = new SampleRepository();
    for (const foreign of [sample.home, join(sample.home, "secret")]) {
      sample.run("config", "core.worktree", foreign);
      const refused = { code: "untrusted", message: /core\.worktree is/ };
      await assert.rejects(findRepository(sample.git), refused);
      await assert.rejects(discover(sample.git), refused);
    }
  });

  it("handles line ends in the name of a folder", async () => {
    using sample = new SampleRepository();
    const odd = join(sample.home, "two\nlines\n.git");
    mkdirSync(odd);
    sample.runIn(odd, "init", "-q");
    assert.equal((await findRepository(sample.gitIn(odd)))?.worktree, odd);
  });
});

describe("listSubmodules()", { timeout: 60_000 }, () => {
  it("lists them, and each knows its parent", async () => {
    using sample = new SampleRepository();
    sample.commit();
    assert.deepEqual(await listSubmodules(sample.git, sample.path), []);
    sample.run(...allowFile, "submodule", "add", "-q", sample.path, "lib/a b");
    assert.deepEqual(await listSubmodules(sample.git, sample.path), [
      { path: "lib/a b", isCheckedOut: true },
    ]);
    const inside = sample.gitIn(join(sample.path, "lib/a b"));
    assert.equal(await superproject(inside), sample.path);
    assert.equal(await superproject(sample.git), undefined);
  });
});
