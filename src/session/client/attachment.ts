import { background } from "../../base/background.ts";
import { ownCopy } from "../../base/text/own-copy.ts";
import { Holding } from "../../base/limit/byte-budget.ts";
import type { SessionClient, ShownUpdate } from "./client.ts";

export interface Backlog {
  readonly updates: number;
  readonly characters: number;
}

/**
 * One client attached to one session. While the client's buffer is full, updates wait in a queue. When
 * the queue exceeds its limit, it is dropped and the client is told to resume, so that a slow client
 * delays nobody else.
 */
export class Attachment {
  readonly client: SessionClient;
  readonly #sessionId: string;
  readonly #limit: Backlog;
  #waiting: ShownUpdate[] = [];
  #characters = 0;
  readonly #holding = new Holding();
  #isFull = false;
  #isLagging = false;
  #isOver = false;
  #last: number;
  #caughtUp: PromiseWithResolvers<void> | undefined;

  constructor(client: SessionClient, sessionId: string, last: number, limit: Backlog) {
    this.client = client;
    this.#sessionId = sessionId;
    this.#last = last;
    this.#limit = limit;
  }

  get isLagging(): boolean {
    return this.#isLagging;
  }

  show(shown: ShownUpdate): void {
    if (this.#isLagging || !isFor(this.client, shown.kind)) return;
    if (!this.#isFull) {
      this.#send(shown);
      return;
    }
    this.#waiting.push({ ...shown, text: ownCopy(shown.text) });
    this.#characters += shown.text.length;
    const { updates, characters } = this.#limit;
    const isMuch = this.#waiting.length > updates || this.#characters > characters;
    if (!isMuch && this.#holding.set(this.#characters)) return;
    this.#isLagging = true;
    this.#forget();
  }

  /** Resolves when the queue is empty. */
  async caughtUp(): Promise<void> {
    if (!this.#isFull || this.#isOver) return;
    this.#caughtUp ??= Promise.withResolvers<void>();
    await this.#caughtUp.promise;
  }

  /** Detaches the client and drops what waits for it. */
  end(): void {
    this.#isOver = true;
    this.#forget();
    this.#settle();
  }

  #send(shown: ShownUpdate): void {
    this.#last = shown.seq;
    const room = this.client.show(this.#sessionId, shown);
    if (room === undefined) return;
    this.#isFull = true;
    background(room.then(this.#flush), "Showing what waited");
  }

  readonly #flush = (): void => {
    this.#isFull = false;
    if (this.#isOver) return;
    if (this.#isLagging) this.client.lagged(this.#sessionId, this.#last);
    const waiting = this.#waiting;
    this.#forget();
    for (const shown of waiting) this.show(shown);
    if (!this.#isFull) this.#settle();
  };

  #forget(): void {
    this.#waiting = [];
    this.#characters = 0;
    this.#holding.clear();
  }

  #settle(): void {
    this.#caughtUp?.resolve();
    this.#caughtUp = undefined;
  }
}

/** ACP initialization: some updates are sent only to clients that announced support for them. */
export function isFor({ capabilities }: SessionClient, kind: string): boolean {
  if (kind === "notice") return capabilities.notices;
  if (kind.startsWith("compaction_")) return capabilities.compaction;
  return true;
}
