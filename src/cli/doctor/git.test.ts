import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { describe, it } from "node:test";

import { checkGit } from "./git.ts";

describe("checkGit()", () => {
  it("says which git there is", async () => {
    const { state, says } = await checkGit(tmpdir(), process.env);
    assert.equal(state, "ok");
    assert.match(says, /^\d+\.\d+/);
  });

  it("fails, with what to do, where there is none", async () => {
    assert.deepEqual(await checkGit(tmpdir(), { ...process.env, PATH: "/nowhere" }), {
      state: "fail",
      what: "git",
      says: "Cannot run git: it is not installed, or not in PATH",
      next: "Install it, or add its folder to PATH.",
    });
  });
});
