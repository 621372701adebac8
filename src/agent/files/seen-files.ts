import { TrunklineError } from "../../base/errors.ts";
import { unifiedDiff } from "../../base/text/unified-diff.ts";
import { digestOf } from "./journal.ts";
import type { WorkspacePath } from "./workspace.ts";

/** Characters of texts that are kept, to tell what has changed since. */
const MOST_KEPT = 16 * 1024 * 1024;
/** Characters of a diff that a model is told. */
const MOST_DIFF = 3_000;

type LineRange = readonly [from: number, to: number];

interface SeenFile {
  readonly digest: string;
  /** Undefined if too many are kept. */
  readonly text: string | undefined;
  /** The lines that were shown; "all" if the model wrote it. */
  readonly lines: readonly LineRange[] | "all";
}

/**
 * What the model of one conversation knows of files: what it was last shown, or wrote. A change applies
 * to that. What was shown in answer to a call counts when the model has got the answer: a call beside it
 * was written without it.
 */
export class SeenFiles {
  readonly #seen = new Map<string, SeenFile>();
  readonly #onTheWay = new Map<string, { readonly text: string; readonly lines: LineRange[] }>();
  readonly #late: string[] = [];
  #kept = 0;

  /** Adds what is found out about a change after its call was answered, such as what it broke. */
  foundLate(text: string): void {
    this.#late.push(text);
  }

  /** What the model has not been told yet of that. */
  takeLate(): string {
    return this.#late.splice(0).join("\n");
  }

  /** Lines of a text are in the answer to a call; the first line is 1. */
  shown(real: string, text: string, ...lines: LineRange): void {
    const before = this.#onTheWay.get(real);
    if (before?.text === text) before.lines.push(lines);
    else this.#onTheWay.set(real, { text, lines: [lines] });
  }

  /** The model has the answers to its calls. */
  delivered(): void {
    for (const [real, { text, lines }] of this.#onTheWay) {
      const known = this.#seen.get(real);
      const earlier = known?.digest === digest(text) ? known.lines : [];
      if (earlier !== "all") this.#keep(real, text, [...earlier, ...lines]);
    }
    this.#onTheWay.clear();
  }

  /** The model made this text itself; undefined if it removed the file. */
  wrote(real: string, text: string | undefined): void {
    this.#onTheWay.delete(real);
    if (text === undefined) this.#forget(real);
    else this.#keep(real, text, "all");
  }

  /**
   * Throws unless the model knows what it is about to change. To replace or remove a whole file it has
   * to have seen all of it. A part that it quotes can be replaced in a file that it was never shown.
   */
  check({ real, name }: WorkspacePath, now: string, extent: "part" | "whole"): void {
    const known = this.#seen.get(real);
    if (known === undefined) {
      if (extent === "part") return;
      const says = `'${name}' is there already, and you have not read it. Read it with read_file first`;
      throw new TrunklineError("conflict", says);
    }
    if (known.digest !== digest(now)) throw changedSince(name, known.text, now);
    const missing = extent === "whole" ? firstUnseen(now, known.lines) : undefined;
    if (missing === undefined) return;
    const next = `Read on from line ${missing} first, or change a part of it with edit_file`;
    throw new TrunklineError("conflict", `You have read only a part of '${name}'. ${next}`);
  }

  #keep(real: string, text: string, lines: SeenFile["lines"]): void {
    this.#forget(real);
    this.#seen.set(real, { digest: digest(text), text, lines });
    this.#kept += text.length;
    for (const [path, { text: old, ...rest }] of this.#seen) {
      if (this.#kept <= MOST_KEPT) return;
      this.#kept -= old?.length ?? 0;
      this.#seen.set(path, { ...rest, text: undefined });
    }
  }

  #forget(real: string): void {
    this.#kept -= this.#seen.get(real)?.text?.length ?? 0;
    this.#seen.delete(real);
  }
}

/** A file is not as it was when it was read: says what has changed, for the model. */
export function changedSince(
  name: string,
  before: string | undefined,
  now: string | undefined,
): TrunklineError {
  const again = "Read it again, and make your change to what is there now, without undoing theirs";
  const says = `'${name}' has changed since it was read: somebody else is working on it`;
  if (now === undefined) return new TrunklineError("conflict", `${says}. It was removed`);
  if (before === undefined) return new TrunklineError("conflict", `${says}. ${again}`);
  const [, , , ...lines] = unifiedDiff(name, before, now).split("\n");
  const diff = lines.join("\n");
  const cut = diff.length > MOST_DIFF ? `${diff.slice(0, MOST_DIFF)}\n… (cut)\n` : diff;
  return new TrunklineError("conflict", `${says}. What changed:\n\n${cut}\n${again}`);
}

/** The first line that was not shown. */
function firstUnseen(text: string, seen: SeenFile["lines"]): number | undefined {
  if (seen === "all") return undefined;
  let next = 1;
  for (const [from, to] of seen.toSorted(([a], [b]) => a - b)) {
    if (from <= next) next = Math.max(next, to + 1);
  }
  const count = text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
  return text === "" || next > count ? undefined : next;
}

function digest(text: string): string {
  return digestOf(Buffer.from(text));
}
