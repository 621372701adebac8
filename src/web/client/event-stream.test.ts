import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";

import { EventStream } from "./event-stream.ts";

/** A server whose answers the test writes. */
class Rig implements AsyncDisposable {
  readonly #server = createServer((request, response) =>
    this.#came.emit("request", request, response),
  );
  readonly #came = new EventEmitter();
  readonly #waiting: [IncomingMessage, ServerResponse][] = [];
  readonly seen: string[] = [];
  readonly changed = new EventEmitter();
  stream: EventStream | undefined;

  static async start(): Promise<Rig> {
    const rig = new Rig();
    rig.#came.on("request", (...pair: [IncomingMessage, ServerResponse]) => {
      rig.#waiting.push(pair);
      rig.#came.emit("queued");
    });
    rig.#server.listen(0, "127.0.0.1");
    await once(rig.#server, "listening");
    return rig;
  }

  open(silence?: number): EventStream {
    const { port } = this.#server.address() as AddressInfo;
    this.stream = new EventStream({
      url: () => `http://127.0.0.1:${port}/`,
      backoff: { first: 1, longest: 5 },
      ...(silence === undefined ? {} : { silence }),
      onEvent: ({ data }) => this.#note(data),
      onState: ({ is }) => this.#note(is),
    });
    return this.stream;
  }

  async next(): Promise<[IncomingMessage, ServerResponse]> {
    while (this.#waiting.length === 0) await once(this.#came, "queued");
    return this.#waiting.shift()!;
  }

  async until(text: string): Promise<void> {
    while (!this.seen.includes(text)) await once(this.changed, "change");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stream?.close();
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  #note(text: string): void {
    this.seen.push(text);
    this.changed.emit("change");
  }
}

test("EventStream goes on after the last complete event when the connection is lost", async () => {
  await using rig = await Rig.start();
  rig.open();
  const [first, answer] = await rig.next();
  assert.equal(first.headers["last-event-id"], undefined);
  answer.writeHead(200, { "content-type": "text/event-stream" });
  answer.write("id: 1\ndata: one\n\nid: 2\ndata: tw");
  await rig.until("one");
  answer.destroy();
  const [second, again] = await rig.next();
  assert.equal(second.headers["last-event-id"], "1");
  again.writeHead(200, { "content-type": "text/event-stream" });
  again.write("id: 2\ndata: two\n\n");
  await rig.until("two");
  assert.deepEqual(rig.seen, ["connecting", "live", "one", "waiting", "connecting", "live", "two"]);
});

test("EventStream tries again after an error status, and ends when it is not let in", async () => {
  await using rig = await Rig.start();
  rig.open();
  (await rig.next())[1].writeHead(503).end();
  (await rig.next())[1].writeHead(401).end();
  await rig.until("refused");
  assert.deepEqual(rig.seen, ["connecting", "waiting", "connecting", "refused"]);
});

test("EventStream takes a silent connection for dead", async () => {
  await using rig = await Rig.start();
  rig.open(20);
  (await rig.next())[1].writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
  await rig.next();
  assert.ok(rig.seen.includes("waiting"));
});
