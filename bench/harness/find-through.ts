import {
  GONE,
  type LineMatcher,
  type LinePosition,
  type Method,
} from "../../src/review/anchor/line-position.ts";

/**
 * Follows lines through all versions of a text. Two neighbouring versions differ little, so
 * similar lines can be distinguished that are ambiguous between the first and the last version. `first` and
 * `last` count from 0.
 */
export function findThrough(
  steps: readonly LineMatcher[],
  first: number,
  last: number,
): LinePosition {
  let [line, end] = [first + 1, last + 1];
  let method: Method = "diff";
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
