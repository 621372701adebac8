import { TrunklineError } from "../../base/errors.ts";
import type { SessionEntry } from "./session-entry.ts";

export interface StoredEntry {
  readonly entry: SessionEntry;
  readonly revision: number;
}

/** The entries of sessions, by id. A write names the revision that it replaces. */
export interface Records {
  get(id: string): Promise<StoredEntry | undefined>;
  /**
   * Returns the new revision. `revision` 0 writes an entry that does not exist yet. Throws `Outdated` if
   * the entry has another revision, and `Refused` if it cannot be written. After any other error it may
   * have been written, now or later.
   */
  put(id: string, entry: SessionEntry, revision: number): Promise<number>;
}

/** What was to be replaced, or continued, has changed meanwhile. Nothing was written. */
export class Outdated extends Error {
  override readonly name = "Outdated";
}

/** The server has refused to write something, for a reason that is not who holds the session. */
export class Refused extends Error {
  override readonly name = "Refused";
}

/** Whether another attempt would end in the same way. */
export function isFinal(error: unknown): boolean {
  if (error instanceof TrunklineError) return error.code !== "unavailable";
  return error instanceof Outdated || error instanceof Refused;
}

/** What NATS refuses is told to whoever asked, with its reason. */
export function told(error: unknown): unknown {
  if (!(error instanceof Refused)) return error;
  return new TrunklineError("unavailable", error.message, { cause: error });
}
