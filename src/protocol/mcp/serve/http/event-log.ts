import { ByteReservation } from "../../../../base/limit/byte-budget.ts";
import { encodeSse } from "../../../../wire/framing/sse.ts";
import type { McpHttpLimits } from "./options.ts";

interface LoggedEvent<S> {
  readonly stream: S;
  readonly number: number;
  readonly event: string;
}

type EventLogLimits = Pick<McpHttpLimits, "maxLoggedEvents" | "maxLoggedBytes">;

/**
 * The latest events of one session, kept for clients that lost their connection (MCP 2025-11-25,
 * basic/transports § Resumability and Redelivery). Events are numbered through the session; an event's
 * id names its stream and its number.
 */
export class EventLog<S extends { readonly id: number }> {
  readonly #limits: EventLogLimits;
  readonly #events: LoggedEvent<S>[] = [];
  readonly #holding = new ByteReservation();
  #size = 0;
  /** The number of the latest event. */
  last = 0;

  constructor(limits: EventLogLimits) {
    this.#limits = limits;
  }

  /** Keeps a message as an event, and forgets the oldest where there are too many. */
  add(stream: S, message: string): string {
    const number = ++this.last;
    const event = encodeSse(message, { event: "message", id: `${stream.id}-${number}` });
    this.#events.push({ stream, number, event });
    this.#size += event.length;
    const { maxLoggedEvents, maxLoggedBytes } = this.#limits;
    while (this.#events.length > maxLoggedEvents || this.#size > maxLoggedBytes) this.#forget();
    while (!this.#holding.set(this.#size)) this.#forget();
    return event;
  }

  /** Drops all events: the session is over. */
  clear(): void {
    this.#events.length = 0;
    this.#size = 0;
    this.#holding.set(0);
  }

  #forget(): void {
    this.#size -= this.#events.shift()?.event.length ?? 0;
  }

  /** The kept events of a stream after one of them. */
  after(stream: S, number: number): string[] {
    return this.#events
      .filter((logged) => logged.stream === stream && logged.number > number)
      .map(({ event }) => event);
  }

  /** The stream of an event id, where any of its events is kept. */
  streamOf(id: number): S | undefined {
    return this.#events.find(({ stream }) => stream.id === id)?.stream;
  }
}

/** Reads an event id: which stream, and which event of it. */
export function parseEventId(id: string): { stream: number; number: number } | undefined {
  const match = /^(\d{1,15})-(\d{1,15})$/.exec(id);
  return match === null ? undefined : { stream: Number(match[1]), number: Number(match[2]) };
}
