import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleRepository } from "../../../test/samples/sample-repository.ts";
import { readRepositoryContext } from "../detect/git-context.ts";
import { installGuard } from "./install-guard.ts";
import { STAMP, writeStamp } from "./stamp.ts";

const noSums =
  spawnSync("sha256sum", ["--version"]).status !== 0 && "sha256sum(1) of coreutils is not here";

/** A guarded repository whose guard notes that it was asked; and a stamp as of a commit by Ada. */
async function stamped(begun = Date.now() + 60_000) {
  const sample = new SampleRepository();
  sample.run("config", "user.name", "Ada");
  sample.run("config", "user.email", "ada@example.com");
  const guard = sample.write("guard.sh", 'echo "$@" >> "$(dirname "$0")/calls"\n');
  const context = await readRepositoryContext(sample.git);
  await installGuard(context, { command: ["/bin/sh", guard] });
  const own = join(sample.home, "config.jsonc");
  const env = { ...sample.env, GIT_AUTHOR_NAME: "Ada", GIT_AUTHOR_EMAIL: "ada@example.com" };
  await writeStamp({ ...context, env, files: [own], begun });
  const commit = (env: NodeJS.ProcessEnv = {}, ...options: string[]): boolean => {
    rmSync(join(sample.home, "calls"), { force: true });
    const words = [...options, "commit", "--allow-empty", "-qm", "x"];
    sample.runWith(sample.path, env, ...words);
    return existsSync(join(sample.home, "calls"));
  };
  return { sample, context, commit, own, [Symbol.dispose]: () => sample[Symbol.dispose]() };
}

describe("the stamp of an allowed commit", { skip: noSums }, () => {
  it("lets the next ones through without asking", async () => {
    using there = await stamped();
    assert.equal(there.commit(), false);
    assert.equal(there.commit(), false);
  });

  const changes: Readonly<Record<string, (sample: SampleRepository) => void>> = {
    "the repository's configuration": (sample) => sample.run("config", "user.email", "x@y"),
    "the user's configuration, which was not there": (sample) =>
      sample.write(".gitconfig", "[committer]\n\temail = x@y\n"),
    "the configuration of Trunkline": (sample) => sample.write("config.jsonc", "{}"),
    "SSH aliases": (sample) => {
      mkdirSync(join(sample.home, ".ssh"));
      sample.write(".ssh/config", "Host github.com\n\tHostName other\n");
    },
    "a commit that is being picked": (sample) => sample.write("app/.git/CHERRY_PICK_HEAD", "x"),
    "the stamp itself, which is garbage": (sample) =>
      sample.write(`app/.git/${STAMP}`, "$(x\n\n\n"),
  };
  for (const [what, change] of Object.entries(changes)) {
    it(`does not hold after a change of ${what}`, async () => {
      using there = await stamped();
      change(there.sample);
      assert.equal(there.commit({ GIT_MERGE_AUTOEDIT: "no" }), true);
    });
  }

  for (const [what, env] of Object.entries({
    "another author": { GIT_AUTHOR_EMAIL: "x@y" },
    "another name": { GIT_AUTHOR_NAME: "X" },
    "another committer": { GIT_COMMITTER_EMAIL: "x@y" },
    "another identity": { TRUNKLINE_IDENTITY: "x" },
    "settings in variables": {
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "user.email",
      GIT_CONFIG_VALUE_0: "x@y",
    },
  })) {
    it(`does not hold for ${what}`, async () => {
      using there = await stamped();
      assert.equal(there.commit(env), true);
      assert.equal(there.commit(), false);
    });
  }

  it("does not hold for settings on the command line, nor in a folder that was moved", async () => {
    using there = await stamped();
    assert.equal(there.commit({}, "-c", "user.email=x@y"), true);
    const { path, home } = there.sample;
    renameSync(path, join(home, "moved"));
    there.sample.runIn(join(home, "moved"), "commit", "--allow-empty", "-qm", "x");
    assert.ok(existsSync(join(home, "calls")));
  });

  it("is not written where something changed while the guard read", async () => {
    using there = await stamped(Date.now());
    assert.equal(there.commit(), true);
  });

  it("is not written where more than files decides", async () => {
    using there = await stamped();
    const { sample, context } = there;
    const env = { ...sample.env, GIT_AUTHOR_EMAIL: "ada@example.com" };
    const begun = Date.now() + 60_000;
    const path = join(context.repository.gitDir, STAMP);
    const isWritten = async (more: NodeJS.ProcessEnv = {}): Promise<boolean> => {
      await writeStamp({ ...context, env: { ...env, ...more }, files: [], begun });
      return existsSync(path);
    };
    assert.equal(await isWritten(), true);
    assert.equal(await isWritten({ GIT_CONFIG_COUNT: "0" }), false);
    assert.equal(await isWritten({ EMAIL: "a\nb" }), false);
    sample.run("config", "includeIf.onbranch:main.path", "other");
    assert.equal(await isWritten(), false);
    sample.run("config", "--unset", "includeIf.onbranch:main.path");
    sample.run("config", "include.path", "../other");
    assert.equal(await isWritten(), true);
    assert.match(readFileSync(path, "utf8"), /\/app\/other\b/);
  });
});
