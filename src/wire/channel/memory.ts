import { atMost } from "../../base/abort.ts";
import { resolveChannelLimits, ROOM, SlowReaderError } from "../channel.ts";
import type { ChannelLimits, Sink } from "../channel.ts";

/**
 * Two ends of one conversation inside this process. Messages cross in a later turn of the event
 * loop, as they do over a real transport, so no code comes to rely on being called inside `send`.
 */
export function memoryPair(limits: Partial<ChannelLimits> = {}): [MemoryChannel, MemoryChannel] {
  const resolved = resolveChannelLimits(limits);
  const there = memoryPipe(resolved);
  const back = memoryPipe(resolved);
  return [memoryChannel(back, there), memoryChannel(there, back)];
}

export type MemoryChannel = ReturnType<typeof memoryChannel>;

function memoryChannel(input: Pipe, output: Pipe) {
  const abort = (reason: Error): void => {
    input.fail(reason);
    output.fail(new Error(`Peer gave up: ${reason.message}`, { cause: reason }));
  };
  return {
    receive: (sink: Sink<string>): void => input.open(sink),
    send: (message: string): Promise<void> => {
      const room = output.push(message);
      if (room instanceof Promise) return room;
      abort(room);
      return ROOM;
    },
    abort,
    /** Ends the output of this side; it still reads, like a program that has closed its stdout. */
    finish: (): Promise<void> => output.finish(),
    [Symbol.asyncDispose]: (): Promise<void> => {
      input.detach();
      return output.finish();
    },
  };
}

/** One direction: a bounded queue from a sender to a sink. */
type Pipe = ReturnType<typeof memoryPipe>;

function memoryPipe(limits: ChannelLimits) {
  let receiver: Sink<string> | undefined;
  let queue: string[] = [];
  let size = 0;
  let scheduled = false;
  /** Promises for which delivery is held. */
  let holds = 0;
  let ending = false;
  let room: PromiseWithResolvers<void> | undefined;
  const over = Promise.withResolvers<void>();
  const deliver = (): void => {
    scheduled = false;
    const messages = queue;
    queue = [];
    size = 0;
    for (const message of messages) {
      const bytes = Buffer.byteLength(message);
      if (bytes > limits.maxMessage) {
        oversize(message, bytes);
        continue;
      }
      const hold = receiver?.message(message);
      if (hold !== undefined) holdUntil(hold);
    }
    if (holds === 0) drained();
  };
  const schedule = (): void => {
    if (scheduled || holds > 0 || receiver === undefined) return;
    scheduled = true;
    setImmediate(deliver);
  };
  const oversize = (message: string, bytes: number): void => {
    const ends = { head: message.slice(0, 4096), tail: message.slice(-256) };
    receiver?.fault({ kind: "oversize", size: bytes, limit: limits.maxMessage, ...ends });
  };
  const holdUntil = (hold: Promise<void>): void => {
    holds++;
    const release = (): void => {
      holds--;
      if (holds === 0) drained();
    };
    hold.then(release, release);
  };
  const drained = (): void => {
    room?.resolve();
    room = undefined;
    if (queue.length > 0) schedule();
    else if (ending) end();
  };
  const end = (error?: Error): void => {
    ending = true;
    room?.resolve();
    over.resolve();
    const sink = receiver;
    receiver = undefined;
    sink?.end(error);
  };
  return {
    open(sink: Sink<string>): void {
      receiver = sink;
      schedule();
    },
    push(message: string): Promise<void> | SlowReaderError {
      if (ending) return ROOM;
      queue.push(message);
      size += message.length;
      schedule();
      if (size <= limits.highWater) return ROOM;
      if (size > limits.maxUnsent) return new SlowReaderError(size, limits.maxUnsent);
      room ??= Promise.withResolvers<void>();
      return room.promise;
    },
    /** The sender is done: what is queued is still delivered. */
    async finish(): Promise<void> {
      ending = true;
      schedule();
      await atMost(limits.closeGrace, over.promise);
    },
    fail(error: Error): void {
      queue = [];
      end(error);
    },
    /** The reader is gone: nothing more is delivered, and nobody waits for it. */
    detach(): void {
      receiver = undefined;
      queue = [];
      end();
    },
  };
}
