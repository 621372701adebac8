import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { resolve, sep } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { TrunklineError } from "../../base/errors.ts";
import { type GitAnswer, gitFailure, GitRunner } from "../git.ts";
import { type ProgramEnd, runProgram } from "../run-program.ts";
import {
  type Credentials,
  loginWith,
  pinConnection,
  type PinnedConnection,
  type HostResolver,
} from "./pin-connection.ts";

export interface ServerGitOptions {
  /** A git folder that only we can write to. */
  readonly gitDir: string;
  /** A work tree; it need not be trusted. */
  readonly workTree?: string;
  /** The program of `writeAskpass`. */
  readonly askpass: string;
  /** Protocols that may be used; `https` and `ssh` when left out. */
  readonly protocols?: readonly string[];
  /** Says which addresses of a host git may connect to. Without it, git reaches no host. */
  readonly resolve?: HostResolver | undefined;
  readonly env?: NodeJS.ProcessEnv;
  /** Further settings, `key=value`. */
  readonly settings?: readonly string[];
}

/** A repository that a call fetches from or pushes to. */
interface RemoteAccess {
  readonly url: string;
  readonly credentials: Credentials;
}

export interface ServerCall {
  /** Exit codes that are not failures; 0 by default. */
  readonly accepts?: readonly number[];
  readonly input?: string | Buffer;
  readonly env?: NodeJS.ProcessEnv;
  readonly timeout?: number;
  readonly maxOutput?: number;
  readonly signal?: AbortSignal;
  /** Only calls that fetch, push or list refs of a remote have it: others reach nothing. */
  readonly remote?: RemoteAccess | undefined;
}

const TIMEOUT = 60_000;
const MAX_OUTPUT = 64 * 1024 * 1024;

/** With these settings git runs nothing that a work tree or a remote names. */
const SETTINGS = [
  ...["core.hooksPath=/dev/null", "core.fsmonitor=false", "core.autocrlf=false"],
  ...["core.symlinks=true", "core.protectHFS=true", "core.protectNTFS=true"],
  ...["core.attributesFile=/dev/null", "core.excludesFile=/dev/null", "credential.helper="],
  ...["diff.ignoreSubmodules=all", "submodule.recurse=false", "push.recurseSubmodules=no"],
  ...["fetch.fsckObjects=true", "fetch.recurseSubmodules=false", "fetch.writeCommitGraph=false"],
  ...["http.followRedirects=false", "protocol.version=2", "safe.bareRepository=explicit"],
  ...["gc.auto=0", "maintenance.auto=false", "checkout.workers=0"],
];

/**
 * Git for untrusted repositories on a server: its own git folder, nobody's configuration, no hooks,
 * filters or helpers, few protocols, no prompts.
 */
export class ServerGit extends GitRunner<ServerCall> {
  readonly gitDir: string;
  readonly workTree: string | undefined;
  readonly #options: ServerGitOptions;

  constructor(options: ServerGitOptions) {
    super();
    this.gitDir = options.gitDir;
    this.workTree = options.workTree;
    this.#options = options;
  }

  /**
   * Runs git and waits for its end. Throws git's message when it fails. A lock that a killed process
   * has left does not stop it.
   */
  async run(args: readonly string[], call: ServerCall = {}): Promise<GitAnswer> {
    const end = await this.#run(args, call);
    const lock = end.code === 0 ? undefined : lockIn(this.gitDir, end.stderr);
    if (lock === undefined) return this.#accept(args, call, end);
    await passLock(lock);
    return this.#accept(args, call, await this.#run(args, call));
  }

