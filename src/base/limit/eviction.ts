/** A session or connection that stays open for a client that may come back. */
export interface EvictionCandidate {
  /** The id of the principal whose it is. */
  readonly owner: string;
  /** Milliseconds since it was last used; 0 while it is in use. */
  readonly idle: number;
}

/**
 * Chooses which one to close to make room for one more of `newcomer`: the longest idle one of the owner
 * that has most, or of the newcomer. So nobody can evict those of others by opening more and more.
 * Undefined if all of those are in use.
 */
export function evictedFor<T extends EvictionCandidate>(
  newcomer: string,
  all: Iterable<T>,
): T | undefined {
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
