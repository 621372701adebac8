import type { SetupFailure } from "./layers.ts";
import type { Recipe } from "./recipe.ts";

/** Milliseconds until a failed set-up is retried; doubled after each further failure. */
const FIRST_WAIT = 30_000;
const LONGEST_WAIT = 60 * 60_000;

/** Whether set-up may be tried again. A failure during the request's own wait counts for the request, too. */
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
  return `This session continues without it. New sessions retry after ${when}; \`trunkline run --retry-setup\` retries at once. The whole log is on the server: ${log}`;
}

export function wordsOnEarlier(failure: SetupFailure, recipe: Recipe, log: string): string {
  const ago = Math.round((Date.now() - failure.at) / 1_000);
  return `${wordsOnFailure(recipe, failure.why)} (${ago} s ago). ${wordsOnNext(failure, log)}`;
}
