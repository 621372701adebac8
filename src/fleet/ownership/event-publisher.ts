import { type EventPiece, piecesOf, takeTogether } from "./event-pages.ts";
import type { EventMessage, Journal } from "./journal.ts";
import { FencedError } from "./ownership.ts";
import { type Bookmark, OutdatedError, RefusedWriteError } from "./session-entry.ts";

export interface EventPublisherOptions {
  readonly journal: Journal;
  /** Id of the session. */
  readonly id: string;
  readonly epoch: number;
  readonly node: string;
  /** Sequence of the session's last message. */
  readonly sequence: number;
  /** Number of the session's last event in the journal. */
  readonly last: number;
  /** Bytes of events in one message. */
  readonly mostBytes: number;
  readonly pause: (attempt: number) => Promise<void>;
  /**
   * The session can no longer be published: `FencedError` or `RefusedWriteError`. Events that wait have
   * failed with it.
   */
  readonly failed: (error: Error) => void;
  /** An attempt got no answer and is repeated. */
  readonly unanswered?: (error: unknown, attempt: number) => void;
}

/** Events that are published together, or not at all. */
export interface EventPage {
  readonly first: number;
  readonly last: number;
  /** One line for each event. */
  readonly lines: string;
}

interface PendingPage {
  readonly last: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * Publishes the events of a session that this process has taken, in order. One message is in flight;
 * what comes meanwhile is joined into the next one. A message without an answer is repeated as it was:
 * the server recognizes its id, and refuses it after another holder's message.
 */
export class EventPublisher {
  readonly #options: EventPublisherOptions;
  readonly #pieces: EventPiece[] = [];
  readonly #waiting: PendingPage[] = [];
  #sequence: number;
  /** Number of the last event that is in the journal. */
  last: number;
  /** The last message of whole events; undefined if none was published yet. */
  bookmark: Bookmark | undefined;
  /** Parts of the present event that were published before. */
  #part = 0;
  #running: Promise<void> | undefined;
  #failure: Error | undefined;

  constructor(options: EventPublisherOptions) {
    this.#options = options;
    this.#sequence = options.sequence;
    this.last = options.last;
  }

  /** Resolves when the events are in the journal. */
  add({ first, last, lines }: EventPage): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    this.#pieces.push(...piecesOf(first, last, lines, this.#options.mostBytes));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ last, resolve, reject });
    this.#running ??= this.#run();
    return promise;
  }

  /** Resolves when nothing waits any more. */
  async drained(): Promise<void> {
    await this.#running;
  }

  /** Publishes nothing more. Waiting events fail; the message in flight may still be stored. */
  stop(error: Error): void {
    this.#failure ??= error;
    this.#pieces.length = 0;
    for (const { reject } of this.#waiting.splice(0)) reject(this.#failure);
  }

  async #run(): Promise<void> {
    for (;;) {
      const piece = takeTogether(this.#pieces, this.#options.mostBytes);
      if (piece === undefined) break;
      try {
        this.#sequence = await this.#publish(this.#messageOf(piece));
      } catch (error) {
        const isNew = this.#failure === undefined;
        this.stop(error as Error);
        this.#running = undefined;
        if (isNew) this.#options.failed(error as Error);
        return;
      }
      const isWhole = this.#part === 0 && !piece.more;
      if (isWhole) this.bookmark = { sequence: this.#sequence, last: piece.last };
      this.#part = piece.more ? this.#part + 1 : 0;
      this.#acknowledge(piece.last);
    }
    this.#running = undefined;
  }

  #acknowledge(last: number): void {
    this.last = last;
    const count = this.#waiting.findIndex((waiting) => waiting.last > last);
    const stored = this.#waiting.splice(0, count === -1 ? this.#waiting.length : count);
    for (const { resolve } of stored) resolve();
  }

  #messageOf(piece: EventPiece): EventMessage {
    const { id, epoch, node } = this.#options;
    const part = this.#part === 0 ? "" : `.${this.#part}`;
    // The epoch is part of it: the server answers for a known id before it looks at the sequence.
    return { ...piece, id: `${id}:${epoch}:${piece.first}${part}`, epoch, node };
  }

  async #publish(message: EventMessage): Promise<number> {
    const { journal, id } = this.#options;
    try {
      return await this.#retry(() => journal.publish(id, message, this.#sequence));
    } catch (error) {
      if (!(error instanceof OutdatedError)) throw error;
    }
    // The message may have been stored although its answer was lost.
    const last = await this.#retry(() => journal.last(id));
    if (last?.id === message.id && last.epoch === message.epoch) return last.sequence;
    throw new FencedError(`Another process has taken session '${id}'.`);
  }

  /** Repeats requests without an answer, until they get one or the publisher is stopped. */
  async #retry<T>(work: () => Promise<T>): Promise<T> {
    const { pause, unanswered } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        if (error instanceof RefusedWriteError || error instanceof OutdatedError) throw error;
        unanswered?.(error, attempt);
        await pause(attempt);
      }
      if (this.#failure !== undefined) throw this.#failure;
    }
  }
}
