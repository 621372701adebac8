import { setTimeout as delay } from "node:timers/promises";

import { background } from "../../base/background.ts";
import { Holding } from "../../base/limit/byte-budget.ts";
import type { SessionClient, ShownUpdate } from "./client.ts";

export interface Backlog {
  readonly updates: number;
  readonly characters: number;
}

export interface AttachmentOptions {
  readonly sessionId: string;
  readonly backlog: Backlog;
  /** Reads the updates for a client from the log: those of the events after `after`, up to `upTo`. */
  readonly missed: (
    client: SessionClient,
    after: number,
    upTo: number,
  ) => AsyncIterable<ShownUpdate>;
}

/** Updates that are read from the log when their turn comes. */
interface Gap {
  readonly after: number;
  upTo: number;
}

/** Milliseconds until the log is read again, where that failed. */
const RETRY = 1_000;

/**
 * One client attached to one session. While the client's buffer is full, updates wait in a queue. When
 * the queue exceeds its limit, later ones are read from the log instead, so that a slow client delays
 * nobody else and misses nothing.
 */
export class Attachment {
  readonly client: SessionClient;
  readonly #options: AttachmentOptions;
  readonly #queue: (ShownUpdate | Gap)[] = [];
  #characters = 0;
  readonly #holding = new Holding();
  #isBusy = false;
  #isOver = false;
  /** Number of the last event of the log that was sent. */
  #sent: number;
  /** Number of the last event of the log that was sent or is queued. */
  #known: number;
  /** Number of the last event that was read from the log. */
  #read = 0;
  #caughtUp: PromiseWithResolvers<void> | undefined;

  constructor(client: SessionClient, last: number, options: AttachmentOptions) {
    this.client = client;
    this.#sent = this.#known = last;
    this.#options = options;
  }

  /** Number of the last event that the client was shown. */
  get last(): number {
    return this.#sent;
  }

  show(shown: ShownUpdate): void {
    const isRead = shown.isInLog === true && shown.seq <= this.#read;
    if (isRead || !isFor(this.client, shown.kind)) return;
    if (this.#isBusy) this.#keep(shown);
    else {
      const room = this.#send(shown);
      if (room !== undefined) background(this.#sendRest(room), "Showing what waited");
    }
  }

  /** Resolves when the client has been sent everything. */
  async caughtUp(): Promise<void> {
    if (!this.#isBusy || this.#isOver) return;
    this.#caughtUp ??= Promise.withResolvers<void>();
    await this.#caughtUp.promise;
  }

  /** Detaches the client and drops what waits for it. */
  end(): void {
    this.#isOver = true;
    this.#queue.length = 0;
    this.#holding.set(0);
    this.#settle();
  }

  #keep(shown: ShownUpdate): void {
    const { seq, isInLog = false } = shown;
    const last = this.#queue.at(-1);
    // Several updates of one event stay together.
    const isNext = isInLog && seq > this.#known;
    if (isInLog && last !== undefined && "after" in last) {
      last.upTo = this.#known = seq;
      return;
    }
    const characters = this.#characters + shown.text.length;
    const { backlog } = this.#options;
    const isMuch = this.#queue.length >= backlog.updates || characters > backlog.characters;
    if (isNext && (isMuch || !this.#holding.set(characters))) {
      this.#queue.push({ after: this.#known, upTo: seq });
    } else {
      if (!isInLog && this.#queue.filter(isState).length >= backlog.updates) this.#dropOldest();
      this.#queue.push(shown);
      this.#characters += shown.text.length;
      this.#holding.set(this.#characters, true);
    }
    if (isNext) this.#known = seq;
  }

  /** Drops the oldest update that tells of a state, which a later one tells again. */
  #dropOldest(): void {
    const at = this.#queue.findIndex(isState);
    const [dropped] = at < 0 ? [] : this.#queue.splice(at, 1);
    if (dropped === undefined || "after" in dropped) return;
    this.#characters -= dropped.text.length;
    const [before, after] = [this.#queue[at - 1], this.#queue[at]];
    if (before === undefined || !("after" in before)) return;
    if (after === undefined || !("after" in after)) return;
    before.upTo = after.upTo;
    this.#queue.splice(at, 1);
  }

  #send(shown: ShownUpdate): Promise<void> | undefined {
    if (shown.isInLog === true) {
      this.#sent = shown.seq;
      this.#known = Math.max(this.#known, shown.seq);
    }
    return this.client.show(this.#options.sessionId, shown);
  }

  async #sendRest(room: Promise<void>): Promise<void> {
    this.#isBusy = true;
    await room;
    for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      if ("after" in next) await this.#catchUp(next);
      else {
        this.#queue.shift();
        this.#characters -= next.text.length;
        this.#holding.set(this.#characters);
        const full = this.#send(next);
        if (full !== undefined) await full;
      }
    }
    this.#isBusy = false;
    this.#settle();
  }

  /** Sends what the log has of a gap, which may grow meanwhile. */
  async #catchUp(gap: Gap): Promise<void> {
    let from = gap.after;
    while (!this.#isOver && from < gap.upTo) {
      const { upTo } = gap;
      try {
        for await (const shown of this.#options.missed(this.client, from, upTo)) {
          if (this.#isOver) return;
          await this.#send(shown);
          from = shown.seq;
        }
        from = upTo;
      } catch {
        // Nobody sees a new event either while the store fails.
        await delay(RETRY, undefined, { ref: false });
      }
    }
    this.#read = this.#sent = from;
    this.#queue.shift();
  }

  #settle(): void {
    this.#caughtUp?.resolve();
    this.#caughtUp = undefined;
  }
}

/** An update that the log does not have. */
function isState(each: ShownUpdate | Gap): boolean {
  return !("after" in each) && each.isInLog !== true;
}

/** ACP initialization: some updates are sent only to clients that announced support for them. */
export function isFor({ capabilities }: SessionClient, kind: string): boolean {
  if (kind === "notice") return capabilities.notices;
  if (kind.startsWith("compaction_")) return capabilities.compaction;
  return true;
}
