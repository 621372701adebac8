import { inspect } from "node:util";

import { fileWords, TrunklineError, originalError } from "../../base/errors.ts";
import { maskText } from "../../base/text/mask.ts";
import { callOf, type Path } from "./command.ts";

/** How a failed command ends: a message for stderr and an exit code. */
export interface Failure {
  readonly text: string;
  readonly exitCode: 1 | 2;
}

/** Errors of the operating system that are not bugs of ours. */
const REFUSALS = "EACCES EPERM EROFS ENOSPC EDQUOT EIO EMFILE ENFILE ENOTDIR".split(" ");

/** An expected failure has its own message; any other is a bug, and --verbose shows its stack. */
export function renderFailure(failure: unknown, path: Path, verbose: boolean): Failure {
  const error = originalError(failure);
  if (error instanceof TrunklineError) {
    const said = `trunkline: ${maskText(error.message)}\n`;
    if (error.code !== "usage") return { text: said, exitCode: 1 };
    return { text: `${said}Run \`${callOf(path)} --help\` to see how it is used.\n`, exitCode: 2 };
  }
  const { code = "", message } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  const isRefusal = REFUSALS.includes(code);
  const said = maskText(isRefusal ? fileWords(error) : (message ?? String(error)));
  const why = isRefusal ? "" : " because of a bug in Trunkline";
  const text = `trunkline: '${callOf(path)}' failed${why}: ${said}\n`;
  const more = verbose
    ? maskText(inspect(failure))
    : "Run it again with --verbose to see where it happened.";
  return { text: `${text}${more}\n`, exitCode: 1 };
}
