import { TrunklineError } from "../base/errors.ts";

/** What the system said of a file, in words that a person can act on. */
export function diskProblem(verb: string, path: string, cause: unknown): unknown {
  const { code, message } = cause as NodeJS.ErrnoException;
  // Faults of the program stay what they are.
  if (code === undefined || cause instanceof TrunklineError) return cause;
  const isFull = code === "ENOSPC" || code === "EDQUOT";
  const next = isFull ? ". Free some space on its disk, and try again." : "";
  return new TrunklineError("unavailable", `Cannot ${verb} '${path}': ${message}${next}`, {
    cause,
  });
}
