import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";

const UNIT = ".config/systemd/user/trunkline.service";

/**
 * Programs of systemd that only note how they are called: where tests run, no systemd runs for the user.
 * The text of the unit is checked by the real systemd-analyze.
 */
async function setUp(systemctl = "exit 0") {
  const line = await SampleCommandLine.create();
  const bin = join(line.home.path, "bin");
  const calls = join(line.home.path, "calls");
  mkdirSync(bin);
  const scripts = {
    systemctl: `shift; echo "$@" >> '${calls}'\n${systemctl}`,
    journalctl: "echo 'it has started'",
    loginctl: "echo Linger=no",
  };
  for (const [name, script] of Object.entries(scripts)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  line.env.PATH = `${bin}:relative:${line.env.PATH}`;
  const unit = join(line.home.path, UNIT);
  return {
    line,
    unit,
    text: () => readFileSync(unit, "utf8"),
    calls: () => (existsSync(calls) ? readFileSync(calls, "utf8").trim().split("\n") : []),
    [Symbol.asyncDispose]: () => line[Symbol.asyncDispose](),
  };
}

describe("trunkline service", { skip: process.platform !== "linux" }, () => {
  it("installs once, starts again only what has changed, and keeps the port", async () => {
    await using it = await setUp();
    const { line } = it;
    const first = await line.run("service", "install", "--port", "4199");
    assert.equal(first.code, 0, first.err);
    assert.match(first.err, /loginctl enable-linger/);
    assert.match(it.text(), /^ExecStart="\/.+" "serve" "--port" "4199" "--data" "\/.+"/m);
    assert.doesNotMatch(it.text(), /relative/);
    assert.deepEqual(it.calls().slice(1), [
      "daemon-reload",
      "enable --quiet trunkline.service",
      "restart trunkline.service",
    ]);
    const again = await line.json<{ changed: boolean }>("service", "install");
    assert.equal(again.changed, false);
    assert.equal(it.calls().at(-1), "start trunkline.service");
    await line.run("service", "install", "--host", "::1");
    assert.match(it.text(), /"--host" "::1" "--port" "4199"/);
  });

  it("removes all that it has installed, also twice", async () => {
    await using it = await setUp();
    await it.line.run("service", "install");
    assert.equal((await it.line.run("service", "remove")).out, "Removed the service.\n");
    assert.equal(existsSync(it.unit), false);
    assert.ok(it.calls().includes("disable --quiet --now trunkline.service"));
    const again = await it.line.run("service", "remove");
    assert.deepEqual([again.code, again.out], [0, "The service was not installed.\n"]);
  });

  it("prints the unit without touching anything", async () => {
    await using it = await setUp();
    const { code, out } = await it.line.run("service", "install", "--print");
    assert.equal(code, 0);
    assert.match(out, /^\[Service\]$/m);
    assert.deepEqual([existsSync(it.unit), it.calls()], [false, []]);
  });

  it("shows state, address and the last messages", async () => {
    await using it = await setUp(
      'echo "ActiveState=active"; echo "SubState=running"; echo "ActiveEnterTimestamp=Mon 10:00"; echo MainPID=42',
    );
    assert.match((await it.line.run("service", "status")).out, /^state +not installed$/m);
    await it.line.run("service", "install");
    const { code, out } = await it.line.run("service", "status");
    assert.equal(code, 0);
    assert.match(out, /^state +active \(running\)\nsince +Mon 10:00\nprocess +42$/m);
    assert.match(out, /^address +no gateway of this data folder runs$/m);
    assert.match(out, /^it has started$/m);
  });

  it("says what to do where no systemd runs for the user, and writes nothing", async () => {
    await using it = await setUp("echo 'Failed to connect to bus' >&2; exit 1");
    const { code, err } = await it.line.run("service", "install");
    assert.equal(code, 1);
    assert.match(err, /no systemd runs for your user here, as in most containers/);
    assert.match(err, /run `trunkline serve`/);
    assert.equal(existsSync(it.unit), false);
  });

  it("refuses a port that is another one at each start", async () => {
    await using it = await setUp();
    for (const port of ["0", "x", "-1"]) {
      const { code, err } = await it.line.run("service", "install", `--port=${port}`);
      assert.deepEqual([code, /needs the same port/.test(err)], [2, true], port);
    }
  });
});
