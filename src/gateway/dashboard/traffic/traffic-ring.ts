import type { Tap } from "../../../wire/channel/tapped.ts";

/** One message that passed, or a line of stderr. */
export interface Passed {
  readonly n: number;
  readonly at: number;
  readonly connection: TappedConnection;
  readonly direction: "in" | "out";
  /** Undefined for a line of stderr. */
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

const LIMITS: TrafficLimits = { messages: 20_000, characters: 32 * 1024 * 1024 };
/** Characters of one message that are kept. */
const LONGEST = 256 * 1024;
const KEPT_OF_LONG = 4 * 1024;

/**
 * The last messages on all connections of this server. A message costs one small object that refers to
 * its text; everything else is found out when somebody looks.
 */
export class TrafficRing {
  readonly #limits: TrafficLimits;
  #passed: Passed[] = [];
  /** Entries before this one were dropped. */
  #from = 0;
  #characters = 0;
  #last = 0;

  constructor(limits: TrafficLimits = LIMITS) {
    this.#limits = limits;
  }

  /** Number of the last message. */
  get last(): number {
    return this.#last;
  }

  /** What is kept, the oldest first. */
  get all(): readonly Passed[] {
    return this.#passed.slice(this.#from);
  }

  /** Somebody who sees the messages of one connection. */
  connection(lane: "client" | "agent", peer: string): TappedConnection {
    return new TappedConnection(this, lane, peer);
  }

  add(connection: TappedConnection, direction: "in" | "out", text: string, isLine: boolean): void {
    const size = text.length;
    const kept = size > LONGEST ? startOf(text) : text;
    const n = ++this.#last;
    this.#passed.push({ n, at: Date.now(), connection, direction, isLine, text: kept, size });
    this.#characters += kept.length;
    const { messages, characters } = this.#limits;
    while (this.#characters > characters || this.#passed.length - this.#from > messages) {
      this.#characters -= this.#passed[this.#from++]?.text.length ?? 0;
    }
    // Dropped one by one, the rest would be moved each time.
    if (this.#from < messages) return;
    this.#passed = this.#passed.slice(this.#from);
    this.#from = 0;
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

/** A copy: a part of a text would keep the whole of it in memory. */
function startOf(text: string): string {
  return Buffer.from(text.slice(0, KEPT_OF_LONG)).toString("utf8");
}
