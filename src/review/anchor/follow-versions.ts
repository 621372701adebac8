import { GONE, type Confidence, type LineMatcher, type LinePosition } from "./line-position.ts";

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
  let isCertain = true;
  for (const step of steps) {
    const position = step.find(line - 1, end - 1);
    if (position.line === undefined) return GONE;
    ({ line, end = line } = position);
    isCertain &&= position.confidence === "exact";
    if (position.method === "fuzzy" || (position.method === "quote" && method === "diff")) {
      method = position.method;
    }
  }
  const confidence = isCertain ? "exact" : method === "fuzzy" ? "low" : "high";
  return { line, end, confidence, method };
}

/**
 * The position through the commits, compared with the one by the first and the last text alone. Only
 * if both are certain of the same place is it exact.
 */
export function agreed(direct: LinePosition, followed: LinePosition): LinePosition {
  const isSame = direct.line === followed.line && direct.end === followed.end;
  if (direct.confidence === "exact" && followed.confidence === "exact" && isSame) return direct;
  // Removed by one commit and restored by a later one.
  if (followed.line === undefined && direct.confidence === "exact") {
    return { ...direct, confidence: "high" };
  }
  return { ...followed, confidence: uncertain(followed) };
}

/** "exact" needs both; one of them alone is "high". */
export function uncertain({ confidence }: LinePosition): Confidence {
  return confidence === "exact" ? "high" : confidence;
}
