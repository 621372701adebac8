import { TrunklineError } from "../base/errors.ts";

/** What a call of git may do: reading runs no program, writing runs what git is configured to. */
export type GitMode = "read" | "write";

/** Of git's commands, one that is used here. */
interface GitCommand {
  readonly mode: GitMode;
  /** Put behind its name. Options win over every configuration; settings do not always. */
  readonly options?: readonly string[];
  /** It compares files with what is stored, for which git runs filters. */
  readonly filters?: boolean;
}

const PATCH = ["--no-ext-diff", "--no-textconv", "--submodule=short"];
/** A submodule has a configuration of its own, and git would run another git in it. */
const SUBMODULES = "--ignore-submodules=dirty";

/**
 * All commands that are used. What is not among them is refused: to git it might be an alias, which
 * a repository can define.
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
  "worktree list": { mode: "read" },
  "config --list": { mode: "read" },
  "config --get": { mode: "read" },
  add: { mode: "write", filters: true },
  commit: { mode: "write", filters: true },
  config: { mode: "write" },
  "credential fill": { mode: "write" },
  "ls-remote": { mode: "write" },
};

/** The command that arguments are for, with what has to be added to them. */
export interface GivenCommand extends GitCommand {
  readonly name: string;
  readonly args: readonly string[];
}

/** Throws for a command that is not known, or that does more than its mode lets it. */
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
