import type { Probe } from "./probe.ts";

export type Role = "plugin" | "orchestrator";

/** One thing that every program on the bus has to do. */
export interface Rule {
  readonly id: string;
  /** The section of the protocol that it is from, as in `test/requirements/bus.ts`. */
  readonly section: string;
  /** What has to hold. */
  readonly says: string;
  /** Whom it is for; both where left out. */
  readonly role?: Role;
  /** Throws what does not hold, or that it could not be found out (`skip`). */
  readonly check: (probe: Probe) => Promise<void>;
}

/** A rule that could not be checked, and why. */
export class Skipped extends Error {
  override readonly name = "Skipped";
}

export function skip(why: string): never {
  throw new Skipped(why);
}

/** Throws what was found instead, if something does not hold. */
export function demand(holds: boolean, found: string): asserts holds {
  if (!holds) throw new Error(found);
}
