import { atMost } from "../../base/abort.ts";
import {
  type Channel,
  type ChannelLimits,
  resolveChannelLimits,
  ROOM,
  type Sink,
  SlowReaderError,
} from "../channel.ts";

/**
 * Two ends of one conversation inside this process. Messages cross in a later turn of the event
 * loop, as they do over a real transport, so no code comes to rely on being called inside `send`.
 */
export function memoryPair(limits: Partial<ChannelLimits> = {}): [MemoryChannel, MemoryChannel] {
  const resolved = resolveChannelLimits(limits);
  const there = new Pipe(resolved);
  const back = new Pipe(resolved);
  return [new MemoryChannel(back, there), new MemoryChannel(there, back)];
}

export class MemoryChannel implements Channel<string> {
  readonly #input: Pipe;
  readonly #output: Pipe;

  constructor(input: Pipe, output: Pipe) {
    this.#input = input;
    this.#output = output;
  }

  receive(sink: Sink<string>): void {
    this.#input.open(sink);
  }

  send(message: string): Promise<void> {
    const room = this.#output.push(message);
    if (room instanceof Promise) return room;
    this.abort(room);
    return ROOM;
  }

  abort(reason: Error): void {
    this.#input.fail(reason);
    this.#output.fail(new Error(`Peer gave up: ${reason.message}`, { cause: reason }));
  }

  /** Ends the output of this side; it still reads, like a program that has closed its stdout. */
  finish(): Promise<void> {
    return this.#output.finish();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#input.detach();
    await this.finish();
  }
}

/** One direction: a bounded queue from a sender to a sink. */
class Pipe {
  readonly #limits: ChannelLimits;
  #sink: Sink<string> | undefined;
  #queue: string[] = [];
  #size = 0;
  #scheduled = false;
  /** Promises for which delivery is held. */
  #holds = 0;
  #ending = false;
  #room: PromiseWithResolvers<void> | undefined;
  readonly #over = Promise.withResolvers<void>();

  constructor(limits: ChannelLimits) {
    this.#limits = limits;
  }

  open(sink: Sink<string>): void {
    this.#sink = sink;
    this.#schedule();
  }

  push(message: string): Promise<void> | SlowReaderError {
    if (this.#ending) return ROOM;
    this.#queue.push(message);
    this.#size += message.length;
    this.#schedule();
    if (this.#size <= this.#limits.highWater) return ROOM;
    if (this.#size > this.#limits.maxUnsent) {
      return new SlowReaderError(this.#size, this.#limits.maxUnsent);
    }
    this.#room ??= Promise.withResolvers<void>();
    return this.#room.promise;
  }

  /** The sender is done: what is queued is still delivered. */
  async finish(): Promise<void> {
    this.#ending = true;
    this.#schedule();
    await atMost(this.#limits.closeGrace, this.#over.promise);
  }

  fail(error: Error): void {
    this.#queue = [];
    this.#end(error);
  }

  /** The reader is gone: nothing more is delivered, and nobody waits for it. */
  detach(): void {
    this.#sink = undefined;
    this.#queue = [];
    this.#end();
  }

  #schedule(): void {
    if (this.#scheduled || this.#holds > 0 || this.#sink === undefined) return;
    this.#scheduled = true;
    setImmediate(this.#deliver);
  }

  readonly #deliver = (): void => {
    this.#scheduled = false;
    const messages = this.#queue;
    this.#queue = [];
    this.#size = 0;
    for (const message of messages) {
      const size = Buffer.byteLength(message);
      if (size > this.#limits.maxMessage) {
        this.#oversize(message, size);
        continue;
      }
      const hold = this.#sink?.message(message);
      if (hold !== undefined) this.#holdUntil(hold);
    }
    if (this.#holds === 0) this.#drained();
  };

  #oversize(message: string, size: number): void {
    const limit = this.#limits.maxMessage;
    const head = message.slice(0, 4096);
    this.#sink?.fault({ kind: "oversize", size, limit, head, tail: message.slice(-256) });
  }

  #holdUntil(hold: Promise<void>): void {
    this.#holds++;
    const release = (): void => {
      this.#holds--;
      if (this.#holds === 0) this.#drained();
    };
    hold.then(release, release);
  }

  #drained(): void {
    this.#room?.resolve();
    this.#room = undefined;
    if (this.#queue.length > 0) this.#schedule();
    else if (this.#ending) this.#end();
  }

  #end(error?: Error): void {
    this.#ending = true;
    this.#room?.resolve();
    this.#over.resolve();
    const sink = this.#sink;
    this.#sink = undefined;
    sink?.end(error);
  }
}
