import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, it } from "node:test";

import { closeStreams } from "./close-streams.ts";

function block(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

describe("closeStreams()", { timeout: 60_000 }, () => {
  it("lets a busy process read what a program wrote before it exited", async () => {
    const late = spawn("sh", ["-c", "sleep 0.2; echo written"]);
    let text = "";
    late.stdout.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    late.on("exit", () => closeStreams(late.stdout, late.stderr));
    const closed = once(late, "close");
    // The output and the exit of this one come in one turn of the event loop. While its output is
    // looked at, the other program ends, whose exit is then noticed ahead of what it wrote; and when
    // that turn is over, its time has passed.
    const early = spawn("echo", ["early"]);
    early.stdout.once("data", () => block(400));
    early.on("exit", () => block(400));
    block(100);
    await closed;
    assert.equal(text, "written\n");
  });

  it("does not wait for what a program leaves running", async () => {
    const child = spawn("sh", ["-c", "echo written; sleep 60 & echo $! >&2"]);
    const [said, pid] = [once(child.stdout, "data"), once(child.stderr, "data")];
    const closed = once(child, "close");
    child.on("exit", () => closeStreams(child.stdout, child.stderr));
    assert.equal(String(await said), "written\n");
    await closed;
    process.kill(Number(await pid), "SIGKILL");
  });
});
