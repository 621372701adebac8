import type { Writable } from "node:stream";

import { atMost } from "../../base/abort.ts";
import { aboutToSend, atTurnEnd, justSent } from "../../base/event-loop.ts";
import type { ByteReservation } from "../../base/limit/byte-budget.ts";
import { type ChannelLimits, ROOM, type Room, SlowReaderError } from "../channel.ts";

/**
 * The sending half of a channel over a Node stream. Everything sent in one turn of the event loop goes out
 * in one write. A slow reader makes senders wait; one that is too slow fails the channel.
 */
export class Outbox {
  readonly #writable: Writable;
  readonly #limits: ChannelLimits;
  readonly #fail: (error: Error) => void;
  readonly #write: (text: string) => void;
  /** Set if the reader is not trusted: unsent bytes then count against the budget of the process. */
  readonly #holding: ByteReservation | undefined;
  #text = "";
  #scheduled = false;
  #closed = false;
  #ended: Promise<void> | undefined;
  #room: PromiseWithResolvers<void> | undefined;

  /** `write` replaces the stream's own method, where that is redirected (see `stdioChannel`). */
  constructor(
    writable: Writable,
    limits: ChannelLimits,
    fail: (error: Error) => void,
    write: (text: string) => void = (text) => writable.write(text),
    holding?: ByteReservation,
  ) {
    this.#holding = holding;
    this.#writable = writable;
    this.#write = write;
    this.#limits = limits;
    this.#fail = fail;
    writable.on("drain", () => this.#drained());
    writable.on("error", fail);
  }

  /** Queues framed text. */
  send(framed: string): Room {
    if (this.#closed) return ROOM;
    this.#text += framed;
    if (!this.#scheduled) {
      this.#scheduled = true;
      atTurnEnd(this.#flush);
    }
    if (this.#text.length > this.#limits.highWater && this.#room === undefined) this.#flush();
    return this.#room?.promise ?? ROOM;
  }

  /** Writes what is queued, waits at most `grace` for the reader to take it, and ends the stream. */
  close(): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  /** Drops what is queued, and resolves the promises of senders that wait. */
  stop(): void {
    this.#closed = true;
    this.#text = "";
    this.#holding?.set(0);
    this.#room?.resolve();
    this.#room = undefined;
  }

  async #end(): Promise<void> {
    if (!this.#closed && !this.#writable.destroyed) await this.#endStream();
    this.stop();
  }

  async #endStream(): Promise<void> {
    this.#flush();
    this.#closed = true;
    const ended = Promise.withResolvers<void>();
    this.#writable.once("close", ended.resolve);
    this.#writable.end(ended.resolve);
    await atMost(this.#limits.closeGrace, ended.promise);
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    if (this.#text === "") return;
    const text = this.#text;
    this.#text = "";
    aboutToSend();
    this.#write(text);
    justSent();
    const unsent = this.#writable.writableLength;
    if (unsent > this.#limits.maxUnsent || this.#holding?.set(unsent) === false) {
      this.#fail(new SlowReaderError(unsent, this.#limits.maxUnsent));
    }
    // Below its own high water the stream would never say that it has drained.
    const highWater = Math.max(this.#limits.highWater, this.#writable.writableHighWaterMark);
    if (unsent > highWater && !this.#closed) this.#room ??= Promise.withResolvers<void>();
  };

  #drained(): void {
    this.#holding?.set(this.#writable.writableLength);
    this.#room?.resolve();
    this.#room = undefined;
  }
}
