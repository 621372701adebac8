import type { Tap } from "../../../wire/channel/tapped.ts";

export interface TappedConnection extends Tap {
  readonly lane: "client" | "agent";
  /** Who is at the other end. */
  peer: string;
  /** A line that the program at the other end has written to stderr. */
  line(text: string): void;
}

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
  /** Number of the last message. */
  last = 0;
  #characters = 0;

  constructor(limits: TrafficLimits = LIMITS) {
    this.#limits = limits;
  }

  /** What is kept, the oldest first. */
  get all(): readonly PassedMessage[] {
    return [...this.#kept.values()];
  }

  /** Records the messages of one connection: an editor's or program's to Trunkline, or Trunkline's to an agent. */
  connection(lane: "client" | "agent", peer: string): TappedConnection {
    let isNamed = lane !== "client";
    const tapped: TappedConnection = {
      lane,
      peer,
      message: (text, direction) => {
        // Clients tell their name in their first message.
        if (!isNamed) tapped.peer = nameIn(text) ?? peer;
        isNamed = true;
        this.#add(tapped, direction, text, false);
      },
      line: (text) => this.#add(tapped, "in", text, true),
    };
    return tapped;
  }

  #add(of: TappedConnection, direction: "in" | "out", whole: string, isLine: boolean): void {
    const { length: size } = whole;
    // A copy: a slice would keep the whole text in memory.
    const text = size > LONGEST ? Buffer.from(whole.slice(0, KEPT_OF_LONG)).toString() : whole;
    const n = ++this.last;
    this.#kept.set(n, { n, at: Date.now(), connection: of, direction, isLine, text, size });
    this.#characters += text.length;
    const { messages, characters } = this.#limits;
    for (const [oldest, { text: old }] of this.#kept) {
      if (this.#kept.size <= messages && this.#characters <= characters) return;
      this.#kept.delete(oldest);
      this.#characters -= old.length;
    }
  }
}

function nameIn(text: string): string | undefined {
  return /"(?:clientInfo|info)":\{[^{}]*?"name":"([^"\\]{1,100})"/.exec(text)?.[1];
}
