/** A row of a store as all nodes have it; undefined where the row is deleted. */
export type SharedText = string | undefined;

export interface SharedRows {
  readonly rows: ReadonlyMap<string, string>;
  /** All rows of the store are there, so that a row that is missing was deleted. */
  readonly isWhole: boolean;
  /** The store is gone, as after damage. Its rows were not deleted: it gets those of the others again. */
  readonly isLost?: boolean;
  /** Up to where the store was read. */
  readonly end?: unknown;
}

/** Makes or changes a row: gets it as it is. */
export type Decide = (key: string, local: SharedText) => SharedText;

/**
 * A store whose rows all nodes of a fleet share, such as the access tokens. Each node has its own store,
 * which several processes change; a row is a text under a key. The text has nothing that belongs to one
 * machine, such as a row number or a secret.
 */
export interface SharedKind {
  /** A word, which is part of subjects in NATS. */
  readonly name: string;
  /** Differs after each change of the store. Asked several times a second. */
  stamp(): unknown;
  /** The rows that may have changed since an earlier `end`; without one, all. */
  read(since?: unknown): Promise<SharedRows>;
  /**
   * Changes rows in one transaction: `decide` gets the row as it is then, and says how it is to be.
   * Returns the rows as they are afterwards, which differs where this version cannot keep a text.
   */
  change(keys: readonly string[], decide: Decide): Promise<ReadonlyMap<string, SharedText>>;
  /** The row where one was changed here and meanwhile also elsewhere. What it returns differs from `shared` only if that is to be sent. */
  merge(local: SharedText, shared: SharedText): SharedText;
}

/** The same text for equal objects, whatever the order of their fields. */
export function rowText(row: object): string {
  const fields = Object.entries(row).filter(([, value]) => value !== undefined);
  return JSON.stringify(Object.fromEntries(fields.toSorted(([a], [b]) => (a < b ? -1 : 1))));
}
