import type { Tap } from "../../../wire/channel/tapped.ts";

/** One message that passed, or a line of stderr. */
export interface PassedMessage {
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
  readonly characters: number;
}

const LIMITS: TrafficLimits = { messages: 20_000, characters: 16 * 1024 * 1024 };
/** Of a message with more characters, only the beginning is kept. */
const LONGEST = 256 * 1024;
const KEPT_OF_LONG = 4 * 1024;

/** The last messages on all connections of this server. They are parsed when somebody looks. */
export class TrafficRing {
  readonly #limits: TrafficLimits;
  /** By number, the oldest first. */
  readonly #kept = new Map<number, PassedMessage>();
  #last = 0;
  #characters = 0;

  constructor(limits: TrafficLimits = LIMITS) {
    this.#limits = limits;
  }

  /** Number of the last message. */
  get last(): number {
    return this.#last;
  }

  /** What is kept, the oldest first. */
  get all(): readonly PassedMessage[] {
    return [...this.#kept.values()];
  }

  /** Records the messages of one connection. */
  connection(lane: "client" | "agent", peer: string): TappedConnection {
    return new TappedConnection(this, lane, peer);
  }

  add(connection: TappedConnection, direction: "in" | "out", whole: string, isLine: boolean): void {
    const { length: size } = whole;
    // A copy: a slice would keep the whole text in memory.
    const text = size > LONGEST ? Buffer.from(whole.slice(0, KEPT_OF_LONG)).toString() : whole;
    const n = ++this.#last;
    this.#kept.set(n, { n, at: Date.now(), connection, direction, isLine, text, size });
    this.#characters += text.length;
    const { messages, characters } = this.#limits;
    for (const [oldest, { text: old }] of this.#kept) {
      if (this.#kept.size <= messages && this.#characters <= characters) return;
      this.#kept.delete(oldest);
      this.#characters -= old.length;
    }
  }
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
