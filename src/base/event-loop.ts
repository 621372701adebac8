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
