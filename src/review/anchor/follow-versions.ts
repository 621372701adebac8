import { GONE, type LineMatcher, type LinePosition } from "./line-position.ts";

/**
 * Follows lines through all versions of a text. There are few changes between two versions, so
 * similar lines can be told apart that the first and the last version alone could not. `first` and
 * `last` count from 0.
 */
export function findThrough(
  steps: readonly LineMatcher[],
  first: number,
  last: number,
): LinePosition {
  let [line, end] = [first + 1, last + 1];
  let method: LinePosition["method"] = "diff";
  for (const step of steps) {
    const position = step.find(line - 1, end - 1);
    if (position.line === undefined) return GONE;
    ({ line, end = line } = position);
    if (position.method === "fuzzy" || (position.method === "quote" && method === "diff")) {
      method = position.method;
    }
  }
  return { line, end, confidence: method === "fuzzy" ? "low" : "high", method };
}
