import type { JsonObject } from "@bufbuild/protobuf";
import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { BusService } from "../../protocol/bus/serve.ts";

export interface BusEvent {
  readonly topic: string;
  readonly type: string;
  readonly payload: JsonObject;
  readonly source: string;
  readonly time: Date;
  /** Memory that it takes while it is queued, as far as is known. */
  readonly bytes?: number;
}

export interface Subscription {
  readonly id: string;
  readonly topic: string;
  /** What members of the payload must be, as text. */
  readonly filters: Readonly<Record<string, string>>;
  /** Delivers one event; the next waits for it. */
  readonly deliver: (event: BusEvent) => Promise<void>;
  /** Called once when the subscription has ended: unsubscribed, replaced or forgotten. */
  readonly ended?: () => void;
}

/** Subscriptions of one owner. */
const MOST_SUBSCRIPTIONS = 256;
/** Each event of the topic is compared with all of them. */
const MOST_FILTERS = 32;
const LONGEST_TEXT = 1_000;

interface Subscriber extends Subscription {
  readonly owner: string;
  readonly waiting: EventQueue;
  isDelivering: boolean;
  lost: number;
}

/**
 * Delivers events to subscribers: those of one source in order, and no subscriber waits for another.
 * Orchestra's routing: a topic matches exactly, and filters compare members of the payload as text.
 */
export class Events {
  readonly #report: BusService["report"];
  /** By owner and id: subscribers choose the ids. */
  readonly #subscribers = new Map<string, Subscriber>();

  constructor(report: BusService["report"]) {
    this.#report = report;
  }

  get size(): number {
    return this.#subscribers.size;
  }

  /** One of the same owner and id is replaced. Returns how to end it. Throws "limit". */
  subscribe(owner: string, subscription: Subscription): () => void {
    checkSize(subscription);
    const key = keyOf(owner, subscription.id);
    const waiting = new EventQueue();
    const subscriber = { ...subscription, owner, waiting, isDelivering: false, lost: 0 };
    this.#end(key);
    const own = [...this.#subscribers.values()].filter((other) => other.owner === owner);
    if (own.length >= MOST_SUBSCRIPTIONS) {
      throw tooMuch(`you have ${MOST_SUBSCRIPTIONS} subscriptions already, the most`);
    }
    this.#subscribers.set(key, subscriber);
    return () => {
      if (this.#subscribers.get(key) === subscriber) this.#end(key);
    };
  }

  unsubscribe(owner: string, id: string): void {
    this.#end(keyOf(owner, id));
  }

  /** Ends all subscriptions of an owner. */
  forget(owner: string): void {
    for (const [key, subscriber] of this.#subscribers) {
      if (subscriber.owner === owner) this.#end(key);
    }
  }

  publish(event: BusEvent): void {
    for (const subscriber of this.#subscribers.values()) {
      if (!isWanted(subscriber, event)) continue;
      subscriber.lost += subscriber.waiting.add(event);
      if (!subscriber.isDelivering) background(this.#deliver(subscriber), "Delivering events");
    }
  }

  #end(key: string): void {
    const subscriber = this.#subscribers.get(key);
    this.#subscribers.delete(key);
    subscriber?.ended?.();
  }

  async #deliver(subscriber: Subscriber): Promise<void> {
    const { id, owner, topic, waiting } = subscriber;
    subscriber.isDelivering = true;
    for (let event = waiting.next(); event !== undefined; event = waiting.next()) {
      if (this.#subscribers.get(keyOf(owner, id)) !== subscriber) break;
      try {
        await subscriber.deliver(event);
      } catch (error) {
        this.#report("bus.event-not-delivered", { owner, topic, error: (error as Error).message });
      }
      if (subscriber.lost > 0) {
        this.#report("bus.events-lost", { owner, topic, events: subscriber.lost });
        subscriber.lost = 0;
      }
    }
    subscriber.isDelivering = false;
  }
}

function checkSize({ id, topic, filters }: Subscription): void {
  const texts = [id, topic, ...Object.entries(filters).flat()];
  const isShort = texts.every((text) => text.length <= LONGEST_TEXT);
  if (isShort && Object.keys(filters).length <= MOST_FILTERS) return;
  throw tooMuch(`it may have ${MOST_FILTERS} filters, and texts of ${LONGEST_TEXT} characters`);
}

function tooMuch(why: string): TrunklineError {
  return new TrunklineError("limit", `Cannot subscribe: ${why}`);
}

function keyOf(owner: string, id: string): string {
  return `${owner}\n${id}`;
}

function isWanted({ topic, filters }: Subscription, event: BusEvent): boolean {
  return topic === event.topic && passes(filters, event.payload);
}

/** Whether the members of a payload are what the filters want, as text. */
export function passes(filters: Subscription["filters"], payload: JsonObject): boolean {
  return Object.entries(filters).every(([name, wanted]) => {
    const value = Object.hasOwn(payload, name) ? payload[name] : undefined;
    return (typeof value === "string" ? value : JSON.stringify(value)) === wanted;
  });
}

/** The queued events of one source. */
interface SourceQueue {
  readonly events: BusEvent[];
  bytes: number;
}

/** Of each source, for one subscriber. */
const MOST_EVENTS = 1_000;
const MOST_BYTES = 4 * 1024 * 1024;

/**
 * The queue of one subscriber: the events of each source in order, and the sources in turn. A source
 * that publishes too fast loses its own events, never those of others.
 */
export class EventQueue {
  /** The source whose turn it is comes first. */
  readonly #sources = new Map<string, SourceQueue>();

  /** Returns how many were dropped for it. */
  add(event: BusEvent): number {
    const { source, bytes = 0 } = event;
    let waiting = this.#sources.get(source);
    if (waiting === undefined) this.#sources.set(source, (waiting = { events: [], bytes: 0 }));
    waiting.events.push(event);
    waiting.bytes += bytes;
    let dropped = 0;
    // The newest event is always kept.
    while (waiting.events.length > 1 && isTooMuch(waiting)) {
      waiting.bytes -= waiting.events.shift()?.bytes ?? 0;
      dropped++;
    }
    return dropped;
  }

  next(): BusEvent | undefined {
    for (const [source, waiting] of this.#sources) {
      const event = waiting.events.shift();
      this.#sources.delete(source);
      if (event === undefined) continue;
      waiting.bytes -= event.bytes ?? 0;
      if (waiting.events.length > 0) this.#sources.set(source, waiting);
      return event;
    }
    return undefined;
  }
}

function isTooMuch({ events, bytes }: SourceQueue): boolean {
  return events.length > MOST_EVENTS || bytes > MOST_BYTES;
}
