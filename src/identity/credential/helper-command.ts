import { shellQuote } from "../git-settings.ts";

/** How this program is called again by others: git, a hook. */
export interface OwnProgram {
  /** Node and the program's file. */
  readonly command: readonly string[];
  /** Named on the command line or by a variable: a hook may run without either. */
  readonly config?: string | undefined;
  readonly data?: string | undefined;
}

/** The program as words of a shell, with what it needs to find its files. */
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
