import type { SetupFailure } from "./layers.ts";
import type { Recipe } from "./recipe.ts";

/** How long a failed set-up is left alone: twice as long after each failure. */
const FIRST_WAIT = 30_000;
const LONGEST_WAIT = 60 * 60_000;

/** What failed while a request waited for it has failed for it, too. */
export function mayTry({ at, count }: SetupFailure, begun: number, retry: boolean): boolean {
  return at < begun && (retry || Date.now() >= at + waitAfter(count));
}

function waitAfter(count: number): number {
  return Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (count - 1));
}

export function wordsOnFailure({ title }: Recipe, why: string): string {
  return `The environment could not be set up (${title}): ${why}`;
}

export function wordsOnNext({ at, count }: SetupFailure, log: string): string {
  const seconds = Math.max(0, Math.ceil((at + waitAfter(count) - Date.now()) / 1_000));
  const when = seconds > 120 ? `${Math.ceil(seconds / 60)} min` : `${seconds} s`;
  return `This session goes on without it. A session that begins in ${when} tries again, one with \`trunkline run --retry-setup\` at once. The whole log is on the server: ${log}`;
}

export function wordsOnEarlier(failure: SetupFailure, recipe: Recipe, log: string): string {
  const ago = Math.round((Date.now() - failure.at) / 1_000);
  return `${wordsOnFailure(recipe, failure.why)} (${ago} s ago). ${wordsOnNext(failure, log)}`;
}
