import type { Version } from "./codec.ts";

/** How a method is served. */
export interface ServeOptions {
  /** Its time is counted elsewhere. */
  readonly isPatient?: boolean;
  /** The method whose limits hold for it, too. */
  readonly limitedAs?: string;
  /** The only version that has it. */
  readonly only?: Version;
}

/** What later versions of the protocol do without. */
export const ONLY_V1: ServeOptions = { only: 1 };
