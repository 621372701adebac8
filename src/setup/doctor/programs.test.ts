import assert from "node:assert/strict";
import { mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import packageJson from "../../../package.json" with { type: "json" };
import { checkGit, checkNode } from "./machine-checks.ts";

describe("checkGit()", () => {
  it("reports the version of git", async () => {
    const { state, says } = await checkGit(tmpdir(), process.env);
    assert.equal(state, "ok");
    assert.match(says, /^\d+\.\d+/);
  });

  for (const [version, state] of [
    ["2.37.9", "warn"],
    ["1.99.1", "warn"],
    ["2.38.0", "ok"],
    ["3.0.0.rc1", "ok"],
  ] as const) {
    it(`considers git ${version} ${state === "ok" ? "new enough" : "too old"}`, async () => {
      using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-doctor-"));
      const script = `#!/bin/sh\necho git version ${version}\n`;
      writeFileSync(join(folder.path, "git"), script, { mode: 0o755 });
      const found = await checkGit(tmpdir(), { PATH: `${folder.path}:/usr/bin:/bin` });
      assert.equal(found.state, state);
    });
  }

  it("fails if git is missing, and says what to do", async () => {
    assert.deepEqual(await checkGit(tmpdir(), { ...process.env, PATH: "/nowhere" }), {
      state: "fail",
      says: "Cannot run git: it is not installed, or not in PATH",
      next: "Install it, or add its folder to PATH.",
    });
  });
});

describe("checkNode()", () => {
  it("accepts the version in package.json, and no older one", () => {
    const [major = 0, minor = 0] = packageJson.engines.node
      .replace(">=", "")
      .split(".")
      .map(Number);
    assert.equal(checkNode(`${major}.${minor}.0`).state, "ok");
    assert.equal(checkNode(`${major + 1}.0.0`).state, "ok");
    assert.equal(checkNode(`${major}.${minor - 1}.9`).state, "fail");
    assert.equal(checkNode(`${major - 1}.99.0`).state, "fail");
  });
});
