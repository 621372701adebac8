import { DEFAULT_LIMITS } from "../base/limit/limits.ts";

/** Why one frame could not be delivered. The conversation goes on after it. */
export interface FrameFault {
  /** `busy`: the process holds too much already, and may have room later. */
  readonly kind: "oversize" | "encoding" | "busy";
  /** Bytes of the frame in all, including those that were discarded. */
  readonly size: number;
  readonly limit: number;
  /** The first and the last bytes of the frame, decoded loosely: enough to recover an id. */
  readonly head: string;
  readonly tail: string;
}

/** Where a channel delivers what arrives. Calls come in order and never overlap. */
export interface Sink<M> {
  /**
   * One whole message. A returned promise asks the channel to hold further input until it settles;
   * messages already read may still arrive meanwhile. `parsed` is its value, if that is known.
   */
  message(message: M, parsed?: unknown): void | Room;
  /** A frame that could not be read. */
  fault(fault: FrameFault): void;
  /**
   * Our request with this id will get no answer, because its transport failed. Only channels that carry each
   * request on its own, such as HTTP, report this; the conversation goes on.
   */
  lost?(id: string | number, error: Error): void;
  /**
   * The end of input; no message follows. Without an error the other side has only finished sending, and may
   * still read if the transport can half-close. With an error the channel is dead: that may come first, or
   * once more after an orderly end.
   */
  end(error?: Error): void;
}

/**
 * The request of the other side that a message belongs to. Most channels ignore it; a channel that answers
 * each request separately, as HTTP does, routes by it.
 */
export interface Topic {
  /** The request's id, as its JSON text. */
  readonly request: string;
  /** It is the request's answer: nothing follows. */
  readonly isAnswer: boolean;
  /** The error code, if the answer is an error. */
  readonly errorCode?: number | undefined;
}

/**
 * One ordered conversation of whole messages.
 *
 * Delivery is by callback, not by async iteration: a promise per message costs more than the
 * framing does. Disposing flushes what was sent, within a bounded time, and
 * closes.
 */
export interface Channel<M> extends AsyncDisposable {
  /** Starts delivery. Called once; input waits until then. */
  receive(sink: Sink<M>): void;
  /**
   * Queues a message. Never throws or rejects: a channel that dies says so once, to its sink, and
   * drops what it could not send. The promise resolves when there is room for more.
   */
  send(message: M, topic?: Topic): Room;
  /** Closes at once: unsent messages are dropped, and the sink is told the reason. */
  abort(reason: Error): void;
}

/**
 * Resolves when there is room for more, and never rejects. A caller that need not wait may ignore it, which
 * the linter allows for no other promise.
 */
export interface Room extends Promise<void> {}

/** What `send` returns when there is room: one promise for all, so the hot path allocates none. */
export const ROOM: Room = Promise.resolve();

/** Bounds of one channel. `resolveChannelLimits` fills in what a caller leaves out. */
export interface ChannelLimits {
  /** Bytes of one incoming message. */
  readonly maxMessage: number;
  /** Unsent bytes above which `send` asks its caller to wait. */
  readonly highWater: number;
  /** Unsent bytes above which the connection of a peer that does not read is closed. */
  readonly maxUnsent: number;
  /** Milliseconds that disposing waits for the peer to read what is unsent. */
  readonly closeGrace: number;
}

export function resolveChannelLimits(limits: Partial<ChannelLimits> = {}): ChannelLimits {
  const { maxMessage, highWater, maxUnsent, closeGrace } = DEFAULT_LIMITS;
  return { maxMessage, highWater, maxUnsent, closeGrace, ...limits };
}

/** The channel died because the other side does not read what it is sent. */
export class SlowReaderError extends Error {
  override readonly name = "SlowReaderError";
  constructor(unsent: number, limit: number) {
    super(`Peer does not read: ${unsent} bytes are unsent, the limit is ${limit}`);
  }
}
