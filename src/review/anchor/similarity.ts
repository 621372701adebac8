/** Longer lines are compared by their beginnings. */
const MOST = 400;

/** How alike two lines are, from 0 to 1, whatever the space around them: by edits (Levenshtein). */
export function similarity(one: string, other: string): number {
  const a = one.trim().slice(0, MOST);
  const b = other.trim().slice(0, MOST);
  if (a === b) return 1;
  const longest = Math.max(a.length, b.length);
  // The difference in length alone is as many edits.
  if (Math.min(a.length, b.length) < longest / 2) return 0;
  return 1 - edits(a, b) / longest;
}

function edits(a: string, b: string): number {
  let row = Uint16Array.from({ length: b.length + 1 }, (_, index) => index);
  let next = new Uint16Array(b.length + 1);
  for (let i = 1; i <= a.length; i++) {
    next[0] = i;
    for (let j = 1; j <= b.length; j++) {
      const change = a.charCodeAt(i - 1) === b.charCodeAt(j - 1) ? 0 : 1;
      next[j] = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + change);
    }
    [row, next] = [next, row];
  }
  return row[b.length] ?? 0;
}
