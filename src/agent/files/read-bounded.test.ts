import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { OwnedChild } from "../../base/process/child-process.ts";
import { BoundedText, readBounded } from "./read-bounded.ts";

async function run(line: string, options: { timeout?: number; signal?: AbortSignal } = {}) {
  const child = await OwnedChild.start({ command: "/bin/sh", args: ["-c", line], env: {} });
  child.stdin.end();
  return readBounded(child, { most: 1_000, ...options });
}

describe("BoundedText", () => {
  it("keeps a text that fits unchanged", () => {
    const text = new BoundedText(100);
    for (let time = 0; time < 10; time++) text.add("0123456789");
    assert.equal(text.settle().text, "0123456789".repeat(10));
    assert.equal(text.isCut, false);
  });

  it("keeps the beginning and the end of a longer text, and says how much was left out", () => {
    const text = new BoundedText(100);
    for (let at = 0; at < 1_000; at++) text.add(`${at},`);
    const kept = text.settle().text;
    const all = Array.from({ length: 1_000 }, (_, at) => `${at},`).join("");
    assert.equal(text.isCut, true);
    assert.ok(kept.startsWith(all.slice(0, 25)) && kept.endsWith(all.slice(-75)), kept);
    assert.match(kept, new RegExp(`\\(${all.length - 100} characters left out\\)`));
  });

  it("gives each part once, where it is taken", () => {
    const text = new BoundedText(16);
    text.add("one ");
    text.add("two");
    assert.equal(text.isEmpty, false);
    assert.equal(text.take(), "one two");
    assert.equal(text.isEmpty, true);
    for (let piece = 0; piece < 50; piece++) text.add("abcdefghij");
    text.add("the end");
    assert.equal(text.take(), "abcd\n\u2026 (491 characters left out) \u2026\nfghijthe end");
    text.add("!");
    assert.equal(text.take(), "!");
  });

  it("accepts one piece of any size", () => {
    const text = new BoundedText(8);
    text.add("x".repeat(1_000_000));
    assert.ok(text.settle().text.length < 60);
  });
});

describe("readBounded()", () => {
  it("returns the output and the exit status", async () => {
    const { text, exit, isLate, isCut } = await run("echo out; exit 3");
    assert.deepEqual(
      { text, exit, isLate, isCut },
      { text: "out\n", exit: 3, isLate: false, isCut: false },
    );
  });

  it("kills a program that takes too long, with everything it started", async () => {
    const { isLate, exit } = await run("sleep 1000 & sleep 1000", { timeout: 50 });
    assert.deepEqual([isLate, exit], [true, "SIGKILL"]);
  });

  it("rejects with the reason when it is cancelled", async () => {
    const controller = new AbortController();
    const running = run("sleep 1000", { signal: controller.signal });
    controller.abort(new Error("cancelled"));
    await assert.rejects(running, /cancelled/);
  });

  it("does not wait for descendants that hold the output open after the end", async () => {
    const { text, exit } = await run("sleep 1000 & echo done");
    assert.deepEqual([text, exit], ["done\n", 0]);
  });
});
