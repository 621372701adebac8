/** What says that work is to end early: an AbortSignal, or a call (`Call` of `rpc/peer.ts`). */
export interface StopSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: "abort", listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** An AbortSignal for what takes nothing else, such as a process or a request of Node's. */
export function abortSignalOf(signal: StopSignal): AbortSignal {
  if (signal instanceof AbortSignal) return signal;
  const controller = new AbortController();
  onAbort(signal, (reason) => controller.abort(reason));
  return controller.signal;
}

/** Why a signal was aborted, as an error. */
export function reasonOf(signal: StopSignal): Error {
  const reason: unknown = signal.reason;
  return reason instanceof Error ? reason : new Error(String(reason));
}

/**
 * Calls a listener once: when the signal is aborted, or at once when it already was. Returns how to
 * stop listening.
 */
export function onAbort(
  signal: StopSignal | undefined,
  listener: (reason: Error) => void,
): () => void {
  if (signal === undefined) return () => {};
  const abort = (): void => listener(reasonOf(signal));
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  return () => signal.removeEventListener("abort", abort);
}

/** Settles as the promise does, or rejects with the signal's reason if the signal is aborted first. */
export async function untilAborted<T>(promise: Promise<T>, signal?: StopSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  using ends = new DisposableStack();
  ends.defer(onAbort(signal, reject));
  return await Promise.race([aborted, promise]);
}

/**
 * Settles as the promise does, if that is in time. After the timeout it rejects with the error that `late`
 * makes, or resolves to undefined if `late` is left out.
 */
export function atMost<T>(milliseconds: number, promise: Promise<T>, late: () => Error): Promise<T>;
export function atMost<T>(milliseconds: number, promise: Promise<T>): Promise<T | undefined>;
export async function atMost<T>(
  milliseconds: number,
  promise: Promise<T>,
  late?: () => Error,
): Promise<T | undefined> {
  const timeout = Promise.withResolvers<undefined>();
  using _timer = setTimeout(() => {
    if (late === undefined) timeout.resolve(undefined);
    else timeout.reject(late());
  }, milliseconds);
  return await Promise.race([promise, timeout.promise]);
}
