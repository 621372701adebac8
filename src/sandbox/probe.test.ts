import assert from "node:assert/strict";
import {
  chmodSync,
  mkdirSync,
  mkdtempDisposableSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { probeSandbox, type SandboxFinding } from "./probe.ts";

const skip = process.platform !== "linux" && "Sandboxes need Linux.";

function whatToDo(missing: SandboxFinding | undefined): string {
  const how =
    "it needs the package bubblewrap, Linux 5.13 with Landlock, and, unless you are root, user namespaces";
  return `${missing?.part} does not work here (${missing?.detail}): ${how}`;
}

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
    if (parts === undefined) return test.skip(whatToDo(findings[0]));
    const names = findings.map(({ part }) => part);
    assert.deepEqual(names, ["bubblewrap", "seccomp", "landlock", "cgroup", "users"]);
    assert.equal(parts.landlock !== undefined, findings[2]?.isInForce);
    const bounds = findings[3]?.isInForce
      ? /^memory, processes and CPU are bounded$/
      : /not bounded/;
    assert.match(findings[3]?.detail ?? "", bounds);
    assert.equal(findings[4]?.isInForce, process.getuid?.() === 0);
    return undefined;
  });

  it("tries bubblewrap alone only if it does not work with everything else", async (test) => {
    using home = mkdtempDisposableSync(join(tmpdir(), "probe-"));
    const { parts, findings } = await probeSandbox(home.path);
    if (parts?.landlock === undefined) return test.skip(whatToDo(findings[2] ?? findings[0]));
    const [bin, tried] = [join(home.path, "bin"), join(home.path, "tried")];
    mkdirSync(bin);
    const PATH = `${bin}:${process.env.PATH}`;
    const write = (first: string): void => {
      writeFileSync(tried, "");
      const lines = [`echo x >>'${tried}'`, first, `exec '${parts.bwrap}' "$@"`];
      writeFileSync(join(bin, "bwrap"), `#!/bin/sh\n${lines.join("\n")}\n`, { mode: 0o755 });
    };
    const probe = async () => (await probeSandbox(home.path, { PATH })).findings.slice(0, 3);
    write("");
    assert.deepEqual(
      (await probe()).map(({ isInForce }) => isInForce),
      [true, true, true],
    );
    assert.equal(readFileSync(tried, "utf8"), "x\n");
    write(`[ "$(wc -l <'${tried}')" -gt 1 ] || { echo 'not with Landlock' >&2; exit 1; }`);
    const [bubblewrap, , landlock] = await probe();
    assert.equal(bubblewrap?.isInForce, true);
    assert.deepEqual([landlock?.isInForce, landlock?.detail], [false, "not with Landlock"]);
    assert.equal(readFileSync(tried, "utf8"), "x\nx\n");
    return undefined;
  });
});
