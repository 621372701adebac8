import { onAbort } from "../../base/abort.ts";

/**
 * Yields the items of a source until it ends. Throws the reason when the signal is aborted: the source is
 * then told to end, but not waited for, since it may wait for something that never comes.
 */
export async function* untilStopped<T>(
  source: AsyncIterable<T> | Iterable<T>,
  signal: AbortSignal,
): AsyncGenerator<T, void, void> {
  const iterator =
    Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  let isOver = false;
  let giveUp = (_reason: Error): void => {};
  const stopListening = onAbort(signal, (reason) => giveUp(reason));
  try {
    for (;;) {
      signal.throwIfAborted();
      // Not a race with one promise for all: that would remember every item.
      const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<T>>();
      giveUp = reject;
      Promise.resolve(iterator.next()).then(resolve, reject);
      const next = await promise;
      isOver = next.done === true;
      if (next.done === true) return;
      yield next.value;
    }
  } catch (error) {
    isOver = !signal.aborted;
    throw error;
  } finally {
    stopListening();
    if (!isOver) Promise.resolve(iterator.return?.()).catch(() => {});
  }
}
