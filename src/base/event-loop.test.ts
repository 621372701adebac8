import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";

import {
  afterSending,
  atTurnEnd,
  beforeSending,
  nextTurn,
  now,
  readTime,
  sendWithTurn,
} from "./event-loop.ts";

describe("atTurnEnd", () => {
  it("runs all work of a turn after it, in its order and before anything goes on, and once", async () => {
    const done: string[] = [];
    const goOn = async (after: Promise<void>): Promise<void> => {
      await after;
      done.push("went on");
    };
    const first = Promise.withResolvers<void>();
    atTurnEnd(() => {
      done.push("first");
      first.resolve();
      atTurnEnd(() => done.push("of the next turn"));
    });
    beforeSending(() => done.push("due"));
    atTurnEnd(() => done.push("last"));
    const going = goOn(first.promise);
    assert.deepEqual(done, []);
    await going;
    assert.deepEqual(done, ["first", "due", "last", "went on"]);
    await nextTurn();
    await nextTurn();
    assert.deepEqual(done, ["first", "due", "last", "went on", "of the next turn"]);
  });
});

describe("sendWithTurn", () => {
  it("sends at once where nothing is due, else when all of it is done", async () => {
    const done: string[] = [];
    sendWithTurn(() => done.push("first"));
    assert.deepEqual(done, ["first"]);
    beforeSending(() => done.push("due"));
    sendWithTurn(() => done.push("second"));
    beforeSending(() => done.push("also due"));
    sendWithTurn(() => done.push("third"));
    afterSending(() => done.push("owed"));
    assert.deepEqual(done, ["first"]);
    await nextTurn();
    assert.deepEqual(done, ["first", "due", "also due", "second", "third", "owed"]);
  });

  it("sends the others when one throws, and reports that", async () => {
    const program = `
      const { atTurnEnd, beforeSending, sendWithTurn } = await import(process.argv[1]);
      process.on("uncaughtException", ({ message }) => console.log("uncaught: " + message));
      beforeSending(() => {});
      sendWithTurn(() => console.log("first"));
      sendWithTurn(() => { throw new Error("closed"); });
      sendWithTurn(() => console.log("last"));
      atTurnEnd(() => { throw new Error("ended"); });
      atTurnEnd(() => console.log("end"));
    `;
    const options = ["--input-type=module", "--eval", program];
    const module = join(import.meta.dirname, "event-loop.ts");
    const { stdout } = await promisify(execFile)(process.execPath, [...options, module]);
    assert.equal(stdout, "first\nlast\nend\nuncaught: closed\nuncaught: ended\n");
  });
});

describe("readTime", () => {
  it("is when a callback first asked for it, on the clock of now()", async () => {
    const before = now();
    const first = readTime();
    const after = now();
    assert.ok(before <= first && first <= after, `${before} ${first} ${after}`);
    assert.equal(readTime(), first);
    await nextTurn();
    assert.ok(readTime() >= after);
  });
});
