// Where comments end up after the code has changed, on histories whose truth is known.
import { execFileSync } from "node:child_process";
import { parseArgs } from "node:util";

import { linesOf } from "../src/review/file-lines.ts";
import { mapLines } from "../src/review/line-map.ts";
import { CONTEXT, type Place, Placing } from "../src/review/place.ts";
import { ROOT } from "./harness/program.ts";
import { Tale } from "./harness/tale.ts";

/** What became of lines that were commented on, and what was said of it. */
class Score {
  surviving = 0;
  right = 0;
  /** On another line of the same words, with as much around it as it was: nobody could tell. */
  asGood = 0;
  gone = 0;
  calledGone = 0;
  /** Gone, but a line in its place is like it: said with low confidence. */
  likened = 0;
  exact = 0;
  wrongExact = 0;
  microseconds = 0;

  /** `truth` is the line, from 1; undefined where it is gone. */
  count(place: Place, truth: number | undefined, isAsGood: (line: number) => boolean): void {
    const isRight = place.line === truth;
    if (truth === undefined) {
      this.gone++;
      if (place.confidence === "gone") this.calledGone++;
      if (place.confidence === "low") this.likened++;
    } else {
      this.surviving++;
      if (isRight) this.right++;
      else if (place.line !== undefined && isAsGood(place.line)) this.asGood++;
    }
    if (place.confidence !== "exact") return;
    this.exact++;
    if (!isRight) this.wrongExact++;
  }

  get isGood(): boolean {
    return (
      this.right + this.asGood >= this.surviving * 0.995 &&
      this.calledGone + this.likened >= this.gone * 0.95 &&
      this.wrongExact === 0
    );
  }

  toString(): string {
    const share = (part: number, whole: number): string =>
      `${((100 * part) / Math.max(1, whole)).toFixed(2)} % of ${whole}`;
    return [
      `surviving lines placed right ${share(this.right, this.surviving)}, ${this.asGood} as good`,
      `gone lines called gone ${share(this.calledGone, this.gone)}, ${this.likened} likened`,
      `exact ${this.exact}, wrong ${this.wrongExact}`,
      `${(this.microseconds / Math.max(1, this.surviving + this.gone)).toFixed(1)} µs a comment`,
    ].join("; ");
  }
}

const AROUND = [-3, -2, -1, 1, 2, 3];

/** Every line of a text is commented on, and looked for in another. */
function placeAll(
  before: readonly string[],
  now: readonly string[],
  truth: (line: number) => number | undefined | "unknown",
  score: Score,
): void {
  const placing = new Placing(before, now);
  for (const at of before.keys()) {
    const expected = truth(at);
    // Nobody has anything to say of an empty line or a brace.
    if (expected === "unknown" || !/[\p{L}\p{N}]/u.test(before[at] ?? "")) continue;
    const anchor = {
      path: "x",
      side: "new",
      line: at + 1,
      end: at + 1,
      quote: before.slice(at, at + 1),
      before: before.slice(Math.max(0, at - CONTEXT), at),
      after: before.slice(at + 1, at + 1 + CONTEXT),
    } as const;
    const began = performance.now();
    const place = placing.place(at, at, anchor);
    score.microseconds += (performance.now() - began) * 1000;
    const likeness = (line: number): number => {
      if (now[line - 1] !== before[at]) return -1;
      return AROUND.filter((away) => before[at + away] === now[line - 1 + away]).length;
    };
    score.count(place, expected, (line) => likeness(line) >= likeness(expected ?? 0));
  }
}

/** Made-up code, changed in as many commits. */
function generated(files: number, commits: number): Score {
  const score = new Score();
  for (let seed = 1; seed <= files; seed++) {
    const tale = new Tale(seed);
    const before = [...tale.lines];
    for (let commit = 0; commit < commits; commit++) tale.commit();
    const now = new Map(tale.lines.map((line, index) => [line, index + 1]));
    const fate = (at: number): number | undefined | "unknown" => {
      const line = before[at];
      // Of a line that was changed, it is a matter of taste whether it is the same.
      if (line === undefined || tale.isChanged(line)) return "unknown";
      return now.get(line);
    };
    const texts = (lines: typeof before): string[] => lines.map(({ text }) => text);
    placeAll(tale.texts(before), texts([...tale.lines]), fate, score);
  }
  return score;
}

/** A real history: the truth is what the changes of one commit after the other come to. */
function history(repository: string, files: number, commits: number): Score {
  const git = (...args: string[]): string =>
    execFileSync("git", args, { cwd: repository, encoding: "utf8", maxBuffer: 1 << 28 });
  const score = new Score();
  const paths = git("ls-files", "-z", "*.ts", "*.go", "*.md")
    .split("\0")
    .filter((path) => path !== "" && !path.includes(".gen."));
  let used = 0;
  for (const path of paths) {
    if (used >= files) break;
    const shas = git("log", "--format=%H", `-${commits + 1}`, "--", path)
      .split("\n")
      .filter(Boolean);
    if (shas.length < 3) continue;
    used++;
    const versions = shas.toReversed().flatMap((sha) => {
      try {
        return [linesOf(git("show", `${sha}:${path}`))];
      } catch {
        return [];
      }
    });
    const [first, ...later] = versions;
    const last = versions.at(-1);
    if (first === undefined || last === undefined) continue;
    const chained = later.reduce<{ at: number[]; lines: readonly string[] }>(
      ({ at, lines }, next) => {
        const map = mapLines(lines, next);
        return { at: at.map((line) => (line < 0 ? -1 : (map[line] ?? -1))), lines: next };
      },
      { at: [...first.keys()], lines: first },
    );
    placeAll(
      first,
      last,
      (at) => {
        const truth = chained.at[at] ?? -1;
        // A line that was taken out and put back is the same to whoever reads it.
        if (truth < 0) return last.includes(first[at] ?? "") ? "unknown" : undefined;
        return truth + 1;
      },
      score,
    );
  }
  return score;
}

const { values } = parseArgs({
  options: {
    files: { type: "string", default: "300" },
    commits: { type: "string", default: "20" },
    repo: { type: "string", default: ROOT },
  },
});
const files = Number(values.files);
const made = generated(files, Number(values.commits));
console.log(`generated, ${files} files, ${values.commits} commits: ${made.toString()}`);
const real = history(values.repo, files, Number(values.commits));
console.log(`${values.repo === ROOT ? "this repository" : values.repo}: ${real.toString()}`);
process.exitCode = made.isGood && real.isGood ? 0 : 1;
