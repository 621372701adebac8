import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";

import { processesWhere } from "./processes.ts";
import { until } from "./until.ts";

const ROOT = join(import.meta.dirname, "../..");
const PRELOADS = ["untracked-promises.ts", "nothing-left.ts"].map((name) =>
  join(import.meta.dirname, name),
);
const TOGETHER = join(import.meta.dirname, "test-together.ts");

describe("test files that share a process", { timeout: 600_000 }, () => {
  it("fail one by one, each by its name, for a test, an import or what is left", async () => {
    const { code, out } = await run({
      "good-1": `it("is good", () => {});`,
      "bad-test": `it("is bad", () => { throw new Error("bad test"); });`,
      "bad-import": `throw new Error("bad import");`,
      "left-timer": `it("leaves", () => { setInterval(() => {}, 10); });`,
      "left-folder": `it("leaves", () => { mkdtempSync(join(tmpdir(), "mine-")); });`,
      "good-2": `it("is good", () => {});`,
    });
    assert.equal(code, 1, out);
    for (const name of ["good-1", "good-2"]) assert.match(out, new RegExp(`✔ .*${name}\\.test`));
    for (const name of ["bad-test", "bad-import", "left-timer", "left-folder"]) {
      assert.match(out, new RegExp(`✖ .*${name}\\.test`), out);
    }
    assert.match(out, /bad import/);
    assert.match(out, /left-timer\.test\.mjs have left behind:\n *timer\n +at .*left-timer\.test/);
    assert.match(out, /left-folder\.test\.mjs have left behind:\n *in the temporary folder: mine-/);
  });

  it("find the process as if they were the first", async () => {
    const { code, out } = await run({
      first: `process.env.SAMPLE = "changed"; delete process.env.PATH;
        mock.timers.enable({ apis: ["setTimeout"] });
        mock.method(Math, "random", () => 2);
        globalThis.before = tmpdir();
        it("changes the process", () => {});`,
      second: `it("sees nothing of it", async () => {
        assert.deepEqual([process.env.SAMPLE, typeof process.env.PATH], [undefined, "string"]);
        assert.ok(Math.random() < 1);
        await new Promise((resolve) => setTimeout(resolve, 1));
        assert.notEqual(tmpdir(), globalThis.before);
      });`,
    });
    assert.equal(code, 0, out);
  });

  it("are waited for, also for what keeps no process alive", async () => {
    const { code, out } = await run({
      waits: `it("waits", () => new Promise((resolve) => void setTimeout(resolve, 20).unref()));`,
      next: `it("is good", () => {});`,
    });
    assert.equal(code, 0, out);
  });

  it("are named when one ends the process", async () => {
    const { code, out } = await run({
      good: `it("is good", () => {});`,
      ends: `it("ends", () => process.exit(0));`,
      never: `it("never comes to be", () => {});`,
    });
    assert.equal(code, 1, out);
    assert.match(out, /The process ended within .*ends\.test\.mjs\./);
  });

  for (const [kind, throws] of Object.entries({
    error: `setImmediate(() => { throw new Error("late"); })`,
    rejection: `void Promise.reject(new Error("late"))`,
  })) {
    it(`end at once at an ${kind} that nobody catches, with what they started, and the file is named`, async () => {
      const sleep = `8${process.pid}`;
      const { code, out } = await run({
        good: `it("is good", () => {});`,
        late: `it("waits", async () => {
          await null;
          spawn("sleep", ["${sleep}"], { env: {}, detached: true, stdio: "ignore" }).unref();
          ${throws};
          await new Promise((resolve) => setTimeout(resolve, 100_000));
        });`,
      });
      assert.equal(code, 1, out);
      assert.match(out, /Nobody caught this error: Error: late\n +at .*late\.test\.mjs/);
      assert.match(out, /The process ended within .*late\.test\.mjs\./);
      await until(() => processesWhere(({ command }) => command === `sleep ${sleep}`).length === 0);
    });
  }

  it("cannot wait for something while they load, and say so", async () => {
    const { code, out } = await run({ awaits: `await null; it("is good", () => {});` });
    assert.equal(code, 1, out);
    assert.match(out, /Cannot load .*awaits\.test\.mjs at once: .* uses `await` outside functions/);
  });

  it("may wait for something while they load, where promises are followed", async () => {
    const { code, out } = await run(
      {
        bad: `await new Promise((resolve) => setTimeout(resolve, 1));
          it("is bad", () => { throw new Error("bad test"); });`,
        good: `it("is good", () => {});`,
      },
      { awaiting: true },
    );
    assert.equal(code, 1, out);
    assert.match(out, /✖ .*bad\.test/);
    assert.match(out, /✔ .*good\.test/);
  });
});

/** A group of test files, run as scripts/task.mjs does. */
async function run(
  bodies: Readonly<Record<string, string>>,
  { awaiting = false } = {},
): Promise<{ code: unknown; out: string }> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "together-"));
  const files = Object.keys(bodies).map((name) => join(folder.path, `${name}.test.mjs`));
  for (const [name, body] of Object.entries(bodies)) {
    await writeFile(
      join(folder.path, `${name}.test.mjs`),
      `import assert from "node:assert/strict";
      import { spawn } from "node:child_process";
      import { mkdtempSync } from "node:fs";
      import { tmpdir } from "node:os";
      import { join } from "node:path";
      import { it, mock } from "node:test";
      ${body}`,
    );
  }
  const group = join(folder.path, awaiting ? "group-awaiting-0.mjs" : "group.mjs");
  const list = JSON.stringify(files.map((file) => relative(ROOT, file)));
  await writeFile(
    group,
    `import { testTogether } from ${JSON.stringify(TOGETHER)};
    await testTogether(${list}, ${JSON.stringify({ awaiting })});`,
  );
  // A run inside a run: without this the inner one would report to ours.
  const { NODE_TEST_CONTEXT: _, ...outer } = process.env;
  const env = { ...outer, TRUNKLINE_TEST_GRACE: "500" };
  const preloads = PRELOADS.map((file) => `--import=${file}`);
  const args = ["--test", ...preloads, "--test-reporter=spec", group];
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  const [out, [code]] = await Promise.all([text(child.stdout), once(child, "close")]);
  return { code, out };
}
