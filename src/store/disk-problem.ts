import { diskWords, TrunklineError } from "../base/errors.ts";

/** What the system said of a file, and what was to be done with it. */
export function diskProblem(verb: string, path: string, cause: unknown): unknown {
  const words = diskWords(cause);
  if (words === undefined) return cause;
  return new TrunklineError("unavailable", `Cannot ${verb} '${path}': ${words}`, { cause });
}
