import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";

import {
  aboutToSend,
  afterSending,
  atTurnEnd,
  beforeSending,
  justSent,
  nextTurn,
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

  it("waits for the answer of which something is owed, though another message could be sent", async () => {
    const done: string[] = [];
    const send = (text: string): void => {
      atTurnEnd(() => {
        aboutToSend();
        done.push(text);
        justSent();
      });
    };
    const answer = async (): Promise<void> => {
      afterSending(() => done.push("owed"));
      // Through the waist and the peer, to the channel.
      for (let step = 0; step < 20; step++) await Promise.resolve();
      assert.deepEqual(done, []);
      send("answer");
    };
    send("of another");
    await answer();
    await nextTurn();
    assert.deepEqual(done, ["of another", "answer", "owed"]);
  });

  it("lets promises go on first that wait for what was read", async () => {
    const done: string[] = [];
    const answer = async (text: string, read: Promise<unknown>): Promise<void> => {
      await read;
      atTurnEnd(() => done.push(`sent ${text}`));
      done.push(text);
    };
    const read = Promise.withResolvers<void>();
    const answers = ["one", "two"].map((text) => answer(text, read.promise));
    read.resolve();
    await Promise.all(answers);
    await nextTurn();
    assert.deepEqual(done, ["one", "two", "sent one", "sent two"]);
  });
});

describe("beforeSending", () => {
  it("does all that is due before the first of the turn is sent, and what is owed after the last", async () => {
    const done: string[] = [];
    const send = (text: string): void => {
      atTurnEnd(() => {
        aboutToSend();
        done.push(text);
        justSent();
      });
    };
    send("first");
    beforeSending(() => done.push("due"));
    send("second");
    beforeSending(() => done.push("also due"));
    afterSending(() => done.push("owed"));
    assert.deepEqual(done, []);
    await nextTurn();
    assert.deepEqual(done, ["due", "also due", "first", "second", "owed"]);
  });

  it("does the others when one throws, and reports that", async () => {
    const program = `
      const { atTurnEnd, beforeSending } = await import(process.argv[1]);
      process.on("uncaughtException", ({ message }) => console.log("uncaught: " + message));
      beforeSending(() => {});
      atTurnEnd(() => console.log("first"));
      atTurnEnd(() => { throw new Error("closed"); });
      atTurnEnd(() => console.log("last"));
    `;
    const options = ["--input-type=module", "--eval", program];
    const module = join(import.meta.dirname, "event-loop.ts");
    const { stdout } = await promisify(execFile)(process.execPath, [...options, module]);
    assert.equal(stdout, "first\nlast\nuncaught: closed\n");
  });
});
