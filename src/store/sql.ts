import type { DatabaseSync, SQLTagStore } from "node:sqlite";

const stores = new WeakMap<DatabaseSync, SQLTagStore>();

/** Runs queries that are written with their values in place; each text is prepared once. */
export function sql(database: DatabaseSync): SQLTagStore {
  return stores.getOrInsertComputed(database, () => database.createTagStore());
}
