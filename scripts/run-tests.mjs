import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NODE, ROOT } from "./dependencies.mjs";
import { run } from "./run.mjs";

/**
 * Runs Node's test runner. A file of which no test begins for so many seconds is ended, with what
 * it started. Resolves to the exit code.
 */
export async function runTests(args, env, patience) {
  // Each test writes one, so they are where the other temporary files are.
  const notes = mkdtempSync(join(env.TMPDIR ?? tmpdir(), "test-notes-"));
  const watch = spawn(NODE, ["scripts/end-hanging-tests.ts", notes, String(patience)], {
    cwd: ROOT,
    stdio: ["pipe", "inherit", "inherit"],
  });
  const ended = once(watch, "close");
  watch.stdin.on("error", () => {});
  const tests = { cwd: ROOT, env: { ...env, TRUNKLINE_TEST_NOTES: notes } };
  const code = await run(NODE, ["--test", ...args], tests);
  watch.stdin.end();
  await ended;
  return code;
}
