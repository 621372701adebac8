import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { resolveChannelLimits } from "../../../wire/channel.ts";
import { HttpConnection } from "./acp-http.ts";

/** A connection whose reader wants a pause after each message, until it is told to read on. */
class Slow {
  readonly connection = new HttpConnection(resolveChannelLimits({ maxUnsent: 10 }), "me");
  readonly read: string[] = [];
  readonly settled: string[] = [];
  #room = Promise.withResolvers<void>();

  constructor() {
    this.connection.receive({
      message: (text) => {
        this.read.push(text);
        return this.#room.promise;
      },
      fault: () => {},
      end: () => {},
    });
  }

  post(text: string): boolean {
    const settle = (isRead: boolean): void =>
      void this.settled.push(`${text} ${isRead ? "read" : "dropped"}`);
    return this.connection.take({ text, id: undefined, sessionId: undefined, settle });
  }

  async readOn(): Promise<void> {
    this.#room.resolve();
    this.#room = Promise.withResolvers();
    await new Promise(setImmediate);
  }
}

describe("a connection over HTTP", () => {
  it("leaves posted messages unread while its reader pauses, and keeps the order", async () => {
    const slow = new Slow();
    for (const text of ["a", "b", "c"]) assert.ok(slow.post(text));
    assert.deepEqual([slow.read, slow.settled], [["a"], ["a read"]]);
    await slow.readOn();
    assert.deepEqual(
      [slow.read, slow.settled],
      [
        ["a", "b"],
        ["a read", "b read"],
      ],
    );
    await slow.readOn();
    assert.deepEqual(slow.read, ["a", "b", "c"]);
    await slow.readOn();
    assert.ok(slow.post("d"));
    assert.deepEqual(slow.read, ["a", "b", "c", "d"]);
  });

  it("accepts no more than its limit, and more once that is read", async () => {
    const slow = new Slow();
    assert.ok(slow.post("first"));
    assert.ok(slow.post("x".repeat(10)));
    assert.equal(slow.post("y"), false);
    await slow.readOn();
    assert.ok(slow.post("y"));
    assert.equal(slow.read.length, 2);
  });

  it("reports what it holds as unread when it ends", async () => {
    const slow = new Slow();
    for (const text of ["a", "b"]) slow.post(text);
    await slow.connection[Symbol.asyncDispose]();
    await slow.readOn();
    assert.deepEqual([slow.read, slow.settled], [["a"], ["a read", "b dropped"]]);
  });
});
