import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";

import { shellQuote } from "../../base/text/shell-word.ts";
import { editConfig } from "../../git/config/edit-config.ts";
import type { Git } from "../../git/git.ts";
import { replaceFile } from "../../store/replace-file.ts";
import { helperSettings } from "../git-settings.ts";

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

/** Makes git ask us for tokens wherever the file is included. It contains no secret. */
export async function writeHelperFile(git: Git, path: string, helper: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const bytes = await editConfig(git, Buffer.alloc(0), helperSettings(helper));
  await replaceFile(path, bytes.toString("utf8"));
}
