import { HELD } from "./held-secrets.ts";
import { SECRET_JSON_MARK } from "./secret-patterns.ts";
import { isUnmasked, mask } from "./mask.ts";

/** Longer texts are masked value by value: searching them for all signs at once takes longer. */
const LONGEST = 160;

/** More containers than may be nested. */
const MAY_BE_DEEP = /^(?:[^[{]*[[{]){12}/;

/**
 * The JSON of a masked copy (`mask`) of what a text says. Most texts hold no secret, and stay as they
 * are: looking for signs of one costs far less than a copy.
 */
export function maskedJson(json: string): string {
  const isPlain = isSearched(json) && !mayHaveSecret(json) && !MAY_BE_DEEP.test(json);
  return isPlain ? json : maskedJsonOf(JSON.parse(json));
}

function mayHaveSecret(json: string): boolean {
  return SECRET_JSON_MARK.test(json) || HELD.isIn(json);
}

/** Whether it is looked for secrets in the text itself. What a longer one says is cheaper to look at. */
export function isSearched(json: string): boolean {
  return json.length <= LONGEST;
}

/** The JSON of a masked copy of a value. Most values hold no secret, and are not copied. */
export function maskedJsonOf(value: unknown): string {
  return JSON.stringify(isUnmasked(value) ? value : mask(value));
}
