import { TrunklineError } from "../../base/errors.ts";
import type { Stop } from "../../base/stop.ts";
import { gitFailure, type GitAnswer } from "../git.ts";
import { runProgram } from "../run-program.ts";
import { type Credentials, loginWith } from "./credentials.ts";

export interface ServerGitOptions {
  /** A git folder of ours, which nobody else can write to. */
  readonly gitDir: string;
  /** A work tree, which may be anybody's. */
  readonly workTree?: string;
  /** The program of `writeAskpass`. */
  readonly askpass: string;
  /** Protocols that may be used; `https` and `ssh` when left out. */
  readonly protocols?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

export interface ServerCall {
  /** Exit codes that are answers; 0 is one when left out. */
  readonly accepts?: readonly number[];
  readonly input?: string | Buffer;
  readonly env?: NodeJS.ProcessEnv;
  readonly timeout?: number;
  readonly maxOutput?: number;
  readonly stop?: Stop;
  /** Only calls that fetch or push have them. */
  readonly credentials?: Credentials | undefined;
}

const TIMEOUT = 60_000;
const MAX_OUTPUT = 64 * 1024 * 1024;

/** Whatever a work tree or a remote says, none of it is run. */
const SETTINGS = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.symlinks=true",
  "core.protectHFS=true",
  "core.protectNTFS=true",
  "core.attributesFile=/dev/null",
  "core.excludesFile=/dev/null",
  "core.autocrlf=false",
  "credential.helper=",
  "diff.ignoreSubmodules=all",
  "submodule.recurse=false",
  "http.followRedirects=false",
  "fetch.fsckObjects=true",
  "fetch.recurseSubmodules=false",
  "fetch.writeCommitGraph=false",
  "push.recurseSubmodules=no",
  "gc.auto=0",
  "maintenance.auto=false",
  "protocol.version=2",
  "safe.directory=*",
  "safe.bareRepository=explicit",
  "checkout.workers=0",
] as const;

/**
 * Git as a server runs it on repositories of strangers: with its own git folder, without anybody's
 * configuration, hooks, filters or helpers, over few protocols, and asking nobody.
 */
export class ServerGit {
  readonly gitDir: string;
  readonly workTree: string | undefined;
  readonly #options: ServerGitOptions;

  constructor(options: ServerGitOptions) {
    this.gitDir = options.gitDir;
    this.workTree = options.workTree;
    this.#options = options;
  }

  /** Runs git to its end. Throws what git says when it fails. */
  async run(args: readonly string[], call: ServerCall = {}): Promise<GitAnswer> {
    const { protocols = ["https", "ssh"], env = process.env, askpass } = this.#options;
    const { gitDir, workTree } = this;
    const settings = SETTINGS.flatMap((setting) => ["-c", setting]);
    const where = workTree === undefined ? [] : [`--work-tree=${workTree}`];
    const login = loginWith(call.credentials, askpass);
    const end = await runProgram({
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
        GIT_ALLOW_PROTOCOL: protocols.join(":"),
        GIT_PAGER: "cat",
        GIT_EDITOR: "false",
        GIT_NO_LAZY_FETCH: "1",
        ...login.env,
        ...call.env,
      },
      timeout: call.timeout ?? TIMEOUT,
      maxOutput: call.maxOutput ?? MAX_OUTPUT,
      stop: call.stop,
      ...(call.input === undefined ? {} : { input: call.input }),
      ...(login.secret === undefined ? {} : { secret: login.secret }),
    });
    const { code, stdout, stderr } = end;
    if (typeof code === "number" && (call.accepts ?? [0]).includes(code)) {
      return { code, stdout, stderr };
    }
    throw explain(gitFailure(args, end, workTree ?? gitDir), stderr);
  }

  /** What git writes, without the last line end. */
  async text(args: readonly string[], call: ServerCall = {}): Promise<string> {
    const { stdout } = await this.run(args, call);
    return stdout.toString("utf8").replace(/\r?\n$/, "");
  }

  /** The same git folder with another work tree, or with none. */
  on(workTree: string | undefined): ServerGit {
    const { workTree: _, ...options } = this.#options;
    return new ServerGit(workTree === undefined ? options : { ...options, workTree });
  }
}

/** Of our own environment, what says where programs, certificates and proxies are. */
const PASSED =
  /^(?:PATH|TMPDIR|SSH_AUTH_SOCK|SSL_CERT_(?:FILE|DIR)|GIT_SSL_CAINFO|(?:https?|no|all)_proxy)$/i;

function passed(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => PASSED.test(name)));
}

/** What a remote answers to somebody whom it does not know, or does not let in. */
const NO_ACCESS =
  /Authentication failed|could not read Username|Permission denied \(|HTTP (?:401|403)|returned error: 40[13]|terminal prompts disabled|Repository not found|does not appear to be a git/i;

function explain(error: Error, stderr: string): Error {
  if (!NO_ACCESS.test(stderr)) return error;
  return new TrunklineError("untrusted", error.message, { cause: error });
}
