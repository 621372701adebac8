export function attempt<T>(work: () => T): T | undefined;
export function attempt<T, E>(work: () => T, otherwise: E): T | E;
/** What the work returns, or what is given for where it throws. Not for promises: they do not throw. */
export function attempt<T, E>(work: () => T, otherwise?: E): T | E | undefined {
  try {
    return work();
  } catch {
    return otherwise;
  }
}
