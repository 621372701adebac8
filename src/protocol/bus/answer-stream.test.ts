import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { BidiStream } from "../../wire/quic/connection.ts";
import { answersOn } from "./frame-stream.ts";
import { encodeResponse, type ResponseInit } from "./codec.ts";

/** A stream on which a test says what comes. */
class Scripted implements BidiStream {
  readonly signal = new AbortController().signal;
  readonly #frames: Buffer[] = [];
  #wake = Promise.withResolvers<void>();
  #isEnded = false;
  readonly events: string[] = [];

  say(...responses: NonNullable<ResponseInit["response"]>[]): void {
    this.#frames.push(...responses.map((response) => encodeResponse({ requestId: "1", response })));
    this.#wake.resolve();
  }

  close(): void {
    this.#isEnded = true;
    this.#wake.resolve();
  }

  async *chunks(): AsyncGenerator<Buffer, void, void> {
    for (;;) {
      const frame = this.#frames.shift();
      if (frame !== undefined) yield frame;
      else if (this.#isEnded) break;
      else {
        await this.#wake.promise;
        this.#wake = Promise.withResolvers();
      }
    }
    this.events.push("read to its end");
  }

  reset(): void {
    this.events.push("reset");
    this.close();
  }

  async write(): Promise<void> {}
  async end(): Promise<void> {}

  readAll(): never {
    throw new Error("Nobody reads all of it");
  }
}

const chunk = (sequence: bigint) =>
  ({ case: "streamChunk", value: { streamId: "s", sequence } }) as const;
const END = { case: "streamEnd", value: { streamId: "s", success: true } } as const;

describe("answersOn()", () => {
  it("yields the answers, and reads the stream to its end after the last one", async () => {
    const stream = new Scripted();
    stream.say(chunk(0n), END);
    let cancels = 0;
    const seen: (string | undefined)[] = [];
    for await (const { response } of answersOn(stream, { cancel: () => cancels++ })) {
      seen.push(response.case);
      if (response.case === "streamEnd") break;
    }
    assert.deepEqual(seen, ["streamChunk", "streamEnd"]);
    assert.deepEqual(stream.events, []);
    stream.close();
    await new Promise(setImmediate);
    assert.equal(stream.events[0], "read to its end");
    assert.equal(cancels, 0);
  });

  it("throws at once when it is cancelled, tells the other side, and drops later answers", async () => {
    const stream = new Scripted();
    const controller = new AbortController();
    const told: string[] = [];
    const answers = answersOn(stream, {
      signal: controller.signal,
      cancel: () => told.push("cancel"),
    });
    stream.say(chunk(0n));
    await answers.next();
    const next = answers.next();
    controller.abort(new Error("never mind"));
    await assert.rejects(next, { message: "never mind" });
    assert.deepEqual([told, stream.events], [["cancel"], []]);
    stream.say(chunk(1n), chunk(2n), END);
    stream.close();
    await new Promise(setImmediate);
    assert.equal(stream.events[0], "read to its end");
  });

  it("throws at the next answer if it was cancelled in between", async () => {
    const stream = new Scripted();
    const controller = new AbortController();
    const answers = answersOn(stream, { signal: controller.signal, cancel: () => {} });
    stream.say(chunk(0n), chunk(1n));
    await answers.next();
    controller.abort(new Error("never mind"));
    await assert.rejects(answers.next(), { message: "never mind" });
    stream.close();
  });

  it("aborts a stream that the cancellation cannot reach, or that does not end", async (t) => {
    const bare = new Scripted();
    bare.say(chunk(0n));
    for await (const _ of answersOn(bare, {})) break;
    assert.deepEqual(bare.events, ["reset"]);

    t.mock.timers.enable({ apis: ["setTimeout"] });
    const deaf = new Scripted();
    deaf.say(chunk(0n));
    for await (const _ of answersOn(deaf, { cancel: () => {} })) break;
    assert.deepEqual(deaf.events, []);
    t.mock.timers.tick(2_000);
    assert.deepEqual(deaf.events, ["reset"]);
  });
});
