import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempDisposableSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { probeSandbox } from "./probe.ts";

const skip = process.platform !== "linux" && "Sandboxes need Linux.";

describe("probeSandbox()", { skip }, () => {
  it("says what to install if bubblewrap is not in PATH", async () => {
    using home = mkdtempDisposableSync(join(tmpdir(), "probe-"));
    const { parts, findings } = await probeSandbox(home.path, { PATH: `relative:${home.path}` });
    assert.equal(parts, undefined);
    assert.deepEqual(findings, [
      {
        part: "bubblewrap",
        isInForce: false,
        detail: "bwrap is not installed: install the package bubblewrap",
      },
    ]);
  });

  it("tries bubblewrap before it relies on it, and leaves nothing behind", async () => {
    using home = mkdtempDisposableSync(join(tmpdir(), "probe-"));
    const [bin, data] = [join(home.path, "bin"), join(home.path, "data")];
    for (const folder of [bin, data]) mkdirSync(folder);
    writeFileSync(join(bin, "bwrap"), "#!/bin/sh\necho 'no namespaces for you' >&2\nexit 1\n");
    // A file that cannot be executed is skipped.
    assert.equal(
      (await probeSandbox(data, { PATH: bin })).findings[0]?.detail.includes("install"),
      true,
    );
    chmodSync(join(bin, "bwrap"), 0o755);
    const { parts, findings } = await probeSandbox(data, { PATH: bin });
    assert.equal(parts, undefined);
    assert.match(findings[0]?.detail ?? "", /bwrap does not work here: no namespaces for you$/);
    assert.deepEqual(readdirSync(data), []);
  });

  it("reports each part, whether it works or not", async (test) => {
    using home = mkdtempDisposableSync(join(tmpdir(), "probe-"));
    const { parts, findings } = await probeSandbox(home.path);
    if (parts === undefined)
      return test.skip(findings[0]?.detail ?? "no sandbox is possible here, for an unknown reason");
    const names = findings.map(({ part }) => part);
    assert.deepEqual(names, ["bubblewrap", "seccomp", "landlock", "cgroup", "users"]);
    assert.equal(parts.landlock, findings[2]?.isInForce);
    assert.equal(findings[4]?.isInForce, process.getuid?.() === 0);
    return undefined;
  });
});
