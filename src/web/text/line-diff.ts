import type { DiffHunk, DiffLine } from "./unified-diff.ts";

const CONTEXT = 3;
/** Two texts with more differences are shown as one text removed and the other added. */
const MAX_EDITS = 1000;

/** The hunks between two texts, for tool calls, which have the whole texts (ACP tool-calls, diffs). */
export function diffLines(oldText: string, newText: string): DiffHunk[] {
  const old = linesOf(oldText);
  const fresh = linesOf(newText);
  let head = 0;
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head++;
  let tail = 0;
  while (
    tail < Math.min(old.length, fresh.length) - head &&
    old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]
  ) {
    tail++;
  }
  const middle = edits(old.slice(head, old.length - tail), fresh.slice(head, fresh.length - tail));
  const kinds: DiffLine["kind"][] = [
    ...Array<"same">(head).fill("same"),
    ...middle,
    ...Array<"same">(tail).fill("same"),
  ];
  let at = 0;
  let to = 0;
  const lines = kinds.map((kind): DiffLine => {
    if (kind === "added") return { kind, text: fresh[to] ?? "", new: ++to };
    if (kind === "removed") return { kind, text: old[at] ?? "", old: ++at };
    return { kind, text: old[at] ?? "", old: ++at, new: ++to };
  });
  return hunksOf(lines);
}

function linesOf(text: string): string[] {
  if (text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}

/** Myers, "An O(ND) Difference Algorithm and Its Variations", section 2: the greedy algorithm. */
function edits(old: readonly string[], fresh: readonly string[]): DiffLine["kind"][] {
  const replaced = (): DiffLine["kind"][] => [
    ...Array<"removed">(old.length).fill("removed"),
    ...Array<"added">(fresh.length).fill("added"),
  ];
  if (old.length === 0 || fresh.length === 0) return replaced();
  const most = Math.min(old.length + fresh.length, MAX_EDITS);
  const reach = new Int32Array(2 * most + 3);
  const trace: Int32Array[] = [];
  for (let d = 0; d <= most; d++) {
    trace.push(reach.slice(most - d, most + d + 3));
    for (let k = -d; k <= d; k += 2) {
      const isDown =
        k === -d || (k !== d && valueAt(reach, most + k) < valueAt(reach, most + k + 2));
      let x = isDown ? valueAt(reach, most + k + 2) : valueAt(reach, most + k) + 1;
      while (x < old.length && x - k < fresh.length && old[x] === fresh[x - k]) x++;
      reach[most + k + 1] = x;
      if (x >= old.length && x - k >= fresh.length)
        return backtrack(trace, old.length, fresh.length);
    }
  }
  return replaced();
}

function backtrack(
  trace: readonly Int32Array[],
  width: number,
  height: number,
): DiffLine["kind"][] {
  const kinds: DiffLine["kind"][] = [];
  let x = width;
  let y = height;
  for (let d = trace.length - 1; d >= 0; d--) {
    const reach = trace[d] ?? new Int32Array();
    const k = x - y;
    const isDown = k === -d || (k !== d && valueAt(reach, d + k) < valueAt(reach, d + k + 2));
    const fromX = d === 0 ? 0 : valueAt(reach, isDown ? d + k + 2 : d + k);
    const fromY = d === 0 ? 0 : fromX - (isDown ? k + 1 : k - 1);
    const [beginX, beginY] = d === 0 ? [0, 0] : isDown ? [fromX, fromY + 1] : [fromX + 1, fromY];
    for (; x > beginX && y > beginY; x--, y--) kinds.push("same");
    if (d > 0) kinds.push(isDown ? "added" : "removed");
    x = fromX;
    y = fromY;
  }
  return kinds.toReversed();
}

function valueAt(values: Int32Array, index: number): number {
  return values[index] ?? 0;
}

/** Cuts a whole comparison into hunks with a few lines around each change. */
function hunksOf(lines: readonly DiffLine[]): DiffHunk[] {
  const hunks: DiffLine[][] = [];
  let lastChange = -Infinity;
  for (const [index, line] of lines.entries()) {
    if (line.kind === "same") continue;
    const isNear = index - lastChange <= 2 * CONTEXT + 1;
    const from = isNear ? lastChange + 1 : Math.max(0, index - CONTEXT, lastChange + 1 + CONTEXT);
    if (!isNear) {
      if (hunks.length > 0)
        hunks.at(-1)?.push(...lines.slice(lastChange + 1, lastChange + 1 + CONTEXT));
      hunks.push([]);
    }
    hunks.at(-1)?.push(...lines.slice(from, index + 1));
    lastChange = index;
  }
  if (hunks.length > 0)
    hunks.at(-1)?.push(...lines.slice(lastChange + 1, lastChange + 1 + CONTEXT));
  return hunks.map((found) => ({ heading: "", lines: found }));
}
