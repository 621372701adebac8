import type { KeyPath } from "../layer.ts";
import { PROJECT_KEYS } from "./keys.gen.ts";

/** What a project's file may set. */
export type ProjectAccess = "always" | "trusted" | "never" | "inside";

/** "inside" when the answer differs among the keys below. */
export function projectAccess(path: KeyPath): ProjectAccess {
  // What holds for a group holds for each key in it.
  const found = PROJECT_KEYS.find(([key]) => isWithin(path, key));
  if (found !== undefined) return found[1] ? "always" : "never";
  return PROJECT_KEYS.some(([key]) => isWithin(key, path)) ? "inside" : "trusted";
}

/** Whether a key is another one or below it. */
export function isWithin(path: KeyPath, outer: KeyPath): boolean {
  return outer.every((step, at) => path[at] === step);
}
