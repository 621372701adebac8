import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";

import { CAN_LIST_PROCESSES, processesWhere } from "../test/support/processes.ts";

const ROOT = join(import.meta.dirname, "..");
const RUN_TESTS = new URL("run-tests.mjs", import.meta.url).href;
const NOTHING_LEFT = "--import=./test/support/nothing-left.ts";
const skip = !CAN_LIST_PROCESSES && "only Linux tells which processes a test has started";

/** Starts programs that nobody ends, one of them with no environment and in a session of its own. */
const START = `
  import { spawnSync } from "node:child_process";
  import { readdirSync, utimesSync } from "node:fs";
  import { join } from "node:path";
  import { it } from "node:test";
  const start = (mark) => {
    const line = \`sleep \${mark}1 & env -i setsid sleep \${mark}2 &\`;
    spawnSync("sh", ["-c", line], { cwd: process.env.TMPDIR, stdio: "ignore" });
  };
  /** As if what runs now had begun long ago. */
  const age = () => {
    const folder = process.env.TRUNKLINE_TEST_NOTES;
    const note = readdirSync(folder).find((name) => name.startsWith(process.pid + "-"));
    utimesSync(join(folder, note), 0, 0);
  };
  /** The thread does nothing any more, as in an endless loop. */
  const block = () => {
    age();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  };
  const wait = () => {
    age();
    return new Promise((resolve) => setTimeout(resolve, 1e9));
  };`;

/** Where a file may hang. */
const HANGING = {
  "in the test 'waits'": (mark: string) =>
    `it("waits", async () => { start(${mark}); await wait(); });`,
  "in the test 'blocks'": (mark: string) => `it("blocks", () => { start(${mark}); block(); });`,
  "outside of its tests": (mark: string) => `start(${mark}); await wait();`,
};

describe("the runner", { skip }, () => {
  it("ends and names a file that hangs, with what it started, and no other", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "run-tests-"));
    const samples = Object.entries(HANGING).map(([where, body], at) => {
      const mark = `9${process.pid}${at}`;
      const file = join(folder.path, `hangs-${at}.test.mjs`);
      writeFileSync(file, START + body(mark));
      return { where, mark, file };
    });
    const good = join(folder.path, "good.test.mjs");
    const late = join(folder.path, "late.test.mjs");
    writeFileSync(good, `${START} it("is good", () => {});`);
    // Then nothing is watched any more but that it ends.
    writeFileSync(late, `${START} it("is good", () => {}); process.on("exit", block);`);
    const { code, err } = await run([good, late, ...samples.map(({ file }) => file)], 3_600);
    assert.equal(code, 1, err);
    const saidOf = (file: string): string[] =>
      err.split(/^(?=\S)/m).filter((part) => part.startsWith(relative(ROOT, file)));
    for (const { where, mark, file } of samples) {
      // When it happens, and at the end.
      const said = saidOf(file);
      assert.equal(said.length, 2, err);
      for (const part of said) {
        assert.ok(part.includes(`for 3600 s, ${where}. Ended, with what it started:\n`), part);
        assert.match(part, new RegExp(`process \\d+: .*${basename(file)}\n`));
        for (const end of [1, 2]) {
          assert.match(part, new RegExp(`process \\d+: sleep ${mark}${end}\n`));
        }
      }
      assert.deepEqual(
        processesWhere(({ command }) => command.startsWith(`sleep ${mark}`)),
        [],
      );
    }
    assert.equal(saidOf(late).length, 2);
    assert.deepEqual(saidOf(good), []);
  });
});

/** Runs test files as scripts/task.mjs does. */
async function run(
  files: readonly string[],
  patience: number,
): Promise<{ code: unknown; err: string }> {
  const args = JSON.stringify([NOTHING_LEFT, `--test-concurrency=${files.length}`, ...files]);
  const script = `
    import { runTests } from ${JSON.stringify(RUN_TESTS)};
    process.exitCode = await runTests(${args}, process.env, ${patience});`;
  // A run inside a run: without this the inner one would report to ours.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const [err, [code]] = await Promise.all([text(child.stderr), once(child, "close")]);
  return { code, err };
}
