import type { IncomingMessage, ServerResponse } from "node:http";

import type { Principal } from "../../../base/principal.ts";
import { VERSION } from "../../../base/version.ts";
import { resolveChannelLimits } from "../../../wire/channel.ts";
import { EventResponse } from "../../../wire/channel/event-response.ts";
import type { LiveEvent } from "../api.ts";
import type { EventLog } from "../session-api.ts";
import type { LiveRows } from "./live-rows.ts";

/** A session whose events a stream has, too. */
export interface Tail {
  readonly session: string;
  /** Events from a number on: a bounded batch, empty where there are none yet. */
  read(from: number): Promise<EventLog>;
  /** What is asked in the session. */
  asks(): Promise<readonly object[]>;
  /** Calls back when there may be more. */
  listen(listener: () => void): Disposable;
}

export interface LiveStreamOptions {
  readonly rows: LiveRows;
  readonly principal: Principal;
  readonly tail?: Tail | undefined;
  /** Where the reader was: what it says in `Last-Event-ID`, or asks for in the address. */
  readonly place: Place;
  readonly keepAlive?: number;
}

/** How far a reader has read: `EPOCH.N` or `EPOCH.N.SEQ`. */
export interface Place {
  readonly epoch: string | undefined;
  readonly n: number;
  /** Number of the last event of the session. */
  readonly seq: number;
}

const PLACE = /^([0-9a-f]{8})\.(\d{1,15})(?:\.(\d{1,15}))?$/;
const KEEP_ALIVE = 20_000;

/** Where a reader goes on. `Last-Event-ID` is what a browser sends when it reconnects by itself. */
export function placeOf({ headers }: IncomingMessage, query: URLSearchParams): Place {
  const header = headers["last-event-id"];
  const given = typeof header === "string" ? header : (query.get("last") ?? "");
  const [, epoch, n, seq] = PLACE.exec(given) ?? [];
  const after = Number(query.get("after") ?? 0);
  return {
    epoch,
    n: Number(n ?? 0),
    seq: seq === undefined ? (Number.isSafeInteger(after) && after > 0 ? after : 0) : Number(seq),
  };
}

/**
 * One reader of the live events. It keeps a place in the rows and in a session, and no queue: what is
 * next is read when the reader has room for it.
 */
export class LiveStream {
  readonly #options: LiveStreamOptions;
  readonly #events: EventResponse;
  #n: number;
  #seq: number;
  #asks = "[]";
  /** Whether the reader can go on from where it was. */
  readonly #isKnown: boolean;
  #wake: (() => void) | undefined;
  #isWoken = false;

  constructor(response: ServerResponse, options: LiveStreamOptions) {
    this.#options = options;
    const { rows, place } = options;
    this.#n = place.n;
    this.#seq = place.seq;
    this.#events = new EventResponse(response, resolveChannelLimits(), {
      "x-content-type-options": "nosniff",
    });
    response.on("close", () => this.#woken());
    this.#isKnown = place.epoch === rows.epoch && rows.after(place.n) !== undefined;
    if (!this.#isKnown) this.#n = rows.last;
  }

  /** Sends events until the reader is gone. If it cannot, it ends the stream, and the browser connects again. */
  async run(): Promise<void> {
    const { rows, tail, place, keepAlive = KEEP_ALIVE } = this.#options;
    const wake = (): void => this.#woken();
    using _rows = rows.listen(wake);
    using _tail = tail?.listen(wake);
    const timer = setInterval(() => this.#events.keepAlive(), keepAlive).unref();
    try {
      await this.#send("hello", { epoch: rows.epoch, version: VERSION });
      // A page that has nothing yet has missed nothing.
      if (!this.#isKnown && place.epoch !== undefined) await this.#reset();
      while (this.#events.isOpen) {
        this.#isWoken = false;
        await this.#sendRows();
        await this.#sendTail();
        if (!this.#isWoken && this.#events.isOpen) await this.#nextWake();
      }
    } finally {
      clearInterval(timer);
      this.#events.end();
    }
  }

  /** Ends the stream; the browser connects again. */
  end(): void {
    this.#events.end();
    this.#woken();
  }

  async #sendRows(): Promise<void> {
    const { rows, principal } = this.#options;
    const changes = rows.after(this.#n);
    if (changes === undefined) {
      this.#n = rows.last;
      await this.#reset();
      return;
    }
    for (const { n, event, id, row, isFor } of changes) {
      this.#n = n;
      if (isFor(principal)) await this.#send(event, { id, row });
      if (!this.#events.isOpen) return;
    }
  }

  async #sendTail(): Promise<void> {
    const { tail } = this.#options;
    if (tail === undefined) return;
    while (this.#events.isOpen) {
      const batch = await tail.read(this.#seq + 1);
      const last = batch.events.at(-1);
      if (last !== undefined) {
        this.#seq = last.seq;
        await this.#send("session-events", batch);
      }
      const asks = await tail.asks();
      const text = JSON.stringify(asks);
      if (text !== this.#asks) {
        this.#asks = text;
        await this.#send("session-asks", { asks });
      }
      if (last === undefined) return;
    }
  }

  #reset(): Promise<void> {
    return this.#send("reset", { why: "Some changes were missed while this page was away." });
  }

  #send(event: LiveEvent["event"], data: object): Promise<void> {
    const seq = this.#options.tail === undefined ? "" : `.${this.#seq}`;
    const id = `${this.#options.rows.epoch}.${this.#n}${seq}`;
    return this.#events.send(`id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  #woken(): void {
    this.#isWoken = true;
    this.#wake?.();
  }

  async #nextWake(): Promise<void> {
    await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#wake = undefined;
  }
}
