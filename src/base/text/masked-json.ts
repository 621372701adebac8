import { isUnmasked, mask } from "./mask.ts";

/** Longer texts are masked value by value: searching them for all signs at once takes longer. */
const LONGEST = 160;

/** What every secret has, by its name or its shape (mask.ts), and what may hide one: an escape. */
const MAY_BE_SECRET =
  /[\\@]|token|secret|passw|passphrase|api[-_]?key|private[-_ ]?key|credential|cookie|auth|bearer|basic|"pin"|gh[pousr]_|github_pat|tlk_|glpat-|atbb|sk-|xox|akia|aiza|npm_|\.ey/i;

/** More containers than may be nested. */
const MAY_BE_DEEP = /^(?:[^[{]*[[{]){12}/;

/**
 * The JSON of a masked copy (`mask`) of what a text says. Most texts hold no secret, and stay as they
 * are: looking for signs of one costs far less than a copy.
 */
export function maskedJson(json: string): string {
  const isPlain = isSearched(json) && !MAY_BE_SECRET.test(json) && !MAY_BE_DEEP.test(json);
  return isPlain ? json : maskedJsonOf(JSON.parse(json));
}

/** Whether it is looked for secrets in the text itself. What a longer one says is cheaper to look at. */
export function isSearched(json: string): boolean {
  return json.length <= LONGEST;
}

/** The JSON of a masked copy of a value. Most values hold no secret, and are not copied. */
export function maskedJsonOf(value: unknown): string {
  return JSON.stringify(isUnmasked(value) ? value : mask(value));
}
