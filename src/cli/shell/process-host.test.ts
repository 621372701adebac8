import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { describe, it } from "node:test";

const MODULE = import.meta.resolve("./host.ts");

/** Runs a command in a process of its own, which also says whether another turn came after it. */
async function ended(
  run: string,
  stderr: number | "inherit" = "inherit",
): Promise<{ code: unknown; out: string }> {
  const script = `import { runProcess } from ${JSON.stringify(MODULE)};
    process.on("beforeExit", () => process.stdout.write("another turn\\n"));
    process.on("exit", () => process.stdout.write("exit\\n"));
    await runProcess(async (args, host) => { ${run} });`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    stdio: ["ignore", "pipe", stderr],
  });
  let out = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (out += text));
  const [code] = await once(child, "close");
  return { code, out };
}

describe("runProcess()", () => {
  it("keeps the process alive until its command has ended, whatever it waits for", async () => {
    const host = JSON.stringify(new URL("host.ts", import.meta.url).href);
    const script = `import { setTimeout as sleep } from "node:timers/promises";
      import { runProcess } from ${host};
      await runProcess(() => sleep(50, 7, { ref: false }));`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", script]);
    assert.deepEqual(await once(child, "exit"), [7, null]);
  });

  it("tells of a write that failed", async () => {
    const full = openSync("/dev/full", "w");
    const run = `
      host.stderr.on("error", ({ code }) => {
        host.stdout.write(code + "\\n");
        process.exitCode = 1;
      });
      host.stderr.write("lost\\n");
      return 0;`;
    const { code, out } = await ended(run, full);
    closeSync(full);
    assert.deepEqual({ code, out }, { code: 1, out: "ENOSPC\nanother turn\nexit\n" });
  });

  it("waits for what any other command has begun, also where Node does not tell of it", async () => {
    const run = `
      process.getBuiltinModule("node:zlib").gzip("much", () => host.stdout.write("packed\\n"));
      return 0;`;
    assert.deepEqual(await ended(run), { code: 0, out: "packed\nanother turn\nexit\n" });
  });

  it("fails if the command leaves a rejection that nobody handles", async () => {
    const nowhere = openSync("/dev/null", "w");
    const { code } = await ended(`void Promise.reject(new Error("lost")); return 0;`, nowhere);
    closeSync(nowhere);
    assert.equal(code, 1);
  });

  it("waits for what such a command has begun all the same, if Node tells of it", async () => {
    const run = `
      setTimeout(() => host.stdout.write("late\\n"), 10);
      return 0;`;
    assert.deepEqual(await ended(run), { code: 0, out: "late\nanother turn\nexit\n" });
  });
});
