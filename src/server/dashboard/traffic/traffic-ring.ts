import type { Tap } from "../../../wire/channel/tapped.ts";

/** One message that passed, or a line of stderr. */
export interface Passed extends Mark {
  readonly n: number;
  readonly at: number;
  /** The text, or the beginning of a very long one. */
  readonly text: string;
  /** Characters of the whole text. */
  readonly size: number;
}

/** What many messages have in common. */
interface Mark {
  readonly connection: TappedConnection;
  readonly direction: "in" | "out";
  /** A line of stderr, not a message. */
  readonly isLine: boolean;
  /** Set if not all of the text is kept. */
  readonly size?: number;
}

/** Messages one after the other. Those whose texts were joined are complete. */
interface Page {
  readonly first: number;
  readonly times: number[];
  readonly marks: Mark[];
  texts: string[];
  joined: string;
  ends: Uint32Array;
  characters: number;
}

export interface TrafficLimits {
  readonly messages: number;
  readonly characters: number;
}

const LIMITS: TrafficLimits = { messages: 20_000, characters: 16 * 1024 * 1024 };
/** Characters of one message that are kept. */
const LONGEST = 256 * 1024;
const KEPT_OF_LONG = 4 * 1024;
/** A page is complete with so many messages, or so many characters. */
const PAGE = { messages: 500, characters: 256 * 1024 };

/**
 * The last messages on all connections of this server. Many texts are joined to one: thousands that stay
 * for a while would be moved and marked by each garbage collection, which costs more than all else that
 * is done with a message. What a message says is found out when somebody looks.
 */
export class TrafficRing {
  readonly #limits: TrafficLimits;
  #pages: Page[] = [];
  #open = makePage(1);
  #messages = 0;
  #characters = 0;

  constructor(limits: TrafficLimits = LIMITS) {
    this.#limits = limits;
  }

  /** Number of the last message. */
  get last(): number {
    return this.#open.first + this.#open.texts.length - 1;
  }

  /** What is kept, the oldest first. */
  get all(): readonly Passed[] {
    return [...this.#pages, this.#open].flatMap(({ first, times, marks, texts, joined, ends }) =>
      marks.map((mark, at) => {
        const text = texts[at] ?? joined.slice(ends[at - 1] ?? 0, ends[at]);
        return { n: first + at, at: times[at] ?? 0, text, size: text.length, ...mark };
      }),
    );
  }

  /** Somebody who sees the messages of one connection. */
  connection(lane: "client" | "agent", peer: string): TappedConnection {
    return new TappedConnection(this, lane, peer);
  }

  add(mark: Mark, text: string): void {
    const page = this.#open;
    const isLong = text.length > LONGEST;
    const kept = isLong ? text.slice(0, KEPT_OF_LONG) : text;
    page.texts.push(kept);
    page.times.push(Date.now());
    page.marks.push(isLong ? { ...mark, size: text.length } : mark);
    page.characters += kept.length;
    if (page.texts.length < PAGE.messages && page.characters < PAGE.characters) return;
    this.#open = makePage(page.first + page.texts.length);
    complete(page);
    this.#keep(page);
  }

  #keep(page: Page): void {
    this.#pages.push(page);
    this.#messages += page.marks.length;
    this.#characters += page.characters;
    const { messages, characters } = this.#limits;
    while (this.#messages > messages || this.#characters > characters) {
      const oldest = this.#pages.shift();
      if (oldest === undefined) return;
      this.#messages -= oldest.marks.length;
      this.#characters -= oldest.characters;
    }
  }
}

function makePage(first: number): Page {
  const ends = new Uint32Array();
  return { first, times: [], marks: [], texts: [], joined: "", ends, characters: 0 };
}

function complete(page: Page): void {
  let end = 0;
  page.ends = Uint32Array.from(page.texts, (text) => (end += text.length));
  page.joined = page.texts.join("");
  page.texts = [];
}

/** One connection: an editor's or program's to Trunkline, or Trunkline's to an agent. */
export class TappedConnection implements Tap {
  readonly lane: "client" | "agent";
  readonly #ring: TrafficRing;
  readonly #marks: Readonly<Record<"in" | "out" | "line", Mark>>;
  #peer: string;
  #isNamed = false;

  constructor(ring: TrafficRing, lane: "client" | "agent", peer: string) {
    this.#ring = ring;
    this.lane = lane;
    this.#peer = peer;
    this.#marks = {
      in: { connection: this, direction: "in", isLine: false },
      out: { connection: this, direction: "out", isLine: false },
      line: { connection: this, direction: "in", isLine: true },
    };
  }

  /** Who is at the other end. */
  get peer(): string {
    return this.#peer;
  }

  message(text: string, direction: "in" | "out"): void {
    if (!this.#isNamed) this.#name(text);
    this.#ring.add(this.#marks[direction], text);
  }

  /** A line that the program at the other end has written to stderr. */
  line(text: string): void {
    this.#ring.add(this.#marks.line, text);
  }

  /** Clients tell their name in their first message. */
  #name(text: string): void {
    this.#isNamed = true;
    if (this.lane !== "client") return;
    const [, name] = /"(?:clientInfo|info)":\{[^{}]*?"name":"([^"\\]{1,100})"/.exec(text) ?? [];
    this.#peer = name ?? this.#peer;
  }
}
