import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";
import { checkIdentities } from "./settings-checks.ts";

const WORK = { provider: "github", user: "ada", email: "ada@example.org", sshKey: "~/id_work" };

async function check(line: SampleCommandLine) {
  const { home, env } = line;
  const { config } = await home.load({ env });
  return await checkIdentities(config, { cwd: home.project, env, values: {} });
}

describe("checkIdentities()", () => {
  it("says nothing without identities and without a guard", async () => {
    await using line = await SampleCommandLine.create();
    assert.deepEqual(await check(line), []);
  });

  it("finds a guard of a Trunkline that was moved, which refuses every commit, and mends it", async () => {
    await using line = await SampleCommandLine.create({ identities: { work: WORK } });
    await line.run("identity", "guard", "install");
    assert.equal((await check(line))[0]?.state, "ok");
    for (const hook of ["pre-commit", "pre-merge-commit", "pre-push"]) {
      const path = join(line.home.project, ".git/hooks", hook);
      const script = readFileSync(path, "utf8");
      const program = process.argv[1] ?? "";
      assert.ok(script.includes(program));
      writeFileSync(path, script.replaceAll(program, "/old/place/trunkline.js"));
    }
    assert.throws(() => line.git("commit", "--allow-empty", "-m", "x"), /MODULE_NOT_FOUND/);
    const [found] = await check(line);
    assert.equal(found?.state, "fail");
    assert.match(found?.says ?? "", /refuses every commit.*needs '\/old\/place\/trunkline\.js'/);
    assert.equal(found?.command, "trunkline identity guard install");
    assert.equal(found?.fix?.asks, undefined);
    const { code, out } = await line.run("identity", "guard", "status");
    assert.deepEqual([code, /refuses every commit/.test(out)], [1, true]);
    await found?.fix?.apply();
    assert.equal((await check(line))[0]?.state, "ok");
  });

  it("mends it with the command that it shows, too", async () => {
    await using line = await SampleCommandLine.create();
    await line.run("identity", "guard", "install");
    chmodSync(join(line.home.project, ".git/hooks/pre-push"), 0o644);
    const [found] = await check(line);
    assert.match(found?.says ?? "", /checks nothing: .*pre-push is not executable/);
    await line.run(...(found?.command ?? "").split(" ").slice(1));
    assert.equal((await check(line))[0]?.state, "ok");
  });

  it("fails for a key that is missing or open to others, and each command mends it", async () => {
    await using line = await SampleCommandLine.create({ identities: { work: WORK } });
    const problems = async () => (await check(line)).filter(({ state }) => state === "fail");
    const shell = (command: string): unknown => {
      return execFileSync("sh", ["-c", command], { stdio: "pipe", env: line.env });
    };
    const [missing] = await problems();
    assert.match(missing?.says ?? "", /SSH key does not exist/);
    shell(`${missing?.command} -N ''`);
    assert.deepEqual(await problems(), []);
    chmodSync(join(line.home.path, "id_work"), 0o644);
    const [exposed] = await problems();
    assert.match(exposed?.says ?? "", /other users may read it/);
    shell(exposed?.command ?? "");
    assert.deepEqual(await problems(), []);
  });

  it("reports a token file whose key is gone, and no token only as a remark", async () => {
    const { sshKey: _, ...keyless } = WORK;
    await using line = await SampleCommandLine.create({ identities: { work: keyless } });
    const [none] = await check(line);
    assert.deepEqual([none?.state, none?.says], ["ok", "No token is stored."]);
    assert.equal(none?.command, "trunkline identity token set 'work'");
    const file = join(line.home.data, "identity/tokens.enc");
    await line.home.write(file, "damaged");
    chmodSync(file, 0o600);
    const [damaged] = await check(line);
    assert.equal(damaged?.state, "fail");
    assert.match(damaged?.says ?? "", /tokens\.enc': it is not a token file\. Move it away/);
  });
});
