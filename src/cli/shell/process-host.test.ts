import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempDisposableSync, openSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import type { Output } from "./host.ts";
import { PlainOutput } from "./process-host.ts";

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

describe("runProcess()", () => {
  it("keeps the process alive until its command has ended, whatever it waits for", async () => {
    const host = JSON.stringify(new URL("process-host.ts", import.meta.url).href);
    const script = `import { setTimeout as sleep } from "node:timers/promises";
      import { runProcess } from ${host};
      await runProcess(() => sleep(50, 7, { ref: false }));`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", script]);
    assert.deepEqual(await once(child, "exit"), [7, null]);
  });
});
