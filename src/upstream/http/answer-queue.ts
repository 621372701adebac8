import { type ChannelLimits, ROOM, SlowReaderError } from "../../wire/channel.ts";

/** Exchanges that may be under way at once for what needs no answer. */
const MOST_AT_ONCE = 16;

/**
 * What is posted to a server that needs no answer: our answers to its questions, and notifications.
 * A few are on their way at a time. A server that asks without end and takes no answers is not read
 * any more once much is waiting, so that it costs others nothing.
 */
export class AnswerQueue {
  readonly #post: (text: string, done: () => void) => void;
  readonly #limits: Pick<ChannelLimits, "highWater" | "maxUnsent">;
  readonly #fail: (error: Error) => void;
  #waiting: string[] = [];
  #size = 0;
  #underWay = 0;
  #room: PromiseWithResolvers<void> | undefined;

  /** `post` calls back when its exchange is over, however it ended. */
  constructor(
    post: (text: string, done: () => void) => void,
    limits: Pick<ChannelLimits, "highWater" | "maxUnsent">,
    fail: (error: Error) => void,
  ) {
    this.#post = post;
    this.#limits = limits;
    this.#fail = fail;
  }

  /** The promise resolves when there is room for more. */
  send(text: string): Promise<void> {
    this.#waiting.push(text);
    this.#size += text.length;
    this.#next();
    const { highWater, maxUnsent } = this.#limits;
    if (this.#size > maxUnsent) this.#fail(new SlowReaderError(this.#size, maxUnsent));
    if (this.#size <= highWater) return ROOM;
    this.#room ??= Promise.withResolvers();
    return this.#room.promise;
  }

  /** Drops what is waiting. */
  clear(): void {
    this.#waiting = [];
    this.#size = 0;
    this.#roomAgain();
  }

  #next(): void {
    if (this.#underWay >= MOST_AT_ONCE) return;
    const text = this.#waiting.shift();
    if (text === undefined) return;
    this.#underWay++;
    this.#post(text, () => {
      this.#underWay--;
      // Not before it is gone: what is under way takes memory, too.
      this.#size = Math.max(0, this.#size - text.length);
      if (this.#size <= this.#limits.highWater) this.#roomAgain();
      this.#next();
    });
  }

  #roomAgain(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }
}
