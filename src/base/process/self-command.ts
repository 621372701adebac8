import { existsSync, realpathSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join, resolve } from "node:path";

import { isExecutable } from "../file/path.ts";
import { shellWord } from "../text/shell-word.ts";

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

/** The one file that starts this program and may be linked to: of a checkout, or an executable by itself. */
export function launcher(): string | undefined {
  const [program, script] = selfCommand();
  if (script === undefined) return program;
  const file = join(dirname(script), "../scripts/trunkline");
  return isExecutable(file) ? file : undefined;
}

/** The words that a person types to start this program: its name if that is in PATH, else its path. */
export function typedCommand(env: NodeJS.ProcessEnv): string {
  if (pathFolders(env).some((folder) => isExecutable(join(folder, "trunkline"))))
    return "trunkline";
  const file = launcher();
  return (file === undefined ? selfCommand() : [file]).map(shellWord).join(" ");
}

/** The folders where the shell of a person looks for programs. */
export function pathFolders(env: NodeJS.ProcessEnv): readonly string[] {
  return env.PATH?.split(delimiter).filter((folder) => isAbsolute(folder)) ?? [];
}

/** Whether words start this program with a command of its own. */
export function isSelfCommand(words: readonly unknown[], command: string): boolean {
  const own = [...selfCommand(), command];
  return own.every((word, at) => word === words[at]);
}
