/** A session or connection that stays open for a client that may come back. */
export interface Candidate {
  /** The id of the principal that it belongs to. */
  readonly owner: string;
  /** Milliseconds since it was last used; 0 while it is in use. */
  readonly idle: number;
}

/**
 * Chooses which connection to close to make room for a new one of `newcomer`: the longest idle one of the
 * newcomer, or of the owner with the most. So nobody can push out others by opening many. Undefined if all of
 * these are in use.
 */
export function evictedFor<T extends Candidate>(newcomer: string, all: Iterable<T>): T | undefined {
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

/** Drops the oldest entries of a map that has more than so many. */
export function keepNewest<K>(map: Map<K, unknown>, most: number): void {
  for (const oldest of map.keys()) {
    if (map.size <= most) return;
    map.delete(oldest);
  }
}
