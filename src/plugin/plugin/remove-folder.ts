import { rmSync } from "node:fs";

/** Removes what a plugin was given, whatever it has made of it. What stays goes with a later bus. */
export function removeFolder(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // It is not worth failing for.
  }
}
