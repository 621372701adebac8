import { isUtf8 } from "node:buffer";
import { realpathSync, statSync } from "node:fs";
import { resolve } from "node:path";
import type { Readable } from "node:stream";
import { attempt } from "../base/attempt.ts";
import { TrunklineError } from "../base/errors.ts";
import { maskText } from "../base/text/mask.ts";
import { isInBareRepository, topFolder, worktreeAt } from "./git-folder.ts";
import { type ProgramEnd, runProgram } from "./run-program.ts";

interface GitOptions {
  /** The caller's environment; git gets the variables that it needs. */
  readonly env?: NodeJS.ProcessEnv;
  /** Milliseconds. */
  readonly timeout?: number;
  /** Bytes. */
  readonly maxOutput?: number;
  /** A repository that only we write: its configuration has no filters, so they are not looked up. */
  readonly isOurs?: boolean;
}

export interface GitCall {
  /** Exit codes that are not failures; 0 by default. */
  readonly accepts?: readonly number[];
  readonly input?: string | Buffer | Readable;
  /** Additional variables. */
  readonly env?: NodeJS.ProcessEnv;
  /**
   * "read", the default, runs none of the programs that git can be configured to run: looking at a
   * repository does not mean trusting it. "files" may change the repository, and runs no hooks and
   * none of its own filters. "write" may change the repository and runs its hooks and
   * filters, so a person has to allow it.
   */
  readonly mode?: GitMode;
  /** The transports that it may use (`https`, `ssh`, `file`); none when left out. */
  readonly protocols?: readonly string[];
  readonly timeout?: number;
  readonly signal?: AbortSignal;
}

export interface GitAnswer {
  readonly code: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** The base of all classes that run git. */
export abstract class GitRunner<Call> {
  abstract run(args: readonly string[], call?: Call): Promise<GitAnswer>;

  /** The output of git without the last line end. */
  async text(args: readonly string[], call?: Call): Promise<string> {
    return (await this.run(args, call)).stdout.toString("utf8").replace(/\r?\n$/, "");
  }

  /** The entries of an output that ends each with a NUL, as `-z` does. */
  async list(args: readonly string[], call?: Call): Promise<string[]> {
    return (await this.run(args, call)).stdout.toString("utf8").split("\0").filter(Boolean);
  }
}

const TIMEOUT = 30_000;
const MAX_OUTPUT = 64 * 1024 * 1024;

/**
 * Runs git in one folder, without a shell. Nothing else in the program runs git, except git/server
 * in folders of its own.
 */
export class Git extends GitRunner<GitCall> {
  readonly folder: string;
  readonly isOurs: boolean;
  readonly #options: GitOptions;
  readonly #env: NodeJS.ProcessEnv;
  #isInBare: boolean | undefined;

  constructor(folder: string, options: GitOptions = {}) {
    super();
    this.folder = folder;
    this.isOurs = options.isOurs === true;
    this.#options = options;
    this.#env = gitEnvironment(options.env ?? process.env);
  }

