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
export function liveStream(response: ServerResponse, options: LiveStreamOptions) {
  const { rows, principal, tail, place, keepAlive = KEEP_ALIVE } = options;
  const events = new EventResponse(response, resolveChannelLimits(), {
    "x-content-type-options": "nosniff",
  });
  // Whether the reader can go on from where it was.
  const isKnown = place.epoch === rows.epoch && rows.after(place.n) !== undefined;
  let n = isKnown ? place.n : rows.last;
  let { seq } = place;
  let sentAsks = "[]";
  let wake: (() => void) | undefined;
  let isWoken = false;
  response.on("close", woken);

  /** Sends events until the reader is gone. If it cannot, it ends the stream, and the browser connects again. */
  async function run(): Promise<void> {
    using _rows = rows.listen(woken);
    using _tail = tail?.listen(woken);
    const timer = setInterval(() => events.keepAlive(), keepAlive).unref();
    try {
      await send("hello", { epoch: rows.epoch, version: VERSION });
      // A page that has nothing yet has missed nothing.
      if (!isKnown && place.epoch !== undefined) await reset();
      while (events.isOpen) {
        isWoken = false;
        await sendRows();
        await sendTail();
        if (!isWoken && events.isOpen) await nextWake();
      }
    } finally {
      clearInterval(timer);
      events.end();
    }
  }

  /** Ends the stream; the browser connects again. */
  function end(): void {
    events.end();
    woken();
  }

  async function sendRows(): Promise<void> {
    const changes = rows.after(n);
    if (changes === undefined) {
      n = rows.last;
      await reset();
      return;
    }
    for (const { n: number, event, id, row, isFor } of changes) {
      n = number;
      if (isFor(principal)) await send(event, { id, row });
      if (!events.isOpen) return;
    }
  }

  async function sendTail(): Promise<void> {
    if (tail === undefined) return;
    while (events.isOpen) {
      const batch = await tail.read(seq + 1);
      const last = batch.events.at(-1);
      if (last !== undefined) {
        seq = last.seq;
        await send("session-events", batch);
      }
      const asks = await tail.asks();
      const text = JSON.stringify(asks);
      if (text !== sentAsks) {
        sentAsks = text;
        await send("session-asks", { asks });
      }
      if (last === undefined) return;
    }
  }

  function reset(): Promise<void> {
    return send("reset", { why: "Some changes were missed while this page was away." });
  }

  function send(event: LiveEvent["event"], data: object): Promise<void> {
    const at = tail === undefined ? "" : `.${seq}`;
    const id = `${rows.epoch}.${n}${at}`;
    return events.send(`id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  function woken(): void {
    isWoken = true;
    wake?.();
  }

  async function nextWake(): Promise<void> {
    await new Promise<void>((resolve) => (wake = resolve));
    wake = undefined;
  }

  return { run, end };
}
