import { join } from "node:path";

import { shellQuote } from "../../base/text/shell-word.ts";

/** How git and hooks start this program. */
export interface OwnProgram {
  /** Node and the program's file. */
  readonly command: readonly string[];
  /** Given if it was named by an option or a variable: a hook has neither. */
  readonly config?: string | undefined;
  readonly data?: string | undefined;
}

/** The shell command that starts this program with the same files. */
export function programWords({ command, config, data }: OwnProgram, ...words: string[]): string {
  const named = [
    ...(config === undefined ? [] : ["--config", config]),
    ...(data === undefined ? [] : ["--data", data]),
  ];
  return [...command, ...words, ...named].map(shellQuote).join(" ");
}

/** What git is to call for credentials, as `credential.helper` takes it. */
export function helperCommand(program: OwnProgram): string {
  return `!${programWords(program, "identity", "credential")}`;
}

/**
 * The file that a switch has git include if the identity has no token yet. While it does not exist,
 * git ignores it and keeps its own credential helpers.
 */
export function helperFile(data: string, name: string): string {
  return join(data, "identity", "helpers", `${encodeURIComponent(name)}.gitconfig`);
}
