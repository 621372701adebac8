const MOST = 3;

/** The candidates that someone who typed `given` may have meant, the nearest first. */
export function suggest(given: string, candidates: readonly string[]): string[] {
  const typed = given.toLowerCase();
  const near = candidates
    .map((word) => ({ word, distance: distanceTo(word, typed) }))
    .filter(({ distance }) => distance <= allowance(typed))
    .toSorted((a, b) => a.distance - b.distance);
  const best = near[0]?.distance;
  // A clear winner needs no rivals beside it.
  return near
    .filter(({ distance }) => distance === best)
    .slice(0, MOST)
    .map(({ word }) => word);
}

function distanceTo(word: string, typed: string): number {
  // A beginning is as good as one slip: people shorten.
  if (typed.length >= 2 && word.startsWith(typed)) return Math.min(1, word.length - typed.length);
  // Its last word alone is nearer than any slip: `servers`, as VS Code has it, for `mcpServers`.
  const isLastWord = typed.length >= 4 && word.endsWith(typed[0]?.toUpperCase() + typed.slice(1));
  if (isLastWord) return 0.5;
  // Each character of difference in length is a slip. A model may call a tool by a megabyte.
  const difference = Math.abs(word.length - typed.length);
  return difference > allowance(typed) ? difference : editDistance(typed, word);
}

/** How many slips still point at a word: the longer it is, the more. */
function allowance(typed: string): number {
  if (typed.length <= 4) return 1;
  return typed.length <= 7 ? 2 : 3;
}

/** Damerau-Levenshtein (optimal string alignment): a swap of neighbours is one slip, not two. */
export function editDistance(a: string, b: string): number {
  let older: number[] = [];
  let old = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(at(old, j) + 1, at(row, j - 1) + 1, at(old, j - 1) + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) cost = Math.min(cost, at(older, j - 2) + 1);
      row.push(cost);
    }
    older = old;
    old = row;
  }
  return at(old, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Infinity;
}
