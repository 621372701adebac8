import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempDisposableSync, openSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { type Output, PlainOutput } from "./host.ts";

const MODULE = import.meta.resolve("./host.ts");

/** A file to write to, and a stream that is opened on demand. */
function sample() {
  const folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-output-"));
  const path = join(folder.path, "out");
  const fd = openSync(path, "w");
  const written: string[] = [];
  const stream: Output = {
    isTTY: true,
    columns: 72,
    write: (text) => written.push(Buffer.from(text).toString()),
    on: () => undefined,
  };
  return {
    fd,
    written,
    stream,
    text: () => readFileSync(path, "utf8"),
    [Symbol.dispose]: () => {
      closeSync(fd);
      folder.remove();
    },
  };
}

describe("PlainOutput", () => {
  it("writes without opening a stream", () => {
    using file = sample();
    const output = new PlainOutput(file.fd, () => assert.fail("It was opened"));
    output.write("one\n");
    output.write("zwei ü\n");
    assert.equal(file.text(), "one\nzwei ü\n");
  });

  it("writes to the stream once its properties were requested", () => {
    using file = sample();
    // A character device, as a terminal is.
    const device = openSync("/dev/zero", "r+");
    const output = new PlainOutput(device, () => file.stream);
    output.write("before\n");
    assert.deepEqual(file.written, []);
    assert.equal(output.isTTY, true);
    assert.equal(output.columns, 72);
    output.write("after\n");
    closeSync(device);
    assert.deepEqual(file.written, ["after\n"]);
  });

  it("opens no stream to find out that a file or the null device is no terminal", () => {
    using file = sample();
    const nowhere = openSync("/dev/null", "w");
    for (const fd of [file.fd, nowhere]) {
      const output = new PlainOutput(fd, () => assert.fail("It was opened"));
      assert.equal(output.isTTY, false);
      assert.equal(output.columns, undefined);
      output.write("one\n");
    }
    closeSync(nowhere);
    assert.equal(file.text(), "one\n");
  });

  it("leaves to the stream what cannot be written at once", () => {
    using file = sample();
    const closed = openSync("/dev/null", "r");
    const output = new PlainOutput(closed, () => file.stream);
    output.write("late\n");
    closeSync(closed);
    assert.deepEqual(file.written, ["late\n"]);
  });
});

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

  it("ends the process without another turn of the event loop after a command that leaves nothing", async () => {
    const run = `
      host.leftNothing();
      host.stdout.write("list\\n");
      void Promise.resolve().then(async () => { await null; host.stdout.write("promised\\n"); });
      return 3;`;
    assert.deepEqual(await ended(run), { code: 3, out: "list\npromised\nexit\n" });
  });

  it("tells of a write that failed", async () => {
    const full = openSync("/dev/full", "w");
    const run = `
      host.leftNothing();
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
      host.leftNothing();
      setTimeout(() => host.stdout.write("late\\n"), 10);
      return 0;`;
    assert.deepEqual(await ended(run), { code: 0, out: "late\nanother turn\nexit\n" });
  });
});
