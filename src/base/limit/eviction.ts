/** What is kept open for somebody who may come back. */
export interface Kept {
  /** The principal whose it is. */
  readonly owner: string;
  /** Milliseconds since it was last used; none while it is in use. */
  readonly idle: number;
}

/**
 * What is given up where there is no room for one more: what is idle longest of whoever has most, or
 * of the newcomer itself. So nobody pushes out what others have by beginning more and more.
 */
export function givenUpFor<T extends Kept>(newcomer: string, all: Iterable<T>): T | undefined {
  const counts = new Map<string, number>();
  let most = newcomer;
  const kept = [...all];
  for (const { owner } of kept) {
    const count = (counts.get(owner) ?? 0) + 1;
    counts.set(owner, count);
    if (count > (counts.get(most) ?? 0)) most = owner;
  }
  let found: T | undefined;
  for (const each of kept) {
    const isCandidate = each.owner === most || each.owner === newcomer;
    if (isCandidate && each.idle > (found?.idle ?? 0)) found = each;
  }
  return found;
}
