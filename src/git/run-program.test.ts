import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { TrunklineError } from "../base/errors.ts";
import { processOf } from "../base/process/process-table.ts";
import { Git } from "./git.ts";
import { SampleRepository } from "../../test/samples/sample-repository.ts";
import { until } from "../../test/support/until.ts";

function failsWith(code: string, says: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof TrunklineError, String(error));
    assert.equal(error.code, code);
    assert.match(error.message, says);
    return true;
  };
}

const COMMIT = ["commit", "--allow-empty", "-mx"];
const WRITING = {
  mode: "write",
  env: {
    GIT_AUTHOR_NAME: "A",
    GIT_AUTHOR_EMAIL: "a@b",
    GIT_COMMITTER_NAME: "A",
    GIT_COMMITTER_EMAIL: "a@b",
  },
} as const;

describe("runProgram(), running git", { timeout: 60_000 }, () => {
  it("ends a git that takes too long, with everything it started", async () => {
    using sample = new SampleRepository();
    sample.hook("pre-commit", "sleep 6000 & wait");
    const git = new Git(sample.path, { env: sample.env, timeout: 300 });
    await assert.rejects(git.run(COMMIT, WRITING), failsWith("timeout", /300 ms/));
  });

  it("ends descendants that left the process group too", async () => {
    using sample = new SampleRepository();
    const script = `const { spawn } = require("node:child_process");
      const left = spawn("sleep", ["6000"], { detached: true, stdio: "ignore" });
      require("node:fs").writeFileSync("left", String(left.pid));`;
    const program = sample.write("leave.cjs", script);
    sample.hook("pre-commit", `'${process.execPath}' '${program}' & wait; sleep 6000`);
    const stopper = new AbortController();
    const committing = sample.git.run(COMMIT, { ...WRITING, signal: stopper.signal });
    const file = join(sample.path, "left");
    await until(() => existsSync(file) && readFileSync(file, "utf8") !== "");
    stopper.abort(new Error("called off"));
    await assert.rejects(committing, /called off/);
    const left = Number(readFileSync(file, "utf8"));
    await until(() => processOf(left) === undefined);
  });

  it("stops a git that writes more than expected", async () => {
    using sample = new SampleRepository();
    sample.commit();
    const git = new Git(sample.path, { env: sample.env, maxOutput: 20 });
    await assert.rejects(
      git.run(["rev-parse", "HEAD"]),
      failsWith("limit", /more than its limit of 20 bytes/),
    );
  });

  it("does not wait for processes that git leaves running", async () => {
    using sample = new SampleRepository();
    const pid = join(sample.home, "left-running");
    sample.hook("post-commit", `sleep 6000 & echo $! > '${pid}'`);
    await sample.git.run(COMMIT, WRITING);
    process.kill(Number(readFileSync(pid, "utf8")), "SIGKILL");
  });
});
