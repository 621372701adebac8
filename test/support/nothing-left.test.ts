import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";

import { CAN_LIST_PROCESSES } from "./processes.ts";

const PRELOAD = join(import.meta.dirname, "nothing-left.ts");
const NOT_HERE = CAN_LIST_PROCESSES
  ? false
  : "only Linux lists the processes and sockets of others";

/** What a test might leave, as the body of one, and what is said of it. */
const LEFT: Record<string, { body: string; says: RegExp; skip?: string | false; grace?: number }> =
  {
    "a child process": {
      body: `spawn("sleep", ["1000"]);`,
      says: /process \d+: sleep 1000\n[^]*child process\n +at .*\.test\.mjs/,
      skip: NOT_HERE,
    },
    "an orphan in a session of its own, with an empty environment": {
      body: `spawnSync("sh", ["-c", "env -i setsid sleep 1001 >/dev/null 2>&1 &"], { cwd: tmpdir() });`,
      says: /process \d+: sleep 1001/,
      skip: NOT_HERE,
    },
    "an orphan that went to another folder": {
      body: `spawn("sh", ["-c", "cd / && setsid sleep 1002 >/dev/null 2>&1 &"], { env: { PATH: process.env.PATH } });`,
      says: /process \d+: sleep 1002/,
      skip: NOT_HERE,
    },
    "a listening socket": {
      body: `createServer().listen(0);`,
      says: /listening socket\n +at .*\.test\.mjs/,
    },
    "a connection that would let the process end": {
      body: `const server = createServer((socket) => socket.unref()).listen(0).unref();
      await once(server, "listening");
      const socket = connect(server.address().port).unref();
      await once(server, "connection");`,
      says: /socket\n +at .*\.test\.mjs/,
      skip: NOT_HERE,
    },
    "a timer": {
      // It would run out in the time that others have to end, which no timer is given.
      body: `setTimeout(() => {}, 5_000);`,
      says: /timer\n +at .*\.test\.mjs/,
      grace: 10_000,
    },
    "an interval": {
      body: `setInterval(() => {}, 10);`,
      says: /timer\n +at .*\.test\.mjs/,
    },
    "a temporary folder": {
      body: `mkdtempSync(join(tmpdir(), "mine-"));`,
      says: /in the temporary folder: mine-/,
    },
    "a temporary folder of a child with an environment of its own": {
      body: `const child = spawn("sh", ["-c", "mktemp -d $TMPDIR/theirs-XXXXXX"], { env: { PATH: process.env.PATH } });
      await once(child, "close");`,
      says: /in the temporary folder: theirs-/,
    },
  };

describe("a test file", { timeout: 600_000 }, () => {
  it("passes that leaves nothing", async () => {
    const { code, out } = await run(
      `
      const server = createServer((socket) => socket.pipe(socket)).listen(0);
      await once(server, "listening");
      const socket = connect(server.address().port);
      const child = spawn("sleep", ["1000"]);
      const folder = mkdtempSync(join(tmpdir(), "mine-"));
      const timer = setTimeout(() => {}, 100_000);
      clearTimeout(timer);
      rmSync(folder, { recursive: true });
      child.kill();
      await once(child, "close");
      socket.destroy();
      server.close();
    `,
      60_000,
    );
    assert.equal(code, 0, out);
    assert.doesNotMatch(out, /left behind/);
  });

  for (const [what, { body, says, skip = false, grace }] of Object.entries(LEFT)) {
    it(`fails that leaves ${what}`, { skip }, async () => {
      const { code, out } = await run(body, grace);
      assert.equal(code, 1, out);
      assert.match(out, /have left behind:/);
      assert.match(out, says);
    });
  }
});

it("watches every test file that npm runs", async () => {
  const tasks = await readFile(join(import.meta.dirname, "../../scripts/task.mjs"), "utf8");
  assert.match(tasks, /const all = \[\.\.\.preloads, NOTHING_LEFT,.*;\n +return runTests\(all, /);
});

/** A test file with one test, run as scripts/task.mjs does. */
async function run(body: string, grace = 500): Promise<{ code: unknown; out: string }> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "left-"));
  const file = join(folder.path, "sample.test.mjs");
  await writeFile(
    file,
    `import { spawn, spawnSync } from "node:child_process";
    import { once } from "node:events";
    import { mkdtempSync, rmSync } from "node:fs";
    import { connect, createServer } from "node:net";
    import { tmpdir } from "node:os";
    import { join } from "node:path";
    import { it } from "node:test";
    it("does something", async () => {\n${body}\n});`,
  );
  // A run inside a run: without this the inner one would report to ours.
  const { NODE_TEST_CONTEXT: _, ...outer } = process.env;
  const env = { ...outer, TRUNKLINE_TEST_GRACE: String(grace) };
  const args = ["--test", `--import=${PRELOAD}`, "--test-reporter=spec", file];
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  const [out, [code]] = await Promise.all([text(child.stdout), once(child, "close")]);
  return { code, out };
}
