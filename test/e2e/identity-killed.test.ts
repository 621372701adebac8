// Long: switches are killed at each step.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleRepository } from "../samples/sample-repository.ts";
import { Program } from "../support/program.ts";

const BUILT = join(import.meta.dirname, "../../dist/trunkline.js");

/** A repository with two work trees, whose switch was killed when one of two files was changed. */
class Killed extends SampleRepository {
  readonly before: string;

  constructor() {
    super();
    this.commit();
    this.addWorktree("linked");
    const work = { provider: "github", user: "ada", email: "ada@acme.test" };
    this.write(".config/trunkline/config.jsonc", JSON.stringify({ identities: { work } }));
    this.before = this.config();
    const hook = this.write(
      "kill.mjs",
      `import fs from "node:fs/promises";
       import { syncBuiltinESMExports } from "node:module";
       const { rename } = fs;
       let count = 0;
       fs.rename = (...args) => {
         if (++count === 2) process.kill(process.pid, "SIGKILL");
         return rename(...args);
       };
       syncBuiltinESMExports();`,
    );
    const args = ["--import", hook, BUILT, "identity", "switch", "work"];
    const { signal } = spawnSync(process.execPath, args, { cwd: this.path, env: this.env });
    assert.equal(signal, "SIGKILL");
    assert.notEqual(this.config(), this.before, "it was half done");
  }

  config(): string {
    return readFileSync(join(this.path, ".git/config"), "latin1");
  }

  assertRepaired(): void {
    assert.equal(this.config(), this.before);
    const left = readdirSync(join(this.path, ".git")).filter((name) => /trunkline|lock/.test(name));
    assert.deepEqual(left, []);
  }
}

describe("a switch that was killed half way", { timeout: 600_000 }, () => {
  for (const command of [
    ["mcp"],
    ["acp"],
    ["acp", "--dialect", "juggler"],
    ["serve", "--port=0"],
  ]) {
    it(`is repaired when trunkline ${command.join(" ")} starts`, async () => {
      using sample = new Killed();
      const env = { HOME: sample.home };
      await using program = new Program(command, { env });
      await program.until(({ stderr }) => stderr.includes("has been rolled back"));
      sample.assertRepaired();
      program.child.kill("SIGTERM");
      assert.equal(await program.exit, 0);
    });
  }

  it("is repaired by the next command, which reports it", () => {
    using sample = new Killed();
    const args = [BUILT, "identity", "list", "--json"];
    const { stdout, stderr } = spawnSync(process.execPath, args, {
      cwd: sample.path,
      env: sample.env,
      encoding: "utf8",
    });
    assert.match(
      stderr,
      /A switch to identity 'work' in .* was interrupted; it has been rolled back/,
    );
    assert.match(stdout, /"work"/);
    sample.assertRepaired();
  });

  it("does not prevent the start of a program if its journal cannot be read", async () => {
    using sample = new Killed();
    const data = join(sample.home, ".local/state/trunkline/identity/journal.jsonl");
    writeFileSync(data, "nonsense\n");
    await using program = new Program(["mcp"], { env: { HOME: sample.home } });
    await program.until(({ stderr }) => stderr.includes("identity.unrepaired"));
    const params = {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "x", version: "1" },
    };
    program.write({ jsonrpc: "2.0", id: 1, method: "initialize", params });
    await program.answers(1);
    program.child.stdin.end();
    assert.equal(await program.exit, 0);
  });
});
