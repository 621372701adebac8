import { mapLines, numberLines } from "./line-map.ts";

/** A line diff: `- ` marks removed lines, `+ ` added ones and two spaces those that stayed. */
export function diffLines(before: readonly string[], after: readonly string[]): string[] {
  const lines: string[] = [];
  let next = 0;
  const addUntil = (end: number): void => {
    while (next < end) lines.push(`+ ${after[next++]}`);
  };
  mapLines(numberLines(before, after)).forEach((to, at) => {
    if (to >= 0) addUntil(to);
    lines.push(`${to >= 0 ? "  " : "- "}${before[at]}`);
    if (to >= 0) next++;
  });
  addUntil(after.length);
  return lines;
}
