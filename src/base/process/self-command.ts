import { existsSync, realpathSync } from "node:fs";
import { resolve } from "node:path";

/**
 * The words that start this program again, from anywhere and with any `PATH`, to be written into
 * files of other programs.
 */
export function selfCommand(): readonly [string, ...string[]] {
  const { isSea } = process.getBuiltinModule("node:sea");
  if (isSea()) return [process.execPath];
  return [lastingPath(process.execPath), resolve(process.argv[1] ?? "trunkline")];
}

/**
 * Homebrew removes the folder of a version when it installs the next; a link that it keeps leads to
 * the present one.
 */
export function lastingPath(node: string): string {
  const link = node.replace(/\/Cellar\/([^/]+)\/[^/]+\//, "/opt/$1/");
  if (link === node || !existsSync(link)) return node;
  return realpathSync(link) === realpathSync(node) ? link : node;
}

/** Whether words start this program with a command of its own. */
export function isSelfCommand(words: readonly unknown[], command: string): boolean {
  const own = [...selfCommand(), command];
  return own.every((word, at) => word === words[at]);
}
