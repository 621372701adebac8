import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { TrunklineError } from "../base/errors.ts";
import { Git, gitEnvironment } from "./git.ts";
import { SampleRepository } from "../../test/samples/sample-repository.ts";

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
