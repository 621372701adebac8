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

/** What has to be done before anything more leaves this process. */
const due: (() => void)[] = [];

/**
 * Has something done before the next bytes leave this process, to whomever, and at the latest at the
 * end of this turn of the event loop. So what an answer tells is written down first, and all that
 * one turn has to write is one write.
 */
export function beforeSending(work: () => void): void {
  if (due.push(work) === 1) setImmediate(aboutToSend);
}

/** To be called by whatever hands bytes to the system. Work must not throw. */
export function aboutToSend(): void {
  if (due.length > 0) for (const work of due.splice(0)) work();
}
