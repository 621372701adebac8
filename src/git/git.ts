import { statSync } from "node:fs";
import type { Readable } from "node:stream";

import { TrunklineError } from "../base/errors.ts";
import { maskText } from "../base/text/mask.ts";
import type { Stop } from "../base/stop.ts";
import { isInBareRepository } from "./git-folder.ts";
import { type GitMode, gitCommand } from "./git-commands.ts";
import { gitEnvironment } from "./git-environment.ts";
import { hardenedCall } from "./hardened-call.ts";
import type { ProgramEnd } from "./program.ts";
import { runProgram } from "./run-program.ts";

export interface GitOptions {
  /** The caller's environment; git gets the variables that it needs. */
  readonly env?: NodeJS.ProcessEnv;
  /** Milliseconds. */
  readonly timeout?: number;
  /** Bytes. */
  readonly maxOutput?: number;
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
 * Runs git in one folder, without a shell. Nothing else in the program runs git, except git/server
 * in folders of its own.
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

  /** The environment for ssh and other programs that work with git. */
  get env(): NodeJS.ProcessEnv {
    return this.#env;
  }

  /** Runs git and waits for its end. Throws git's message when it fails. */
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
        // Otherwise hooks, filters and helpers of transports may run.
        isAlone: mode === "read" && protocols.length === 0,
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

  /** The output of git without the last line end. */
  async text(args: readonly string[], call: GitCall = {}): Promise<string> {
    const { stdout } = await this.run(args, call);
    return stdout.toString("utf8").replace(/\r?\n$/, "");
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
