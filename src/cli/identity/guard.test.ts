import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";

const identities = {
  work: { provider: "github", user: "ada", email: "ada@acme.test", organizations: ["acme"] },
};

/** A repository of acme, in which somebody else commits. */
async function setUp(): Promise<SampleCommandLine> {
  const line = await SampleCommandLine.create({ identities });
  line.git("remote", "add", "origin", "git@github.com:acme/app.git");
  line.git("config", "user.name", "Eve");
  line.git("config", "user.email", "eve@other.test");
  return line;
}

const check = (line: SampleCommandLine) => line.run("identity", "guard", "check", "pre-commit");

describe("trunkline identity guard check", () => {
  it("refuses a commit by the wrong identity, and says what to do", async () => {
    await using line = await setUp();
    const { code, out, err } = await check(line);
    assert.deepEqual([code, out], [1, ""]);
    assert.match(err, /^trunkline guard refuses this commit:\n- .*eve@other\.test/m);
    assert.match(err, /^To fix it: trunkline identity switch work/m);
    assert.match(err, /^To allow it once: trunkline identity guard allow --once$/m);
  });

  it("prints nothing for a commit by the right one", async () => {
    await using line = await setUp();
    line.git("config", "user.email", "ada@acme.test");
    assert.deepEqual(await check(line), { code: 0, out: "", err: "" });
  });

  it("allows one commit after `allow`, and says what it would have refused", async () => {
    await using line = await setUp();
    const allowed = await line.run("identity", "guard", "allow", "--reason", "pairing");
    assert.match(allowed.out, /^The next commit or push in .* is allowed until .* recorded\.\n$/);
    const passed = await check(line);
    assert.equal(passed.code, 0);
    assert.match(passed.err, /allows this commit because of .*pairing.*, although:\n- /);
    assert.equal((await check(line)).code, 1);
  });

  it("prints its result as JSON, with the same exit code", async () => {
    await using line = await setUp();
    const { code, out } = await line.run("identity", "guard", "check", "pre-commit", "--json");
    assert.equal(code, 1);
    assert.equal((JSON.parse(out) as { isAllowed: boolean }).isAllowed, false);
  });
});

describe("trunkline identity guard install, status and remove", () => {
  it("exit with 1 if the guard is not installed", async () => {
    await using line = await setUp();
    assert.equal((await line.run("identity", "guard", "status")).code, 1);
    const removed = await line.run("identity", "guard", "remove");
    assert.deepEqual([removed.code, removed.out], [0, "The guard was not installed.\n"]);
    assert.equal((await line.run("identity", "guard", "install")).code, 0);
    assert.equal((await line.run("identity", "guard", "status")).code, 0);
    assert.equal((await line.run("identity", "guard", "remove")).out, "Removed the guard.\n");
    assert.equal((await line.run("identity", "guard", "status")).code, 1);
  });
});
