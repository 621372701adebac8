import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { describe, it } from "node:test";

import { Stage } from "./stage.ts";

async function stage(width = 80) {
  const lines: string[] = [];
  const stop = new AbortController();
  const set = await Stage.set({ show: (line) => lines.push(line), width, signal: stop.signal });
  return { set, lines, stop };
}

describe("Stage", () => {
  it("shows each command as a person would type it, and some of what it prints", async () => {
    const { set, lines } = await stage(20);
    await using _ = set;
    const words = ["sh", "-c", "printf '1\\n2\\n3\\nlong long long long'"];
    assert.equal(await set.type(words, { cwd: ".", shown: 2 }), "1\n2\n3\nlong long long long");
    assert.equal(lines[0], "$ sh -c 'printf '\\'…");
    assert.deepEqual(lines.slice(1), ["  1", "  2", "  … 2 more lines"]);
  });

  it("fails with what a command printed if it ends otherwise than expected", async () => {
    const { set } = await stage();
    await using _ = set;
    const words = ["sh", "-c", "echo why >&2; exit 3"];
    await assert.rejects(set.type(words, { cwd: "." }), { message: /ended with 3, not 0: why$/ });
    await set.type(words, { cwd: ".", code: 3 });
  });

  it("gives the lines of a program that goes on, and ends it with itself", async () => {
    const { set } = await stage();
    const cat = await set.start(["cat"], ".");
    cat.send("hello");
    assert.equal(await cat.line(), "hello");
    const { folder } = set;
    assert.ok(existsSync(folder));
    await set[Symbol.asyncDispose]();
    assert.ok(!existsSync(folder));
    await assert.rejects(cat.line(), { message: /'cat' ended early/ });
  });

  it("starts nothing after it was stopped", async () => {
    const { set, stop } = await stage();
    await using _ = set;
    stop.abort(new Error("stopped"));
    await assert.rejects(set.type(["true"], { cwd: "." }), { message: "stopped" });
  });
});
