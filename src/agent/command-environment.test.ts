import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { harmlessVariables, loginPath } from "./command-environment.ts";

const TOKEN = `ghp_${"a1".repeat(18)}`;
const BARE = "/usr/bin:/bin:/usr/sbin:/sbin";

class Shell implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), "trunkline-shell-"));
  readonly path = join(this.folder, "shell");

  constructor(script: string) {
    const counted = `#!/bin/sh\necho asked >> "${join(this.folder, "asked")}"\n${script}`;
    writeFileSync(this.path, counted, { mode: 0o755 });
  }

  get asked(): number {
    return readFileSync(join(this.folder, "asked"), "utf8").split("\n").length - 1;
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
  }
}

/** As a shell does that has read a profile: the words after -c are the fourth. */
const PROFILE = 'echo "Welcome!"; PATH="/home/ada/bin:$PATH"; eval "$4"';

describe("loginPath()", () => {
  it("asks the login shell, once, if PATH is the system default", async () => {
    using shell = new Shell(PROFILE);
    const env = { PATH: BARE, SHELL: shell.path };
    assert.equal(await loginPath(env), `/home/ada/bin:${BARE}`);
    assert.equal(await loginPath(env), `/home/ada/bin:${BARE}`);
    assert.equal(shell.asked, 1);
  });

  it("keeps a PATH that somebody has set", async () => {
    using shell = new Shell(PROFILE);
    const PATH = `/opt/tools:${BARE}`;
    assert.equal(await loginPath({ PATH, SHELL: shell.path }), PATH);
  });

  it("keeps the current PATH if the shell gives no answer", async () => {
    using shell = new Shell("exit 3");
    assert.equal(await loginPath({ PATH: BARE, SHELL: shell.path }), BARE);
    assert.equal(await loginPath({ PATH: BARE, SHELL: "/no/such/shell" }), BARE);
  });
});

describe("harmlessVariables()", () => {
  it("keeps variables that programs need, and removes secrets, by name or by content", () => {
    const env = {
      PATH: "/bin",
      GOPATH: "/go",
      ANTHROPIC_API_KEY: "x",
      NPM_TOKEN: "y",
      DB: `postgres://me:hunter2hunter2@host/db`,
      MY_THING: TOKEN,
      TRUNKLINE_DATA: "/data",
    };
    assert.deepEqual(harmlessVariables(env), { PATH: "/bin", GOPATH: "/go" });
  });
});
