import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import { describe, it } from "node:test";

import { readInto } from "./read-into.ts";

/** Two ends of a connection. */
async function pair(): Promise<{ near: Socket; far: Socket } & AsyncDisposable> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const far = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [near] = (await once(server, "connection")) as [Socket];
  const close = async (): Promise<void> => {
    near.destroy();
    far.destroy();
    server.close();
    await once(server, "close");
  };
  return { near, far, [Symbol.asyncDispose]: close };
}

/** What comes, with the memory that it was lent in. */
class Taken {
  text = "";
  readonly memory = new Set<ArrayBufferLike>();
  #more = Promise.withResolvers<void>();

  readonly take = (bytes: Buffer): void => {
    this.text += bytes.toString();
    this.memory.add(bytes.buffer);
    this.#more.resolve();
  };

  async until(text: string): Promise<void> {
    while (this.text.length < text.length) {
      await this.#more.promise;
      this.#more = Promise.withResolvers<void>();
    }
    assert.equal(this.text, text);
  }
}

describe("readInto", { timeout: 60_000 }, () => {
  it("reads into the same memory, and to the end", async () => {
    await using sockets = await pair();
    const taken = new Taken();
    readInto(sockets.near, taken.take);
    const ended = once(sockets.near, "end");
    sockets.far.write("one ");
    await taken.until("one ");
    sockets.far.end("two");
    await taken.until("one two");
    await ended;
    assert.equal(taken.memory.size, 1);
  });

  it("reads nothing while it is paused", async () => {
    await using sockets = await pair();
    const taken = new Taken();
    readInto(sockets.near, (bytes) => {
      taken.take(bytes);
      sockets.near.pause();
    });
    sockets.far.write("one ");
    await taken.until("one ");
    sockets.far.write("two");
    // An answer has gone there and back.
    sockets.near.write("?");
    await once(sockets.far, "data");
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(taken.text, "one ");
    sockets.near.resume();
    await taken.until("one two");
  });

  it("loses nothing that was read before", async () => {
    await using sockets = await pair();
    const taken = new Taken();
    sockets.far.write("one ");
    await once(sockets.near, "readable");
    readInto(sockets.near, taken.take);
    sockets.far.write("two");
    await taken.until("one two");
  });

  it("reads what is no socket, too", async () => {
    const stream = new PassThrough();
    const taken = new Taken();
    readInto(stream, taken.take);
    stream.write("one ");
    stream.end("two");
    await taken.until("one two");
  });
});
