/** Upper bounds in seconds: from a tool of our own to the turn of an agent. */
const BOUNDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300] as const;

/** Series of one histogram. What others choose a name for must not fill the memory. */
const MOST_SERIES = 500;
const LONGEST_VALUE = 100;

/** The value of every label of what came after there were too many series. */
const OTHER = "other";

interface Series {
  /** The labels as text, without braces. */
  readonly labels: string;
  /** By bound, each without those of lower bounds; the last is above all. */
  readonly counts: Float64Array;
  sum: number;
}

/** Durations by label, in the text format of Prometheus. */
export class Histogram {
  readonly #name: string;
  readonly #help: string;
  readonly #labels: readonly string[];
  readonly #series = new Map<string, Series>();

  constructor(name: string, help: string, labels: readonly string[]) {
    this.#name = name;
    this.#help = help;
    this.#labels = labels;
  }

  observe(milliseconds: number, ...values: readonly string[]): void {
    const seconds = milliseconds / 1_000;
    const series = this.#find(values);
    let at = 0;
    while (at < BOUNDS.length && seconds > (BOUNDS[at] ?? 0)) at++;
    series.counts[at] = (series.counts[at] ?? 0) + 1;
    series.sum += seconds;
  }

  render(): string {
    const name = this.#name;
    let text = `# HELP ${name} ${this.#help}\n# TYPE ${name} histogram\n`;
    for (const { labels, counts, sum } of this.#series.values()) {
      let total = 0;
      for (const [at, count] of counts.entries()) {
        total += count;
        text += `${name}_bucket{${labels},le="${BOUNDS[at] ?? "+Inf"}"} ${total}\n`;
      }
      text += `${name}_sum{${labels}} ${sum}\n${name}_count{${labels}} ${total}\n`;
    }
    return text;
  }

  #find(values: readonly string[]): Series {
    const known = this.#series.get(keyOf(values));
    if (known !== undefined) return known;
    // Two series with the same labels would not be valid, and a long key is kept for good.
    const shown = values.map((value) => value.slice(0, LONGEST_VALUE).toWellFormed());
    const same = this.#series.get(keyOf(shown));
    if (same !== undefined) return same;
    if (this.#series.size < MOST_SERIES) return this.#make(shown);
    const others = values.map(() => OTHER);
    return this.#series.get(keyOf(others)) ?? this.#make(others);
  }

  #make(values: readonly string[]): Series {
    const labels = this.#labels.map((label, at) => `${label}="${escapeLabel(values[at] ?? "")}"`);
    const counts = new Float64Array(BOUNDS.length + 1);
    const series = { labels: labels.join(","), counts, sum: 0 };
    this.#series.set(keyOf(values), series);
    return series;
  }
}

function keyOf(values: readonly string[]): string {
  return values.join("\0");
}

/** Prometheus, Exposition formats § Comments, help text, and type information. */
function escapeLabel(value: string): string {
  return value.replace(/[\\"]/g, String.raw`\$&`).replaceAll("\n", String.raw`\n`);
}
