import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { TrunklineError } from "../base/errors.ts";
import { absolutePath } from "../base/process/environment.ts";
import { visibleLine } from "../base/text/visible.ts";
import { findProgram } from "../run/open/find-program.ts";
import type { StartCommand } from "./targets.ts";

const TIMEOUT = 30_000;

/**
 * Claude Code writes its file all the time, from each of its windows. Its own command takes the lock
 * that these take.
 */
export class ClaudeCommand {
  readonly #program: string;
  readonly #env: NodeJS.ProcessEnv;

  private constructor(program: string, env: NodeJS.ProcessEnv) {
    this.#program = program;
    this.#env = env;
  }

  /** Undefined if it is not installed. */
  static find(env: NodeJS.ProcessEnv): ClaudeCommand | undefined {
    const found = findProgram("claude", absolutePath(env.PATH));
    return found && new ClaudeCommand(found.path, env);
  }

  async add(name: string, { command, args }: StartCommand): Promise<void> {
    await this.#run("mcp", "add", "--scope", "user", name, "--", command, ...args);
  }

  async remove(name: string): Promise<void> {
    await this.#run("mcp", "remove", "--scope", "user", name);
  }

  async #run(...args: string[]): Promise<void> {
    const options = { env: this.#env, timeout: TIMEOUT, cwd: "/" };
    const running = promisify(execFile)(this.#program, args, options);
    // It would ask there.
    running.child.stdin?.end();
    try {
      await running;
    } catch (error) {
      const {
        stderr = "",
        message,
        killed,
      } = error as { stderr?: string; message: string; killed?: boolean };
      const why = killed === true ? "it did not end within 30 s" : stderr.trim() || message;
      const says = `Cannot set up Claude Code: '${this.#program} ${args.slice(0, 2).join(" ")}' failed: ${visibleLine(why)}`;
      throw new TrunklineError("unavailable", says, { cause: error });
    }
  }
}
