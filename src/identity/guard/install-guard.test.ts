import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, lstatSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleRepository } from "../../../test/samples/sample-repository.ts";
import { readRepositoryContext } from "../detect/detect.ts";
import { guardStatus, installGuard, removeGuard } from "./install-guard.ts";

/** A program that allows everything, and writes down what it was called with. */
function program(sample: SampleRepository) {
  const file = sample.write("guard.sh", 'echo "$@" >> "$(dirname "$0")/calls"\n');
  return { command: ["/bin/sh", file] };
}

async function install(sample: SampleRepository) {
  return await installGuard(await readRepositoryContext(sample.git), program(sample));
}

function commit(sample: SampleRepository): void {
  sample.run("-c", "user.name=A", "-c", "user.email=a@b", "commit", "--allow-empty", "-qm", "x");
}

describe("installGuard()", () => {
  it("checks before each commit, and then runs the hook that was there", async () => {
    using sample = new SampleRepository();
    sample.hook("pre-commit", "touch own-hook-ran");
    const before = sample.read("app/.git/hooks/pre-commit");
    const { isInstalled, chained } = await install(sample);
    assert.deepEqual([isInstalled, chained], [true, ["pre-commit"]]);
    commit(sample);
    assert.match(sample.read("calls").toString(), /identity guard check pre-commit/);
    assert.ok(existsSync(join(sample.path, "own-hook-ran")));
    // Once more changes nothing, and does not take our own hook for the person's.
    await install(sample);
    assert.equal(await removeGuard(await readRepositoryContext(sample.git)), true);
    assert.deepEqual(sample.read("app/.git/hooks/pre-commit"), before);
    assert.equal(await removeGuard(await readRepositoryContext(sample.git)), false);
  });

  it("waits for no pipe and reads no device in the place of a hook, which is not lost", async () => {
    using sample = new SampleRepository();
    const hooks = join(sample.path, ".git/hooks");
    mkdirSync(hooks, { recursive: true });
    execFileSync("mkfifo", [join(hooks, "pre-commit")]);
    symlinkSync("/dev/zero", join(hooks, "pre-push"));
    const context = await readRepositoryContext(sample.git);
    assert.deepEqual((await guardStatus(context)).guarded, []);
    assert.deepEqual((await install(sample)).chained.toSorted(), ["pre-commit", "pre-push"]);
    assert.equal(await removeGuard(context), true);
    assert.ok(lstatSync(join(hooks, "pre-commit")).isFIFO());
  });

  it("runs before a shared hooks folder, and leaves that unchanged", async () => {
    using sample = new SampleRepository();
    mkdirSync(join(sample.home, "shared"));
    sample.run("config", "--global", "core.hooksPath", "~/shared");
    for (const hook of ["pre-commit", "post-commit"]) {
      const path = join(sample.home, "shared", hook);
      writeFileSync(path, `#!/bin/sh\ntouch ${hook}-ran\n`);
      chmodSync(path, 0o755);
    }
    const status = await install(sample);
    assert.equal(status.hooks, join(sample.path, ".git/trunkline/hooks"));
    commit(sample);
    for (const hook of ["pre-commit", "post-commit"]) {
      assert.ok(existsSync(join(sample.path, `${hook}-ran`)), hook);
    }
    await removeGuard(await readRepositoryContext(sample.git));
    assert.equal(sample.run("config", "core.hooksPath"), "~/shared");
    assert.throws(() => sample.run("config", "--local", "core.hooksPath"));
  });

  it("refuses to overwrite a saved hook", async () => {
    using sample = new SampleRepository();
    sample.hook("pre-commit", "exit 0");
    sample.hook("pre-commit.before-trunkline", "exit 0");
    await assert.rejects(install(sample), { code: "conflict" });
  });

  it("makes git refuse a commit if the guard cannot be started", async () => {
    using sample = new SampleRepository();
    const context = await readRepositoryContext(sample.git);
    await installGuard(context, { command: ["/nonexistent/trunkline"] });
    assert.throws(() => commit(sample), /guard could not be run/);
  });
});

describe("guardStatus()", () => {
  it("names the missing hook", async () => {
    using sample = new SampleRepository();
    await install(sample);
    sample.hook("pre-push", "exit 0");
    const status = await guardStatus(await readRepositoryContext(sample.git));
    assert.deepEqual([status.isInstalled, status.guarded.length], [false, 2]);
    assert.match(status.says, /pre-push/);
  });
});
