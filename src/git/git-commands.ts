import { TrunklineError } from "../base/errors.ts";

/**
 * What a call of git may do: "read" runs no other program. "files" may change the repository and its
 * files; it runs no hooks, and only the filters that the user has configured. "write" runs hooks and
 * filters as configured.
 */
export type GitMode = "read" | "files" | "write";

const RIGHTS: Readonly<Record<GitMode, number>> = { read: 0, files: 1, write: 2 };

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
  "check-ignore": { mode: "read" },
  "check-ref-format": { mode: "read" },
  diff: { mode: "read", options: [...PATCH, SUBMODULES], filters: true },
  "diff-tree": { mode: "read" },
  "for-each-ref": { mode: "read" },
  grep: { mode: "read" },
  log: { mode: "read", options: [...PATCH, "--no-show-signature"] },
  "ls-files": { mode: "read", filters: true },
  "ls-tree": { mode: "read" },
  "merge-base": { mode: "read" },
  "rev-list": { mode: "read" },
  "rev-parse": { mode: "read" },
  show: { mode: "read", options: [...PATCH, "--no-show-signature"] },
  status: { mode: "read", options: [SUBMODULES], filters: true },
  var: { mode: "read" },
  version: { mode: "read" },
  "config --list": { mode: "read" },
  "config --get": { mode: "read" },
  "worktree list": { mode: "read" },
  "commit-tree": { mode: "files" },
  init: { mode: "files" },
  "receive-pack": { mode: "files" },
  "reflog delete": { mode: "files" },
  reset: { mode: "files", filters: true },
  "symbolic-ref": { mode: "files" },
  "update-ref": { mode: "files" },
  "worktree add": { mode: "files" },
  "worktree prune": { mode: "files" },
  "worktree remove": { mode: "files" },
  // It also writes the index, for which git compares files that may have changed.
  "write-tree": { mode: "files", filters: true },
  add: { mode: "files", filters: true },
  commit: { mode: "write", filters: true },
  config: { mode: "write" },
  "credential fill": { mode: "write" },
  "ls-remote": { mode: "write" },
  merge: { mode: "write", filters: true },
  "merge-tree": { mode: "write" },
};

const VERBS: Readonly<Record<GitMode, string>> = {
  read: "read",
  files: "change files",
  write: "write",
};

/** The command that the arguments call, and the arguments with its options added. */
export interface GivenCommand extends GitCommand {
  readonly name: string;
  readonly args: readonly string[];
}

/** Throws for an unknown command, and for one that does more than the mode allows. */
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
  if (RIGHTS[command.mode] > RIGHTS[mode]) {
    throw new TrunklineError("usage", `Cannot run 'git ${name}' to ${VERBS[mode]}: it may write`);
  }
  const filters = command.filters === true || rest.includes("--filters");
  return { ...command, filters, name, args: [name, ...(command.options ?? []), ...rest] };
}
