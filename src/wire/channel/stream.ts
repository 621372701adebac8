import type { Readable, Writable } from "node:stream";

import { FULL_READ, nextTurn } from "../../base/event-loop.ts";
import { type Channel, type ChannelLimits, resolveChannelLimits, type Sink } from "../channel.ts";
import { ndjson, type StreamFraming } from "../framing/ndjson.ts";
import { newOutbox } from "./outbox.ts";
import { readHold } from "./read-hold.ts";

export interface StreamChannelOptions {
  readonly limits?: Partial<ChannelLimits>;
  /** By default one message a line. */
  readonly framing?: StreamFraming;
  /** Replaces the writable's own `write`, where that is redirected (see `stdioChannel`). */
  readonly write?: (text: string) => void;
  /** Whether a line that is not a JSON object is a message. By default all are. */
  readonly isMessage?: (line: string) => boolean;
}

const BRACE = 0x7b;

/**
 * A channel of texts, one a line unless they are framed otherwise, over a pair of byte streams: a process's standard streams, a
 * child's pipes, a socket.
 */
export function streamChannel(
  readable: Readable,
  writable: Writable,
  { limits: given, framing = ndjson, write, isMessage }: StreamChannelOptions = {},
): Channel<string> {
  const limits = resolveChannelLimits(given);
  let receiver: Sink<string> | undefined;
  const reading = readHold(readable);
  let failure: Error | undefined;
  let inputOver = false;
  const abort = (reason: Error): void => {
    failure ??= reason;
    outbox.stop();
    readable.destroy();
    writable.destroy();
    die(reason);
  };
  const die = (error: Error): void => {
    const sink = receiver;
    receiver = undefined;
    sink?.end(error);
  };
  const decoder = framing.decoder(limits.maxMessage, {
    text: (message) => {
      // Almost all are objects, which are messages everywhere.
      if (message.charCodeAt(0) !== BRACE && isMessage?.(message) === false) return;
      const hold = receiver?.message(message);
      if (hold !== undefined) reading.until(hold);
    },
    fault: (fault) => receiver?.fault(fault),
  });
  const outbox = newOutbox(writable, limits, abort, write);
  readable.on("error", abort);
  return {
    receive(sink) {
      receiver = sink;
      if (failure !== undefined || readable.destroyed) {
        die(failure ?? new Error("Input was cut off"));
        return;
      }
      readable.on("data", (chunk: Buffer) => {
        decoder.push(chunk);
        if (chunk.length >= FULL_READ) reading.until(nextTurn());
      });
      readable.on("end", () => {
        decoder.end();
        inputOver = true;
        receiver?.end();
        if (writable.closed) die(new Error("The peer has gone"));
      });
      readable.on("close", () => {
        if (!inputOver) die(new Error("Input was cut off"));
      });
      // The other side may stop reading and go on sending. It is gone only when both have ended.
      writable.on("close", () => {
        if (inputOver) die(new Error("The peer has gone"));
      });
    },
    send: (message) => outbox.send(framing.encode(message)),
    abort,
    async [Symbol.asyncDispose]() {
      receiver = undefined;
      await outbox.close();
      readable.destroy();
      writable.destroy();
    },
  };
}