  #accept(args: readonly string[], call: ServerCall, end: ProgramEnd): GitAnswer {
    const { code, stdout, stderr } = end;
    if (typeof code === "number" && (call.accepts ?? [0]).includes(code)) {
      return { code, stdout, stderr };
    }
    const failure = gitFailure(args, end, this.workTree ?? this.gitDir);
    throw explain(failure, stderr, call.remote?.credentials);
  }

  async #run(args: readonly string[], call: ServerCall): Promise<ProgramEnd> {
    const { protocols = ["https", "ssh"], env = process.env, askpass } = this.#options;
    const { gitDir, workTree } = this;
    const { remote } = call;
    const pinned = remote === undefined ? undefined : await this.#pin(remote);
    const { settings: own = [] } = this.#options;
    const settings = [...SETTINGS, ...own, ...(pinned?.settings ?? [])].flatMap((each) => [
      "-c",
      each,
    ]);
    const where = workTree === undefined ? [] : [`--work-tree=${workTree}`];
    const login = loginWith(remote?.credentials, askpass);
    return await runProgram({
      command: "git",
      args: [...settings, `--git-dir=${gitDir}`, ...where, ...args],
      cwd: workTree ?? gitDir,
      env: {
        ...passed(env),
        LC_ALL: "C",
        HOME: "/nonexistent",
        GIT_CONFIG_NOSYSTEM: "1",
        GIT_CONFIG_GLOBAL: "/dev/null",
        GIT_ATTR_NOSYSTEM: "1",
        GIT_TERMINAL_PROMPT: "0",
        GIT_ALLOW_PROTOCOL: remote === undefined ? "" : protocols.join(":"),
        GIT_PAGER: "cat",
        GIT_EDITOR: "false",
        GIT_NO_LAZY_FETCH: "1",
        ...login.env,
        ...pinned?.env,
        ...call.env,
      },
      timeout: call.timeout ?? TIMEOUT,
      maxOutput: call.maxOutput ?? MAX_OUTPUT,
      signal: call.signal,
      isAlone: remote === undefined,
      ...(call.input === undefined ? {} : { input: call.input }),
      ...(login.secret === undefined ? {} : { secret: login.secret }),
    });
  }

  /** The commit of a name; undefined if there is none. */
  async resolve(name: string): Promise<string | undefined> {
    const found = await this.text(["rev-parse", "--quiet", "--verify", name], { accepts: [0, 1] });
    return found || undefined;
  }

  /** Checked for each connection: a name may resolve to another address than an hour ago. */
  async #pin({ url, credentials }: RemoteAccess): Promise<PinnedConnection> {
    const { resolve, env = process.env } = this.#options;
    const pinned = await pinConnection({ url, credentials, resolve, env: passed(env) });
    if (pinned.settings.length > 0) await checkVersion(passed(env));
    return pinned;
  }

  /** Another git folder with the same work tree. */
  at(gitDir: string): ServerGit {
    return new ServerGit({ ...this.#options, gitDir });
  }

  /** The same with other further settings. */
  with(settings: readonly string[]): ServerGit {
    return new ServerGit({ ...this.#options, settings });
  }

  /** The same git folder with another work tree, or with none. */
  on(workTree: string | undefined): ServerGit {
    const { workTree: _, ...options } = this.#options;
    return new ServerGit(workTree === undefined ? options : { ...options, workTree });
  }
}

/** The PATHs whose git is new enough. */
const checked = new Set<string | undefined>();

/** An older git ignores `http.curloptResolve`, and would look the host up by itself. */
async function checkVersion(env: NodeJS.ProcessEnv): Promise<void> {
  if (checked.has(env.PATH)) return;
  const limits = { timeout: TIMEOUT, maxOutput: MAX_OUTPUT };
  const { stdout } = await runProgram({ command: "git", args: ["version"], env, ...limits });
  const [, major = 0, minor = 0] = (/ (\d+)\.(\d+)/.exec(String(stdout)) ?? []).map(Number);
  if (major < 2 || (major === 2 && minor < 37)) {
    const why = "it cannot be told which address to connect to. Install git 2.37 or later";
    throw new TrunklineError("unavailable", `Cannot use git ${major}.${minor}: ${why}.`);
  }
  checked.add(env.PATH);
}

/** The variables of our environment that name programs, certificates and proxies. */
const PASSED =
  /^(?:PATH|TMPDIR|SSH_AUTH_SOCK|SSL_CERT_(?:FILE|DIR)|GIT_SSL_CA(?:INFO|PATH)|(?:https?|no|all)_proxy)$/i;

function passed(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => PASSED.test(name)));
}

/** What remotes answer without valid credentials. */
const NO_ACCESS =
  /Authentication failed|could not read Username|Permission denied \(|HTTP (?:401|403)|returned error: 40[13]|terminal prompts disabled|Repository not found|does not appear to be a git/i;

/** What git says where a remote asks for a token and there is none. */
const NO_TOKEN = /could not read Username|terminal prompts disabled/;

function explain(error: Error, stderr: string, credentials: Credentials | undefined): Error {
  if (!NO_ACCESS.test(stderr)) return error;
  const why = NO_TOKEN.test(stderr) ? credentials?.noToken : undefined;
  return new TrunklineError("untrusted", why ?? error.message, { cause: error });
}

/** Git's message when another git holds a lock. */
const LOCKED = /Unable to create '([^'\n]+\.lock)': File exists/;
/**
 * Milliseconds after which a lock is stale. If a server is killed, our watchdog ends its git within two
 * seconds, and a server runs only one git at a time that writes to a folder.
 */
const ABANDONED = 4_000;

/** The lock of a git folder of ours that a call ran into, by what git said. */
export function lockIn(gitDir: string, stderr: string): string | undefined {
  const path = LOCKED.exec(stderr)?.[1];
  if (path === undefined) return undefined;
  const lock = resolve(path);
  return lock.startsWith(resolve(gitDir) + sep) ? lock : undefined;
}

/** Waits until a lock is gone, or removes it where nobody can have it any more. */
export async function passLock(lock: string, abandoned = ABANDONED): Promise<void> {
  const giveUp = performance.now() + abandoned;
  while (existsSync(lock) && performance.now() < giveUp) await delay(20);
  await rm(lock, { force: true });
}
