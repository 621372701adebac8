import type { JsonObject } from "@bufbuild/protobuf";

export interface BusEvent {
  readonly topic: string;
  readonly type: string;
  readonly payload: JsonObject;
  readonly source: string;
  readonly time: Date;
}

export interface Subscription {
  readonly id: string;
  readonly topic: string;
  /** What members of the payload must be, as text. */
  readonly filters: Readonly<Record<string, string>>;
  /** Delivers one event; the next waits for it. */
  readonly deliver: (event: BusEvent) => Promise<void>;
  /** Told once when nothing more is delivered: unsubscribed, replaced or forgotten. */
  readonly ended?: () => void;
}

/** Events that wait for one subscriber. One that is slower loses the oldest. */
const MOST_WAITING = 1_000;

interface Subscriber extends Subscription {
  readonly owner: string;
  readonly waiting: BusEvent[];
  isDelivering: boolean;
  lost: number;
}

export interface EventsOptions {
  readonly report: (event: string, fields: Record<string, unknown>) => void;
}

/** Brings events to whoever wants them: in order for each, and nobody waits for anybody else. */
export class Events {
  readonly #report: EventsOptions["report"];
  /** By owner and id: ids are made up by those who subscribe. */
  readonly #subscribers = new Map<string, Subscriber>();

  constructor({ report }: EventsOptions) {
    this.#report = report;
  }

  get size(): number {
    return this.#subscribers.size;
  }

  /** One of the same owner and id is replaced. Returns how to end it. */
  subscribe(owner: string, subscription: Subscription): () => void {
    const key = keyOf(owner, subscription.id);
    const subscriber = { ...subscription, owner, waiting: [], isDelivering: false, lost: 0 };
    this.#end(key);
    this.#subscribers.set(key, subscriber);
    return () => {
      if (this.#subscribers.get(key) === subscriber) this.#end(key);
    };
  }

  unsubscribe(owner: string, id: string): void {
    this.#end(keyOf(owner, id));
  }

  /** Ends all that somebody wanted. */
  forget(owner: string): void {
    for (const [key, subscriber] of this.#subscribers) {
      if (subscriber.owner === owner) this.#end(key);
    }
  }

  publish(event: BusEvent): void {
    for (const subscriber of this.#subscribers.values()) {
      if (!isWanted(subscriber, event)) continue;
      subscriber.waiting.push(event);
      if (subscriber.waiting.length > MOST_WAITING) {
        subscriber.waiting.shift();
        subscriber.lost++;
      }
      if (!subscriber.isDelivering) void this.#deliver(subscriber);
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
    for (let event = waiting.shift(); event !== undefined; event = waiting.shift()) {
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
