import type { Writable } from "node:stream";

import { atMost } from "../../base/abort.ts";
import { aboutToSend, atTurnEnd, justSent } from "../../base/event-loop.ts";
import type { ByteReservation } from "../../base/limit/byte-budget.ts";
import { type ChannelLimits, ROOM, type Room, SlowReaderError } from "../channel.ts";

/**
 * The sending half of a channel over a Node stream. Everything sent in one turn of the event loop goes out
 * in one write. A slow reader makes senders wait; one that is too slow fails the channel.
 */
export function newOutbox(
  writable: Writable,
  limits: ChannelLimits,
  fail: (error: Error) => void,
  write: (text: string) => void = (text) => writable.write(text),
  holding?: ByteReservation,
) {
  let text = "";
  let scheduled = false;
  let closed = false;
  let ended: Promise<void> | undefined;
  let room: PromiseWithResolvers<void> | undefined;
  const flush = (): void => {
    scheduled = false;
    if (text === "") return;
    const framed = text;
    text = "";
    aboutToSend();
    write(framed);
    justSent();
    const unsent = writable.writableLength;
    if (unsent > limits.maxUnsent || holding?.set(unsent) === false) {
      fail(new SlowReaderError(unsent, limits.maxUnsent));
    }
    // Below its own high water the stream would never say that it has drained.
    const highWater = Math.max(limits.highWater, writable.writableHighWaterMark);
    if (unsent > highWater && !closed) room ??= Promise.withResolvers<void>();
  };
  /** Drops what is queued, and resolves the promises of senders that wait. */
  const stop = (): void => {
    closed = true;
    text = "";
    holding?.set(0);
    room?.resolve();
    room = undefined;
  };
  const end = async (): Promise<void> => {
    if (!closed && !writable.destroyed) {
      flush();
      closed = true;
      const over = Promise.withResolvers<void>();
      writable.once("close", over.resolve);
      writable.end(over.resolve);
      await atMost(limits.closeGrace, over.promise);
    }
    stop();
  };
  writable.on("drain", () => {
    holding?.set(writable.writableLength);
    room?.resolve();
    room = undefined;
  });
  writable.on("error", fail);
  return {
    /** Queues framed text. */
    send(framed: string): Room {
      if (closed) return ROOM;
      text += framed;
      if (!scheduled) {
        scheduled = true;
        atTurnEnd(flush);
      }
      if (text.length > limits.highWater && room === undefined) flush();
      return room?.promise ?? ROOM;
    },
    /** Writes what is queued, waits at most `grace` for the reader to take it, and ends the stream. */
    close(): Promise<void> {
      ended ??= end();
      return ended;
    },
    stop,
  };
}
