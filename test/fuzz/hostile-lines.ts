import type { SeededRandom } from "../support/seeded-random.ts";

/** What one dialect has to say. */
export interface Vocabulary {
  /** A message of the dialect that is all right. `id` is one that no other has. */
  message(random: SeededRandom, id: string): string;
  readonly methods: readonly string[];
  /** A notification that calls off the request of that id. */
  cancel(id: string): string;
}

/** Texts that parsers and those behind them stumble over. */
const TOKENS = [
  `"__proto__":{"polluted":1},`,
  `"constructor":{"prototype":{"polluted":1}},`,
  `"id":`,
  `"id":null,`,
  `"\\u0069d":`,
  `"method":"now",`,
  `"params":null,`,
  `"result":0,`,
  "1e999",
  "-0",
  "12345678901234567890",
  "0x10",
  "NaN",
  "null",
  `"\\ud800"`,
  `"\\u0000"`,
  "\\",
  '"',
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  "\r",
  "\u{feff}",
  "\u{2028}",
  "\n",
];

const VALUES = [
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 53,
  1e300,
  "",
  "a",
  "__proto__",
  "constructor",
  "toString",
  "\0",
  "\ud800",
  "é🙂",
  "x".repeat(300),
  [],
  {},
  [[]],
  { requestId: "a" },
  { text: "x" },
  { text: 5 },
  { a: 5 },
];

/** Ids that were used a moment ago. */
const RECENT = 64;
const KiB = 1024;

/**
 * Lines to throw at a peer: valid messages of its dialect, broken ones, wrong types everywhere,
 * what is too deep or too long, plain noise. The same seed gives the same lines.
 */
export class HostileLines {
  readonly #random: SeededRandom;
  readonly #vocabulary: Vocabulary;
  readonly #recent: string[] = [];
  #count = 0;

  constructor(random: SeededRandom, vocabulary: Vocabulary) {
    this.#random = random;
    this.#vocabulary = vocabulary;
  }

  /** So many lines, each with its end. Some of them hold a line break, and so are two. */
  lines(count: number): Buffer {
    const all: Buffer[] = [];
    for (let at = 0; at < count; at++) {
      all.push(this.next(), this.#random.once(20) ? CRLF : LF);
    }
    return Buffer.concat(all);
  }

  /** One line without its end. */
  next(): Buffer {
    const random = this.#random;
    const chance = random.below(100);
    if (chance < 45) return Buffer.from(this.#message());
    if (chance < 57) return mutated(random, Buffer.from(this.#message()));
    if (chance < 69) return Buffer.from(spliced(random, this.#message()));
    if (chance < 81) return Buffer.from(replaced(random, this.#message()));
    if (chance < 86) return Buffer.from(JSON.stringify(this.#wrongTypes()));
    if (chance < 89) return this.#nested();
    if (chance < 91) return random.bytes(random.below(80));
    if (chance < 94) return Buffer.from(this.#batch());
    if (chance < 97) return Buffer.from(this.#vocabulary.cancel(this.#oldId()));
    if (chance < 99) return Buffer.from(`{"jsonrpc":"2.0","id":${this.#oldId()},"result":{}}`);
    return this.#long();
  }

  #message(): string {
    return this.#vocabulary.message(
      this.#random,
      this.#random.once(30) ? this.#oldId() : this.#id(),
    );
  }

  /** A new id: mostly a number, as clients have it. */
  #id(): string {
    const random = this.#random;
    const count = ++this.#count;
    const id = random.once(3)
      ? JSON.stringify(`${random.pick(["a", "é🙂", "__proto__", "\0", "\ud800"])}${count}`)
      : random.once(20)
        ? random.pick([`${count}.5`, `-${count}`, `9007199254740993${count}`, `${count}e400`])
        : String(count);
    this.#recent[count % RECENT] = id;
    return id;
  }

  #oldId(): string {
    return this.#recent[this.#random.below(RECENT)] ?? "1";
  }

  #batch(): string {
    const all = Array.from({ length: this.#random.below(4) }, () => this.#message());
    return `[${all.join(",")}]`;
  }

  #wrongTypes(): unknown {
    const random = this.#random;
    const names = ["jsonrpc", "id", "method", "params", "result", "error", "__proto__", "extra"];
    const message: Record<string, unknown> = Object.create(null);
    for (const name of names) if (!random.once(3)) message[name] = random.pick(VALUES);
    if (!random.once(4)) message.jsonrpc = "2.0";
    if (!random.once(4)) message.method = random.pick([...this.#vocabulary.methods, "no"]);
    if (random.once(2)) {
      delete message.result;
      delete message.error;
    }
    return random.once(8) ? [message, message] : message;
  }

  /** Deep; mostly short enough to be parsed unseen. */
  #nested(): Buffer {
    const random = this.#random;
    const depth = 1 + random.below(random.once(10) ? 4000 : 400);
    const [open, close] = random.pick([
      ["[", "]"],
      [`{"a":`, "}"],
      [`[{"__proto__":`, "}]"],
    ]);
    const inner = `${open.repeat(depth)}0${close.repeat(random.once(3) ? depth - 1 : depth)}`;
    const method = random.pick(this.#vocabulary.methods);
    return Buffer.from(
      `{"jsonrpc":"2.0","id":${this.#id()},"method":"${method}","params":[${inner}]}`,
    );
  }

  /** Long, and once in a while too long. */
  #long(): Buffer {
    const random = this.#random;
    const size = random.once(200)
      ? 11 * KiB * KiB
      : random.below(random.once(20) ? 500 * KiB : 20 * KiB);
    const filling = random.pick(["x", "é", "\\n", '\\"', "\\ud800"]);
    const text = filling.repeat(size / Buffer.byteLength(filling));
    const method = random.pick(this.#vocabulary.methods);
    return Buffer.from(
      `{"jsonrpc":"2.0","id":${this.#id()},"method":"${method}","params":{"a":"${text}"}}`,
    );
  }
}

const LF = Buffer.from("\n");
const CRLF = Buffer.from("\r\n");

/** Some bytes are lost, changed, added or repeated. */
function mutated(random: SeededRandom, original: Buffer): Buffer {
  let bytes = original;
  for (let times = 1 + random.below(3); times > 0; times--) {
    const at = random.below(bytes.length + 1);
    const end = at + random.below(8);
    const middle = random.pick([
      Buffer.alloc(0),
      random.bytes(1 + random.below(3)),
      bytes.subarray(at, end + random.below(30)),
    ]);
    bytes = Buffer.concat([bytes.subarray(0, at), middle, bytes.subarray(end)]);
  }
  return bytes;
}

/** Tokens are put in, mostly where they fit. */
function spliced(random: SeededRandom, original: string): string {
  let text = original;
  for (let times = 1 + random.below(3); times > 0; times--) {
    const fits = [...text.matchAll(/[{,:]/g)].map(({ index }) => index + 1);
    const at = random.once(4) ? random.below(text.length) : random.pick(fits);
    text = text.slice(0, at) + random.pick(TOKENS) + text.slice(at);
  }
  return text;
}

/** One value, somewhere, is another than it should be. */
function replaced(random: SeededRandom, original: string): string {
  const message = JSON.parse(original) as Record<string, unknown>;
  let at = message;
  for (;;) {
    const name = random.pick(Object.keys(at));
    const value = at[name];
    const isDeeper = typeof value === "object" && value !== null && Object.keys(value).length > 0;
    if (!isDeeper || random.once(4)) {
      if (random.once(6)) delete at[name];
      else at[name] = random.pick(VALUES);
      return JSON.stringify(message);
    }
    at = value as Record<string, unknown>;
  }
}
