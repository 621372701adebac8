import { SeededRandom } from "../../test/support/seeded-random.ts";

/** A line with an identity, so that two lines of equal text can be told apart. */
export interface TaleLine {
  text: string;
}

const WORDS = (
  "user order cache token build queue index route event store value count parse field table frame " +
  "limit retry batch shard chunk owner label match guard spawn drain flush merge split watch probe " +
  "panel theme layer pixel brush input focus click event stack graph node edge path seed crate bolt"
).split(" ");

/** A generated source file and its history, commit by commit, line by line. */
export class Tale {
  readonly #random: SeededRandom;
  readonly #original = new Map<TaleLine, string>();
  lines: TaleLine[] = [];

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
    while (this.lines.length < 400) this.lines.push(...this.#function());
    for (const line of this.lines) this.#original.set(line, line.text);
  }

  isChanged(line: TaleLine): boolean {
    return this.#original.get(line) !== line.text;
  }

  /** The texts that lines began with. */
  texts(lines: readonly TaleLine[]): string[] {
    return lines.map((line) => this.#original.get(line) ?? line.text);
  }

  /** A few changes of the kinds that people make. */
  commit(): void {
    const changes = 1 + this.#random.below(3);
    for (let n = 0; n < changes; n++) this.#change();
  }

  #change(): void {
    const random = this.#random;
    switch (random.below(20)) {
      case 0:
      case 1:
      case 2:
      case 3:
        this.lines.splice(this.#at(), 0, ...this.#statements(1 + random.below(4), "\t"));
        break;
      case 4:
      case 5:
        this.lines.splice(this.#functionStart(), 0, ...this.#function());
        break;
      case 6:
      case 7:
      case 8:
      case 9:
        this.lines.splice(this.#at(), 1 + random.below(5));
        break;
      case 10: {
        const from = this.#functionStart();
        this.lines.splice(from, this.#functionLength(from));
        break;
      }
      case 11: {
        // Moved elsewhere, unchanged.
        const from = this.#functionStart();
        const moved = this.lines.splice(from, this.#functionLength(from));
        this.lines.splice(this.#functionStart(), 0, ...moved);
        break;
      }
      default:
        this.#edit();
    }
  }

  #edit(): void {
    const line = this.lines[this.#at()];
    if (line === undefined || !/\w{4}/.test(line.text)) return;
    const word = this.#random.pick(WORDS);
    line.text = line.text.replace(/[a-z]{4,}(?=[^a-z]*$)/, `${word}${this.#random.below(90)}`);
  }

  #function(): TaleLine[] {
    const random = this.#random;
    const name = `${random.pick(WORDS)}${capital(random.pick(WORDS))}${random.below(1000)}`;
    const head = [`// ${name} does what it says.`, `func ${name}(ctx Context) error {`];
    const body = this.#statements(3 + random.below(12), "\t");
    return [...head.map(lineOf), ...body, ...["\treturn nil", "}", ""].map(lineOf)];
  }

  #statements(count: number, indent: string): TaleLine[] {
    const random = this.#random;
    const lines: TaleLine[] = [];
    while (lines.length < count) {
      const [one, two] = [random.pick(WORDS), random.pick(WORDS)];
      const number = random.below(1000);
      const kinds = [
        [`${one} := get${capital(two)}(${number})`],
        [`if err != nil {`, `\treturn err`, `}`],
        [`log.Printf("${one} %v", ${two})`],
        [`${one}.${two} = ${number}`],
        [``],
        [`for _, ${one} := range ${two}s {`, `\t${one}.run(${number})`, `}`],
      ];
      lines.push(...random.pick(kinds).map((text) => lineOf(text === "" ? "" : indent + text)));
    }
    return lines;
  }

  #at(): number {
    return this.#random.below(Math.max(1, this.lines.length));
  }

  #functionStart(): number {
    const starts = this.lines.flatMap(({ text }, at) => (text.startsWith("// ") ? [at] : []));
    return starts.length === 0 ? 0 : this.#random.pick(starts);
  }

  #functionLength(from: number): number {
    const next = this.lines.findIndex(({ text }, at) => at > from && text.startsWith("// "));
    return (next < 0 ? this.lines.length : next) - from;
  }
}

function lineOf(text: string): TaleLine {
  return { text };
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
