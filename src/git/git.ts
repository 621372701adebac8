import { statSync } from "node:fs";

import { TrunklineError } from "../base/errors.ts";
import { maskText } from "../base/text/mask.ts";
import type { Stop } from "../base/stop.ts";
import { isInBareRepository } from "./git-folder.ts";
import { type GitMode, gitCommand } from "./git-commands.ts";
import { gitEnvironment } from "./git-environment.ts";
import { hardenedCall } from "./hardened-call.ts";
import { type ProgramEnd, runProgram } from "./run-program.ts";

export interface GitOptions {
  /** The environment of whoever asks; git gets the part of it that it needs. */
  readonly env?: NodeJS.ProcessEnv;
  /** Milliseconds. */
  readonly timeout?: number;
  /** Bytes. */
  readonly maxOutput?: number;
}

export interface GitCall {
  /** Exit codes that are answers; 0 is one when left out. */
  readonly accepts?: readonly number[];
  readonly input?: string | Buffer;
  /** Variables besides the usual ones. */
  readonly env?: NodeJS.ProcessEnv;
  /**
   * "read", when left out, runs none of the programs that git can be configured to run: a repository
   * is not trusted by being looked at. "write" may change it, and runs its hooks and filters: that
   * is for a person to allow.
   */
  readonly mode?: GitMode;
  /** The transports that it may use (`https`, `ssh`, `file`); none when left out. */
  readonly protocols?: readonly string[];
  readonly timeout?: number;
  readonly stop?: Stop;
}

export interface GitAnswer {
  readonly code: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

const TIMEOUT = 30_000;
const MAX_OUTPUT = 64 * 1024 * 1024;

/**
 * Git as it is run in one folder. Arguments are passed as they are: no shell sees them. Nothing else
 * starts git but git/server, for folders of its own.
 */
export class Git {
  readonly folder: string;
  readonly #options: GitOptions;
  readonly #env: NodeJS.ProcessEnv;
  #isInBare: boolean | undefined;

  constructor(folder: string, options: GitOptions = {}) {
    this.folder = folder;
    this.#options = options;
    this.#env = gitEnvironment(options.env ?? process.env);
  }

  /** The same in another folder. */
  in(folder: string): Git {
    return new Git(folder, this.#options);
  }

  /** Whether the repository here is a bare one that may be used. */
  get isInBareRepository(): boolean {
    return (this.#isInBare ??= isInBareRepository(this.folder));
  }

  /** What ssh and other companions of git run in. */
  get env(): NodeJS.ProcessEnv {
    return this.#env;
  }

  /** Runs git to its end. Throws what git says when it fails. */
  async run(args: readonly string[], call: GitCall = {}): Promise<GitAnswer> {
    const { timeout = TIMEOUT, maxOutput = MAX_OUTPUT } = this.#options;
    const { mode = "read", protocols = [] } = call;
    const hardened = await hardenedCall(this, gitCommand(args, mode), mode);
    let end: ProgramEnd;
    try {
      end = await runProgram({
        command: "git",
        args: hardened.args,
        cwd: this.folder,
        env: {
          ...this.#env,
          ...hardened.env,
          GIT_ALLOW_PROTOCOL: protocols.join(":"),
          ...call.env,
        },
        timeout: call.timeout ?? timeout,
        maxOutput,
        stop: call.stop,
        ...(call.input === undefined ? {} : { input: call.input }),
      });
    } catch (error) {
      throw this.#unstarted(error);
    }
    const { code, stdout, stderr } = end;
    if (typeof code === "number" && (call.accepts ?? [0]).includes(code)) {
      return { code, stdout, stderr };
    }
    throw gitFailure(args, end, this.folder);
  }

  /** What git writes, without the last line end. */
  async text(args: readonly string[], call: GitCall = {}): Promise<string> {
    const { stdout } = await this.run(args, call);
    return stdout.toString("utf8").replace(/\r?\n$/, "");
  }

  #unstarted(error: unknown): unknown {
    if (!(error instanceof TrunklineError) || error.code !== "unavailable") return error;
    // A folder that is not there looks to the system like a program that is not.
    if (!statSync(this.folder, { throwIfNoEntry: false })?.isDirectory()) {
      const says = `Cannot run git in '${this.folder}': there is no such folder`;
      return new TrunklineError("not-found", says, { cause: error });
    }
    const isMissing = ((error.cause ?? {}) as NodeJS.ErrnoException).code === "ENOENT";
    const why = isMissing ? "it is not installed, or not in PATH" : error.message;
    return new TrunklineError("unavailable", `Cannot run git: ${why}`, { cause: error });
  }
}

/** Says in git's own words what went wrong. */
export function gitFailure(args: readonly string[], end: ProgramEnd, folder: string): Error {
  const said = maskText(end.stderr.trim()).replaceAll(/^(?:fatal|error): /gm, "");
  if (/detected dubious ownership/.test(said)) {
    const next = `If you trust it: git config --global --add safe.directory '${folder}'`;
    const says = `Cannot use the repository in '${folder}': somebody else owns it. ${next}`;
    return new TrunklineError("untrusted", says);
  }
  if (/cannot use bare repository/.test(said)) {
    const why = "its configuration comes from whoever made those files";
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
