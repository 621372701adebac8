import assert from "node:assert/strict";
import { mkdtempDisposableSync, readFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, it } from "node:test";

import { holdSecret } from "../../base/text/mask.ts";
import { openOutput, type SetupOutputOptions } from "./run-steps.ts";

/** The log and messages for an output that comes in these pieces. */
async function outputOf(pieces: readonly string[], more: Partial<SetupOutputOptions> = {}) {
  using home = mkdtempDisposableSync(join(tmpdir(), "output-"));
  const path = join(home.path, "log");
  const told: string[] = [];
  holdSecret("secret-0123");
  const options = { path, tell: (line: string) => told.push(line), ...more };
  const output = openOutput(options);
  await output.take(Readable.from(pieces.map((piece) => Buffer.from(piece))));
  await output[Symbol.asyncDispose]();
  return { told, tail: output.tail, log: readFileSync(path, "utf8"), mode: statSync(path).mode };
}

describe("SetupOutput", () => {
  it("writes all lines to a file that only we can read, and keeps the last ones", async () => {
    const lines = Array.from({ length: 50 }, (_, index) => `line ${index}`);
    const { log, tail, mode } = await outputOf([lines.join("\n")]);
    assert.equal(log, `${lines.join("\n")}\n`);
    assert.deepEqual(tail, lines.slice(-20));
    assert.equal(mode & 0o777, 0o600);
  });

  it("passes on only some of the lines as they come", async () => {
    const { told } = await outputOf(["one\ntwo\nthree\n"], { tellEvery: 60_000 });
    assert.deepEqual(told, ["one"]);
  });

  it("masks a secret that comes in pieces, even in a line that does not end", async () => {
    const long = "x".repeat(100_000);
    const { log, tail } = await outputOf([long, "sec", "ret-0", "123", long, "\nsecret-0123\n"]);
    assert.ok(!log.includes("secret-0123"));
    assert.equal(tail.at(-1), "•••");
    assert.ok(log.length > 200_000);
  });

  it("removes colours, and takes each state of a redrawn line as a line", async () => {
    const { tail } = await outputOf(["\u001b[32mgreen\u001b[0m\r10 %\r20 %\n\n"]);
    assert.deepEqual(tail, ["green", "10 %", "20 %"]);
  });

  it("ends a log that grows too long, and says so", async () => {
    const { log } = await outputOf(["a\n".repeat(100)], { most: 20 });
    assert.equal(log, `${"a\n".repeat(10)}(The log ends here: it is over 20 bytes.)\n`);
  });

  it("continues if the file cannot be written", async () => {
    const told: string[] = [];
    const options = { path: "/nowhere/log", tell: (line: string) => told.push(line) };
    await using output = openOutput(options);
    output.line("one");
    await new Promise((resolve) => setTimeout(resolve, 20));
    output.line("two");
    assert.deepEqual(output.tail, ["one", "two"]);
  });
});
