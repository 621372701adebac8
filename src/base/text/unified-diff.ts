import { diffLines } from "./diff-lines.ts";
import { lineName, quotedName } from "./patch-names.ts";

/** Unchanged lines around a change. */
const CONTEXT = 3;

/**
 * A unified diff in git's form. `undefined` is a file that is not there. Empty where the texts are the
 * same. `firstLine` is the number of the first line, where the texts are excerpts.
 */
export function unifiedDiff(
  path: string,
  before: string | undefined,
  after: string | undefined,
  firstLine = 1,
): string {
  if (before === after) return "";
  const head = [`diff --git ${quotedName(`a/${path}`)} ${quotedName(`b/${path}`)}`];
  if (before === undefined) head.push("new file mode 100644");
  if (after === undefined) head.push("deleted file mode 100644");
  head.push(`--- ${before === undefined ? "/dev/null" : lineName(`a/${path}`)}`);
  head.push(`+++ ${after === undefined ? "/dev/null" : lineName(`b/${path}`)}`);
  const lines = diffLines(linesOf(before), linesOf(after));
  return `${[...head, ...hunksOf(lines, firstLine)].join("\n")}\n`;
}

/** Lines with the mark of those that end without a line end, as git has it. */
function linesOf(text = ""): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  const last = lines.pop();
  return last === "" ? lines : [...lines, `${last}\n\\ No newline at end of file`];
}

function hunksOf(lines: readonly string[], firstLine: number): string[] {
  const isChange = lines.map((line) => !line.startsWith("  "));
  const hunks: string[] = [];
  let old = firstLine;
  let now = firstLine;
  let at = 0;
  while (at < lines.length) {
    if (!isNear(isChange, at)) {
      old++;
      now++;
      at++;
      continue;
    }
    const hunk: string[] = [];
    const [oldFrom, nowFrom] = [old, now];
    for (; at < lines.length && isNear(isChange, at); at++) {
      const line = lines[at] ?? "";
      hunk.push(line[0] + line.slice(2));
      if (!line.startsWith("+")) old++;
      if (!line.startsWith("-")) now++;
    }
    // As one text: a file may have more lines than a call can have arguments.
    hunks.push(`@@ -${range(oldFrom, old)} +${range(nowFrom, now)} @@`, hunk.join("\n"));
  }
  return hunks;
}

/** Whether a line is shown: it has changed, or one near it has. */
function isNear(isChange: readonly boolean[], at: number): boolean {
  for (let near = Math.max(0, at - CONTEXT); near <= at + CONTEXT; near++) {
    if (isChange[near] === true) return true;
  }
  return false;
}

/** POSIX diff: an empty range begins at the line before it. */
function range(from: number, to: number): string {
  return `${to === from ? from - 1 : from},${to - from}`;
}
