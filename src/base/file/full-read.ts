/**
 * A read of so many bytes has filled its buffer, so there is more. Node would go on reading there up
 * to 32 times before it looks at anything else: whoever floods one stream would slow down all others.
 * After such a read, the next one waits for the next turn of the event loop.
 */
export const FULL_READ = 64 * 1024;

/** Resolves when everything else that is ready has had its turn. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
