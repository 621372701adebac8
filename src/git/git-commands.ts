import { TrunklineError } from "../base/errors.ts";

/**
 * What a call of git may do: "read" runs no other program, "write" runs hooks and filters as
 * configured.
 */
export type GitMode = "read" | "write";

/** One of the git commands that we use. */
interface GitCommand {
  readonly mode: GitMode;
  /**
   * Options that follow the command's name. Options override every configuration; `-c` settings do
   * not always.
   */
  readonly options?: readonly string[];
  /** It reads files of the work tree, for which git runs filters. */
  readonly filters?: boolean;
}

const PATCH = ["--no-ext-diff", "--no-textconv", "--submodule=short"];
/** A submodule has a configuration of its own, and git would run another git in it. */
const SUBMODULES = "--ignore-submodules=dirty";

/**
 * All commands that we use. Any other is refused: it might be an alias, which a repository can
 * define.
 */
const COMMANDS: Readonly<Record<string, GitCommand>> = {
  "cat-file": { mode: "read" },
  "check-attr": { mode: "read" },
  diff: { mode: "read", options: [...PATCH, SUBMODULES], filters: true },
  grep: { mode: "read" },
  log: { mode: "read", options: [...PATCH, "--no-show-signature"] },
  "ls-files": { mode: "read", filters: true },
  "ls-tree": { mode: "read" },
  "rev-list": { mode: "read" },
  "rev-parse": { mode: "read" },
  show: { mode: "read", options: [...PATCH, "--no-show-signature"] },
  status: { mode: "read", options: [SUBMODULES], filters: true },
  var: { mode: "read" },
  version: { mode: "read" },
  "config --list": { mode: "read" },
  "config --get": { mode: "read" },
  add: { mode: "write", filters: true },
  commit: { mode: "write", filters: true },
  config: { mode: "write" },
  "credential fill": { mode: "write" },
  "ls-remote": { mode: "write" },
};

/** The command that the arguments call, and the arguments with its options added. */
export interface GivenCommand extends GitCommand {
  readonly name: string;
  readonly args: readonly string[];
}

/** Throws for an unknown command, and for one that writes in read mode. */
export function gitCommand(args: readonly string[], mode: GitMode): GivenCommand {
  const [name = "", ...rest] = args;
  const longer = [rest[0] ?? "", "--list", "--get"].filter((word) => rest.includes(word));
  const key = [...longer.map((word) => `${name} ${word}`), name].find((each) =>
    Object.hasOwn(COMMANDS, each),
  );
  const command = key === undefined ? undefined : COMMANDS[key];
  if (command === undefined) {
    throw new TrunklineError("usage", `Cannot run 'git ${name}': it is not in git-commands.ts`);
  }
  if (command.mode === "write" && mode === "read") {
    throw new TrunklineError("usage", `Cannot run 'git ${name}' to read: it may write`);
  }
  const filters = command.filters === true || rest.includes("--filters");
  return { ...command, filters, name, args: [name, ...(command.options ?? []), ...rest] };
}
