import { filterSettings } from "./config/filter-settings.ts";
import type { Git } from "./git.ts";

/**
 * Whether a file of the work tree is made by a filter from what is stored of it. Reading runs no
 * filters, so what git says that it holds is then not what it holds.
 */
export async function isFiltered(git: Git, path: string): Promise<boolean> {
  const { keys } = await filterSettings(git);
  if (keys.length === 0) return false;
  const { stdout } = await git.run(["check-attr", "-z", "filter", "--", path]);
  // `path NUL attribute NUL value NUL`
  const [, , filter = ""] = stdout.toString("utf8").split("\0");
  return keys.some((key) => key.startsWith(`filter.${filter}.`));
}
