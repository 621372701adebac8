import assert from "node:assert/strict";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { compiledCode } from "./compiled-code.ts";

/** What comes of a build whose launcher is this program. */
async function compiled(program: string, patience?: number): Promise<Map<string, Uint8Array>> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-compiled-"));
  const launcher = join(folder.path, "launcher.mjs");
  await writeFile(launcher, program);
  return await compiledCode(launcher, patience);
}

/** Answers each message, and ends with its input. */
const ANSWERS = `
import { mkdirSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
const folder = process.env.XDG_CACHE_HOME + "/trunkline/code";
mkdirSync(folder, { recursive: true });
writeFileSync(folder + "/start-" + process.argv[2], Buffer.of(7, 1));
writeFileSync(folder + "/other", "");
createInterface({ input: process.stdin }).on("line", () => console.log("{}"));
`;

describe("compiledCode()", { timeout: 300_000 }, () => {
  it("returns the code of each command, marked as complete", async () => {
    const code = await compiled(ANSWERS);
    assert.deepEqual(Object.fromEntries(code), {
      "start-acp": Buffer.of(7, 255),
      "start-mcp": Buffer.of(7, 255),
    });
  });

  it("says why a command could not be started", async () => {
    const fails = `process.stdin.destroy(); console.error("No such module"); process.exitCode = 3;`;
    const says = /^Cannot compile the code of 'mcp': it exited with 3\. It said: No such module$/;
    await assert.rejects(compiled(fails), { message: says });
  });

  it("does not wait for a command that never ends", async () => {
    const hangs = `console.error("Waiting"); setInterval(() => {}, 1_000);`;
    await assert.rejects(compiled(hangs, 1_000), {
      message: /^Cannot compile the code of 'mcp': it did not end within 1000 ms\. It said:/,
    });
  });
});
