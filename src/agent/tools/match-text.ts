/** Where a text was found, though not exactly as it was given. */
export interface TextMatch {
  /** Index of the first line, and of the one after the last. */
  readonly from: number;
  readonly to: number;
  /** Fits the new text to what differs. */
  readonly fit: (lines: readonly string[]) => readonly string[];
  /** What differs, for the model; undefined if nothing does. */
  readonly differs: string | undefined;
}

type MatchQuality = TextMatch["fit"];

/** One way to compare: undefined if the lines are not the same in this way, else how to fit new ones. */
interface Tolerance {
  readonly differs: string | undefined;
  readonly fits: (there: readonly string[], given: readonly string[]) => MatchQuality | undefined;
}

const same: MatchQuality = (lines) => lines;

/** From strict to lenient. Each accepts only what means the same to a reader. */
const TOLERANCES: readonly Tolerance[] = [
  { differs: undefined, fits: by((line) => line) },
  { differs: "blanks at line ends differed", fits: by((line) => line.trimEnd()) },
  { differs: "the indentation differed; the new text was indented to fit", fits: reindented },
  { differs: "quotes, dashes or spaces differed", fits: by(plainCharacters) },
];

function by(form: (line: string) => string): Tolerance["fits"] {
  return (there, given) =>
    given.every((line, at) => form(line) === form(there[at] ?? "")) ? same : undefined;
}

/**
 * Finds lines in a text, from a line on. Returns all places of the strictest comparison that finds any.
 * Most calls find an exact one.
 */
export function findLines(
  text: readonly string[],
  given: readonly string[],
  start = 0,
): readonly TextMatch[] {
  for (const { differs, fits } of TOLERANCES) {
    const found: TextMatch[] = [];
    for (let from = start; from + given.length <= text.length; from++) {
      const fit = fits(text.slice(from, from + given.length), given);
      if (fit !== undefined) found.push({ from, to: from + given.length, fit, differs });
    }
    if (found.length > 0) return found;
  }
  return [];
}

/** The same lines with another indentation, by the same amount in each. */
function reindented(there: readonly string[], given: readonly string[]): MatchQuality | undefined {
  const pairs: [string, string][] = [];
  for (const [at, line] of given.entries()) {
    const other = there[at] ?? "";
    if (line.trim() !== other.trim()) return undefined;
    if (line.trim() !== "") pairs.push([indentOf(other), indentOf(line)]);
  }
  const [first] = pairs;
  if (first === undefined) return undefined;
  const [longer, shorter] = [Math.max(...first.map(length)), Math.min(...first.map(length))];
  const [there0, given0] = first;
  const delta = (there0.length > given0.length ? there0 : given0).slice(0, longer - shorter);
  if (pairs.every(([other, own]) => other === delta + own)) return mapped((own) => delta + own);
  if (pairs.every(([other, own]) => own === delta + other)) {
    return mapped((own) => (own.startsWith(delta) ? own.slice(delta.length) : own));
  }
  // Models write blanks where a file has tabs.
  const width = pairs.map(([other, own]) => own.length / other.length).find(Number.isInteger);
  if (width === undefined || width === 0) return undefined;
  const tabs = (own: string): string => own.replaceAll(" ".repeat(width), "\t");
  return pairs.every(([other, own]) => other === tabs(own)) ? mapped(tabs) : undefined;
}

const length = ({ length: size }: string): number => size;

function mapped(indent: (own: string) => string): MatchQuality {
  return (lines) =>
    lines.map((line) => {
      if (line.trim() === "") return line;
      const own = indentOf(line);
      return indent(own) + line.slice(own.length);
    });
}

function indentOf(line: string): string {
  return /^[ \t]*/.exec(line)?.[0] ?? "";
}

/** Typographic characters as their ASCII forms, which models often write instead. */
function plainCharacters(line: string): string {
  return line
    .trimEnd()
    .replaceAll(/[\u2018\u2019\u201a\u201b]/g, "'")
    .replaceAll(/[\u201c\u201d\u201e\u201f]/g, '"')
    .replaceAll(/[\u2010-\u2015\u2212]/g, "-")
    .replaceAll(/[\u00a0\u2000-\u200a\u202f\u205f\u3000]/g, " ");
}

/** Lines of what is sought that are compared to find the nearest. */
const MOST_COMPARED = 40;
const MOST_SHOWN = 12;
const CONTEXT = 1;

/** The lines of a text that are most like the given ones, with their numbers; empty if none is. */
export function nearestLines(text: readonly string[], given: readonly string[]): string {
  const wanted = given.slice(0, MOST_COMPARED).map((line) => wordsOf(line));
  const words = text.map((line) => wordsOf(line));
  let best = { from: 0, score: 0 };
  for (let from = 0; from < text.length; from++) {
    let score = 0;
    for (const [at, line] of wanted.entries()) score += likeness(line, words[from + at]);
    if (score > best.score) best = { from, score };
  }
  const total = wanted.reduce((sum, { size }) => sum + (size > 0 ? 1 : 0), 0);
  // Less is chance.
  if (best.score < 0.3 * Math.max(1, total)) return "";
  const first = Math.max(0, best.from - CONTEXT);
  const last = Math.min(text.length, best.from + given.length + CONTEXT, first + MOST_SHOWN);
  return text
    .slice(first, last)
    .map((line, at) => `${String(first + at + 1).padStart(5)}\t${line.slice(0, 300)}`)
    .join("\n");
}

function wordsOf(line: string): ReadonlySet<string> {
  return new Set(line.match(/\w+|[^\s\w]/g) ?? []);
}

function likeness(one: ReadonlySet<string>, other: ReadonlySet<string> | undefined): number {
  if (other === undefined || one.size === 0 || other.size === 0) return 0;
  return one.intersection(other).size / one.union(other).size;
}
