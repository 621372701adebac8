/** The table of common lengths is not built beyond this: all lines are shown as removed and added. */
const MOST_CELLS = 4_000_000;

/** A line diff: `- ` marks removed lines, `+ ` added ones and two spaces those that stayed. */
export function diffLines(before: readonly string[], after: readonly string[]): string[] {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  return [
    ...before.slice(0, head).map((line) => `  ${line}`),
    ...changesBetween(
      before.slice(head, before.length - tail),
      after.slice(head, after.length - tail),
    ),
    ...before.slice(before.length - tail).map((line) => `  ${line}`),
  ];
}

function changesBetween(before: readonly string[], after: readonly string[]): string[] {
  if (before.length * after.length > MOST_CELLS) {
    return [...before.map((line) => `- ${line}`), ...after.map((line) => `+ ${line}`)];
  }
  const common = commonLengths(before, after);
  const at = (i: number, j: number): number => common[i]?.[j] ?? 0;
  const lines: string[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < after.length) {
    if (i < before.length && before[i] === after[j]) {
      lines.push(`  ${before[i]}`);
      i++;
      j++;
    } else if (i < before.length && (j === after.length || at(i + 1, j) >= at(i, j + 1))) {
      lines.push(`- ${before[i++]}`);
    } else {
      lines.push(`+ ${after[j++]}`);
    }
  }
  return lines;
}

/** Length of the longest common subsequence of `before` from i on and `after` from j on. */
function commonLengths(before: readonly string[], after: readonly string[]): Uint32Array[] {
  const rows = Array.from({ length: before.length + 1 }, () => new Uint32Array(after.length + 1));
  for (let i = before.length - 1; i >= 0; i--) {
    const [row, next] = [rows[i], rows[i + 1]];
    if (row === undefined || next === undefined) continue;
    for (let j = after.length - 1; j >= 0; j--) {
      row[j] =
        before[i] === after[j] ? (next[j + 1] ?? 0) + 1 : Math.max(next[j] ?? 0, row[j + 1] ?? 0);
    }
  }
  return rows;
}
