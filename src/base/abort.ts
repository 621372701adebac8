/** Why a signal was aborted, as an error. */
export function reasonOf(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  return reason instanceof Error ? reason : new Error(String(reason));
}

/**
 * Calls a listener once: when the signal is aborted, or at once when it already was. Returns how to
 * stop listening.
 */
export function onAbort(
  signal: AbortSignal | undefined,
  listener: (reason: Error) => void,
): () => void {
  if (signal === undefined) return () => {};
  const abort = (): void => listener(reasonOf(signal));
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  return () => signal.removeEventListener("abort", abort);
}
