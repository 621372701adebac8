import assert from "node:assert/strict";
import { mkdtempDisposableSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { defaultConfig } from "../../config/config.ts";
import { checkRuns } from "./machine-checks.ts";

describe("checkRuns()", () => {
  it("says what is missing for a sandbox, and leaves nothing behind", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-doctor-"));
    const findings = await checkRuns(defaultConfig(folder.path), { PATH: "/nonexistent" });
    assert.deepEqual(
      findings.map(({ state }) => state),
      ["warn"],
    );
    assert.match(findings[0]?.says ?? "", /bubblewrap: .*install the package bubblewrap/);
    assert.match(findings[0]?.next ?? "", /No run begins without it/);
    assert.deepEqual(readdirSync(folder.path), []);
  });

  it("warns where agents work without one by choice", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-doctor-"));
    const { remote, data } = defaultConfig(folder.path);
    const unsafe = { data, remote: { ...remote, sandbox: "unsafe-off" } } as const;
    const [first] = await checkRuns(unsafe, { PATH: "/nonexistent" });
    assert.deepEqual(first?.state, "warn");
    assert.match(first?.says ?? "", /without a sandbox/);
  });
});
