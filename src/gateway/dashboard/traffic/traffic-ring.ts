import type { Tap } from "../../../wire/channel/tapped.ts";

/** One message that passed, or a line of stderr. */
export interface Passed {
  readonly n: number;
  readonly at: number;
  readonly connection: TappedConnection;
  readonly direction: "in" | "out";
  /** A line of stderr, not a message. */
  readonly isLine: boolean;
  /** The text, or the beginning of a very long one. */
  readonly text: string;
  /** Characters of the whole text. */
  readonly size: number;
}

export interface TrafficLimits {
  readonly messages: number;
  readonly bytes: number;
}

const LIMITS: TrafficLimits = { messages: 20_000, bytes: 16 * 1024 * 1024 };
/** Characters of one message that are kept. */
const LONGEST = 256 * 1024;
const KEPT_OF_LONG = 4 * 1024;
/** Of a character of UTF-16 in UTF-8. */
const MOST_BYTES = 3;

/** Where a message is, and all about it but its text. */
interface Slots {
  readonly bytes: Buffer;
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  readonly sizes: Uint32Array;
  readonly times: Float64Array;
  readonly kinds: Uint8Array;
  readonly connections: TappedConnection[];
}

const OUT = 1;
const LINE = 2;

/**
 * The last messages on all connections of this server. They are copied into one buffer: twenty thousand
 * texts and objects that stay for a while would be moved and marked by each garbage collection, which
 * costs more than all else that is done with a message. What a message says is found out when somebody
 * looks.
 */
export class TrafficRing {
  readonly #limits: TrafficLimits;
  #slots: Slots | undefined;
  /** Number of the oldest message that is kept. */
  #first = 1;
  #last = 0;
  /** Where the next text begins. */
  #head = 0;

  constructor(limits: TrafficLimits = LIMITS) {
    this.#limits = limits;
  }

  /** Number of the last message. */
  get last(): number {
    return this.#last;
  }

  /** What is kept, the oldest first. */
  get all(): readonly Passed[] {
    const slots = this.#slots;
    if (slots === undefined) return [];
    const { messages } = this.#limits;
    return Array.from({ length: this.#last - this.#first + 1 }, (_, index) => {
      const n = this.#first + index;
      const at = n % messages;
      const kind = slots.kinds[at] ?? 0;
      return {
        n,
        at: slots.times[at] ?? 0,
        connection: slots.connections[at] as TappedConnection,
        direction: (kind & OUT) === 0 ? "in" : "out",
        isLine: (kind & LINE) !== 0,
        text: slots.bytes.toString("utf8", slots.starts[at], slots.ends[at]),
        size: slots.sizes[at] ?? 0,
      };
    });
  }

  /** Somebody who sees the messages of one connection. */
  connection(lane: "client" | "agent", peer: string): TappedConnection {
    return new TappedConnection(this, lane, peer);
  }

  add(connection: TappedConnection, direction: "in" | "out", text: string, isLine: boolean): void {
    const slots = (this.#slots ??= makeSlots(this.#limits));
    const kept = text.length > LONGEST ? text.slice(0, KEPT_OF_LONG) : text;
    const start = this.#makeRoom(slots, kept.length * MOST_BYTES);
    const at = ++this.#last % this.#limits.messages;
    this.#head = start + slots.bytes.write(kept, start, "utf8");
    slots.starts[at] = start;
    slots.ends[at] = this.#head;
    slots.sizes[at] = text.length;
    slots.times[at] = Date.now();
    slots.kinds[at] = (direction === "out" ? OUT : 0) | (isLine ? LINE : 0);
    slots.connections[at] = connection;
  }

  /** Forgets the oldest messages that are in the way of the next one, and says where that one goes. */
  #makeRoom({ bytes, starts }: Slots, length: number): number {
    const { messages } = this.#limits;
    if (this.#last - this.#first + 1 >= messages) this.#first++;
    let start = this.#head;
    if (start + length > bytes.length) {
      // What is left at the end is too short. All that is kept there is older than what is at the beginning.
      this.#forget(starts, start, Infinity);
      start = 0;
    }
    this.#forget(starts, start, start + length);
    return start;
  }

  /** Forgets the oldest messages as long as they begin in a range of the buffer. */
  #forget(starts: Uint32Array, from: number, to: number): void {
    const { messages } = this.#limits;
    while (this.#first <= this.#last) {
      const start = starts[this.#first % messages] ?? 0;
      if (start < from || start >= to) return;
      this.#first++;
    }
  }
}

function makeSlots({ messages, bytes }: TrafficLimits): Slots {
  return {
    // Memory that nothing was written to yet is not taken from the system.
    bytes: Buffer.allocUnsafeSlow(Math.max(bytes, LONGEST * MOST_BYTES)),
    starts: new Uint32Array(messages),
    ends: new Uint32Array(messages),
    sizes: new Uint32Array(messages),
    times: new Float64Array(messages),
    kinds: new Uint8Array(messages),
    connections: [],
  };
}

/** One connection: an editor's or program's to Trunkline, or Trunkline's to an agent. */
export class TappedConnection implements Tap {
  readonly lane: "client" | "agent";
  readonly #ring: TrafficRing;
  #peer: string;
  #isNamed = false;

  constructor(ring: TrafficRing, lane: "client" | "agent", peer: string) {
    this.#ring = ring;
    this.lane = lane;
    this.#peer = peer;
  }

  /** Who is at the other end. */
  get peer(): string {
    return this.#peer;
  }

  message(text: string, direction: "in" | "out"): void {
    if (!this.#isNamed) this.#name(text);
    this.#ring.add(this, direction, text, false);
  }

  /** A line that the program at the other end has written to stderr. */
  line(text: string): void {
    this.#ring.add(this, "in", text, true);
  }

  /** Clients tell their name in their first message. */
  #name(text: string): void {
    this.#isNamed = true;
    if (this.lane !== "client") return;
    const [, name] = /"(?:clientInfo|info)":\{[^{}]*?"name":"([^"\\]{1,100})"/.exec(text) ?? [];
    this.#peer = name ?? this.#peer;
  }
}
