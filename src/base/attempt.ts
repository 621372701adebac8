export function attempt<T>(work: () => T): T | undefined;
export function attempt<T, E>(work: () => T, otherwise: E): T | E;
/** Returns the result of `work`, or `otherwise` if it throws. Not for promises: a rejection is not caught. */
export function attempt<T, E>(work: () => T, otherwise?: E): T | E | undefined {
  try {
    return work();
  } catch {
    return otherwise;
  }
}
