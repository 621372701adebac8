import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Program } from "./program.ts";

/** Writes one file after the other, for ever. */
const WRITER = `
  for (let n = 0; ; n++) require("node:fs").writeFileSync(process.argv[1] + "/" + (n % 100), "x");`;

describe("Program", { timeout: 60_000 }, () => {
  it("ends with all that it started", async (test) => {
    if (!existsSync("/proc/self/stat")) return test.skip("needs /proc, which only Linux has");
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-bench-"));
    {
      const script = `
        const { spawn } = require("node:child_process");
        spawn(process.execPath, ["-e", ${JSON.stringify(WRITER)}, process.argv[1]]);
        const wait = () => require("node:fs").existsSync(process.argv[1] + "/9") ? console.log("writes") : setTimeout(wait, 1);
        wait();`;
      await using program = new Program(["-e", script, folder.path]);
      await program.until(new Promise((resolve) => program.stdout.once("data", resolve)));
      assert.ok(readdirSync(folder.path).length > 0);
    }
    // Nobody writes there any more, so the folder can be removed.
  });
});