  /** Git with the same options in another folder. */
  in(folder: string): Git {
    return new Git(folder, this.#options);
  }

  /** Whether the repository here is a bare one that may be used. */
  get isInBareRepository(): boolean {
    return (this.#isInBare ??= isInBareRepository(this.folder));
  }

  /** The environment for ssh and other programs that work with git. */
  get env(): NodeJS.ProcessEnv {
    return this.#env;
  }

  /** Runs git and waits for its end. Throws git's message when it fails. */
  async run(args: readonly string[], call: GitCall = {}): Promise<GitAnswer> {
    const { timeout = TIMEOUT, maxOutput = MAX_OUTPUT } = this.#options;
    const { mode = "read", protocols = [] } = call;
    const hardened = await hardenedCall(this, gitCommand(args, mode), mode);
    const allowed = { GIT_ALLOW_PROTOCOL: protocols.join(":") };
    const end = await runProgram({
      command: "git",
      args: hardened.args,
      cwd: this.folder,
      env: { ...this.#env, ...hardened.env, ...allowed, ...call.env },
      timeout: call.timeout ?? timeout,
      maxOutput,
      signal: call.signal,
      // Otherwise hooks, filters and helpers of transports may run.
      isAlone: mode === "read" && protocols.length === 0,
      ...(call.input === undefined ? {} : { input: call.input }),
    }).catch((error: unknown) => {
      throw this.#unstarted(error);
    });
    const { code, stdout, stderr } = end;
    if (typeof code === "number" && (call.accepts ?? [0]).includes(code)) {
      return { code, stdout, stderr };
    }
    throw gitFailure(args, end, this.folder);
  }

  #unstarted(error: unknown): unknown {
    if (!(error instanceof TrunklineError) || error.code !== "unavailable") return error;
    // The system reports ENOENT for a missing folder as well as for a missing program.
    const stats = statSync(this.folder, { throwIfNoEntry: false });
    if (!stats?.isDirectory()) {
      const why = stats === undefined ? "there is no such folder" : "it is not a folder";
      const says = `Cannot run git in '${this.folder}': ${why}`;
      return new TrunklineError("not-found", says, { cause: error });
    }
    const isMissing = ((error.cause ?? {}) as NodeJS.ErrnoException).code === "ENOENT";
    const why = isMissing ? "it is not installed, or not in PATH" : error.message;
    return new TrunklineError("unavailable", `Cannot run git: ${why}`, { cause: error });
  }
}

/** The author of commits. */
export interface Author {
  readonly name: string;
  readonly email: string;
}

/** Used where git knows no name of the user. */
export const NOBODY: Author = { name: "Trunkline", email: "trunkline@localhost" };

export function authorVariables(author: Author = NOBODY, committer = author) {
  return {
    GIT_AUTHOR_NAME: author.name,
    GIT_AUTHOR_EMAIL: author.email,
    GIT_COMMITTER_NAME: committer.name,
    GIT_COMMITTER_EMAIL: committer.email,
  };
}

/** The line that names a co-author at the end of a message, as forges read it. */
export function coAuthorLine({ name, email }: Author): string {
  return `Co-authored-by: ${name} <${email}>`;
}

/** What stands for the session in lines at the end of a message, and the line that names it. */
export const SESSION_MARK = "{session}";
export const SESSION_LINE = `Trunkline-Session: ${SESSION_MARK}`;

/** Bytes of stdout in the message of a failure. */
const MOST_SAID = 2_000;

/** An error with git's own message. */
export function gitFailure(args: readonly string[], end: ProgramEnd, folder: string): Error {
  // Some failures, such as that of a commit without changes, are explained on stdout.
  const output = end.stderr.trim() || end.stdout.subarray(0, MOST_SAID).toString("utf8").trim();
  const said = maskText(output).replaceAll(/^(?:fatal|error): /gm, "");
  if (/detected dubious ownership/.test(said)) {
    const next = `If you trust it: git config --global --add safe.directory '${folder}'`;
    const says = `Cannot use the repository in '${folder}': somebody else owns it. ${next}`;
    return new TrunklineError("untrusted", says);
  }
  if (/cannot use bare repository/.test(said)) {
    const why = "its configuration came with those files";
    const says = `Cannot use '${folder}': it is in a bare repository among the files of another, and ${why}. Clone it to a folder of its own`;
    return new TrunklineError("untrusted", says);
  }
  if (/not a git repository/.test(said)) {
    const says = `'${folder}' is not in a git repository. Go into one, or name one with --repo`;
    return new TrunklineError("not-found", says);
  }
  const what = maskText(`git ${args.find((arg) => !arg.startsWith("-")) ?? ""}`.trim());
  const how = said === "" ? `it ended with ${end.code}` : said;
  return new TrunklineError("unavailable", `'${what}' failed in '${folder}': ${how}`);
}

/** The file system monitor is a hook. Git works without it. */
const ALWAYS = ["core.fsmonitor=false"];
/**
 * For the summary, git would run in each submodule, with that submodule's configuration. Names in
 * other scripts are not escaped: neither a person nor a model reads `"\303\274.js"` as `ü.js`.
 */
const READING = [
  "core.hooksPath=/dev/null",
  "status.submoduleSummary=false",
  "core.quotePath=false",
];
/** A submodule has a configuration of its own, in which git would run. */
const FILES = ["core.hooksPath=/dev/null", "submodule.recurse=false"];

/** An empty variable for `--config-env`, which also accepts keys whose names contain `=`. */
const EMPTY = "TRUNKLINE_EMPTY";

/**
 * Adds arguments and variables so that a repository cannot make git run a program. Git has no
 * single option for that. What has a setting is turned off by it. Filters can have any name, so all
 * configured filters are looked up and emptied, the user's own too, since a repository's attributes
 * choose among them.
 */
export async function hardenedCall(
  git: Git,
  command: ResolvedCommand,
  mode: GitMode,
): Promise<{ readonly args: readonly string[]; readonly env: NodeJS.ProcessEnv }> {
  const env = {
    // Otherwise git fetches missing objects of a partial clone, with a program that the remote's
    // configuration names.
    GIT_NO_LAZY_FETCH: "1",
    ...(mode === "read" ? { GIT_OPTIONAL_LOCKS: "0" } : {}),
  };
  const bare = `safe.bareRepository=${git.isInBareRepository ? "all" : "explicit"}`;
  // Reading the configuration runs nothing, and settings added here would appear in the output.
  if (command.name === "config") return { args: ["-c", bare, ...command.args], env };
  const isAsked = command.filters === true || mode === "files";
  const filters = isAsked && !git.isOurs ? await filterSettings(git) : undefined;
  if (filters !== undefined && command.filters === true) checkWorkTree(git, filters);
  const settings = [bare, ...ALWAYS, ...{ read: READING, files: FILES, write: [] }[mode]];
  const { keys = [], own = [], hooks = [] } = filters ?? {};
  const off = command.filters === true ? { read: keys, files: own, write: [] }[mode] : [];
  // An empty value is false. A reading git, which takes no locks, runs no hook.
  const emptied = [...off, ...(mode === "files" ? hooks : [])];
  const args = [
    ...settings.flatMap((setting) => ["-c", setting]),
    ...emptied.map((key) => `--config-env=${key}=${EMPTY}`),
    ...command.args,
  ];
  return { args, env: emptied.length > 0 ? { ...env, [EMPTY]: "" } : env };
}

function checkWorkTree(git: Git, { workTree }: FilterSettings): void {
  const top = topFolder(git.folder);
  const found = top === undefined ? undefined : worktreeAt(top);
  // Linked work trees ignore the shared core.worktree (git's setup.c).
  const isLinked = found !== undefined && found.gitDir !== found.commonDir;
  const named = isLinked ? workTree.worktree : (workTree.worktree ?? workTree.local);
  if (named === undefined) return;
  const folder = found && attempt(() => realpathSync(resolve(found.gitDir, named)));
  if (folder === undefined || folder !== top) throw foreignWorkTree(git, named);
}

/** A repository could point core.worktree at somebody's home folder. */
export function foreignWorkTree({ folder }: Git, named: string): TrunklineError {
  const says = `its core.worktree is '${named}', which is not the folder that it is in`;
  return new TrunklineError("untrusted", `Cannot use the repository in '${folder}': ${says}`);
}

/** The settings in a folder that decide how git reads files of the work tree. */
interface FilterSettings {
  /** The keys of all configured filters. With empty values, no filter runs. */
  readonly keys: readonly string[];
  /** The keys of filters that the repository configures itself, other than Git LFS. */
  readonly own: readonly string[];
  /** The keys that turn off hooks of the configuration, which git has since 2.54. */
  readonly hooks: readonly string[];
  /**
   * `core.worktree`: the folder of the files, as the repository or one of its work trees configures
   * it.
   */
  readonly workTree: { readonly local?: string; readonly worktree?: string };
}

const FILTER = /^filter\.(.*)\.(clean|smudge|process|required)$/s;
const HOOK = /^(hook\..*)\.(?:command|event)$/s;
/** What `git lfs install --local` writes. Its program is looked up in PATH, so it is the user's. */
const LFS: ReadonlySet<string> = new Set([
  ...["git-lfs clean -- %f", "git-lfs smudge -- %f", "git-lfs smudge --skip -- %f"],
  ...["git-lfs filter-process", "git-lfs filter-process --skip", "true"],
]);
/** Each key is an argument of the call. No real repository has more. */
const MOST_KEYS = 1_000;

/** Asks git for its configuration, which runs nothing. */
async function filterSettings(git: Git): Promise<FilterSettings> {
  const { stdout } = await git.run(["config", "-z", "--show-scope", "--list"]);
  // Latin-1, because a filter's name may be any bytes.
  const parts = stdout.toString("latin1").split("\0");
  const keys = new Set<string>();
  const own = new Set<string>();
  const hooks = new Set<string>();
  const workTree: { local?: string; worktree?: string } = {};
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [scope = "", entry = ""] = parts.slice(at, at + 2);
    const [key = ""] = entry.split("\n", 1);
    if (FILTER.test(key)) keys.add(key);
    const [, hook] = HOOK.exec(key) ?? [];
    if (hook !== undefined) hooks.add(`${hook}.enabled`);
    if (scope !== "local" && scope !== "worktree") continue;
    if (FILTER.test(key) && !LFS.has(entry.slice(key.length + 1))) own.add(key);
    if (key !== "core.worktree") continue;
    workTree[scope] = decoded(entry.slice(key.length + 1));
  }
  if (keys.size + hooks.size > MOST_KEYS) {
    const count = keys.size + hooks.size;
    const says = `it has ${count} settings of filters and hooks, more than ${MOST_KEYS}`;
    throw refusal(git, `${says}. Look at its .git/config`);
  }
  const foreign = [...keys, ...hooks].find((key) => !isUtf8(Buffer.from(key, "latin1")));
  if (foreign !== undefined) {
    // Arguments are UTF-8, so this could not be turned off.
    throw refusal(git, `its setting '${decoded(foreign)}' has a name that is not UTF-8. Rename it`);
  }
  return {
    keys: [...keys].map(decoded),
    own: [...own].map(decoded),
    hooks: [...hooks].map(decoded),
    workTree,
  };
}

function refusal({ folder }: Git, why: string): TrunklineError {
  return new TrunklineError("untrusted", `Cannot use the repository in '${folder}': ${why}`);
}

function decoded(bytes: string): string {
  return Buffer.from(bytes, "latin1").toString("utf8");
}

/**
 * Whether git applies a filter to a file of the work tree. Reading runs no filters, so git's answer
 * about the content of such a file would be wrong.
 */
export async function isFiltered(git: Git, path: string): Promise<boolean> {
  const { keys } = await filterSettings(git);
  if (keys.length === 0) return false;
  const { stdout } = await git.run(["check-attr", "-z", "filter", "--", path]);
  // `path NUL attribute NUL value NUL`
  const [, , filter = ""] = stdout.toString("utf8").split("\0");
  return keys.some((key) => key.startsWith(`filter.${filter}.`));
}

/**
 * The variables of our environment that git, ssh and gpg need to find the user's files and agents.
 */
const PASSED = [
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|TERM|LANG|LANGUAGE|TZ|TMPDIR|TMP|TEMP|DISPLAY)$/,
  /^(?:LC_|XDG_)/,
  /^(?:https?_proxy|no_proxy|all_proxy|SSL_CERT_(?:FILE|DIR))$/i,
  /^(?:SSH_AUTH_SOCK|SSH_AGENT_PID|GNUPGHOME|GPG_TTY)$/,
  // Not `GIT_DIR` and the like: they may come from a hook that started us, and name another
  // repository.
  /^GIT_CONFIG_(?:NOSYSTEM|SYSTEM|GLOBAL|PARAMETERS|COUNT|KEY_\d+|VALUE_\d+)$/,
  /^GIT_(?:CEILING_DIRECTORIES|DISCOVERY_ACROSS_FILESYSTEM|EXEC_PATH|SSL_NO_VERIFY|SSL_CAINFO)$/,
];

/**
 * The environment that git runs in: it asks nobody, opens neither pager nor editor, and speaks plain
 * English.
 */
export function gitEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const passed = Object.entries(env).filter(([name]) => PASSED.some((each) => each.test(name)));
  return {
    ...Object.fromEntries(passed),
    LC_ALL: "C",
    LANGUAGE: "",
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "",
    SSH_ASKPASS: "",
    GIT_PAGER: "cat",
    PAGER: "cat",
    GIT_EDITOR: ":",
    GIT_SEQUENCE_EDITOR: ":",
  };
}

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
  blame: { mode: "read", filters: true },
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
  "hash-object": { mode: "files", filters: true },
  "index-pack": { mode: "files" },
  init: { mode: "files" },
  "pack-objects": { mode: "files" },
  "read-tree": { mode: "files", filters: true },
  "notes add": { mode: "files" },
  "receive-pack": { mode: "files" },
  "reflog delete": { mode: "files" },
  reset: { mode: "files", filters: true },
  "symbolic-ref": { mode: "files" },
  "update-index": { mode: "files", filters: true },
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

const OBJECT_ID = /^[0-9a-f]{40,64}$/;

const VERBS: Readonly<Record<GitMode, string>> = {
  read: "read",
  files: "change files",
  write: "write",
};

/** The command that the arguments call, and the arguments with its options added. */
interface ResolvedCommand extends GitCommand {
  readonly name: string;
  readonly args: readonly string[];
}

/** Throws for an unknown command, and for one that does more than the mode allows. */
export function gitCommand(args: readonly string[], mode: GitMode): ResolvedCommand {
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
  // Blame of a commit reads no file of the work tree.
  const isBlameAt = name === "blame" && OBJECT_ID.test(rest[rest.indexOf("--") - 1] ?? "");
  const filters = (command.filters === true && !isBlameAt) || rest.includes("--filters");
  return { ...command, filters, name, args: [name, ...(command.options ?? []), ...rest] };
}
