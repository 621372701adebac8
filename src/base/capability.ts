import type { Settings } from "./settings.ts";

/** A part of the program that does work of its own. The registry lists them all. */
export interface Capability {
  readonly name: string;
  /** Its keys of the configuration. */
  readonly settings?: Settings;
}
