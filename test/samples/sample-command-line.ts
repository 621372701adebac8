import assert from "node:assert/strict";

import { runFromShell } from "../support/run-from-shell.ts";
import { type Ran, runInProcess } from "../support/run-in-process.ts";
import { initRepository } from "../support/stored-folder.ts";
import { SampleHome } from "./sample-home.ts";

/** The whole program in this process, with a home of its own and a repository to stand in. */
export class SampleCommandLine implements AsyncDisposable {
  readonly home: SampleHome;
  readonly env: NodeJS.ProcessEnv;

  private constructor(home: SampleHome) {
    this.home = home;
    this.env = {
      HOME: home.path,
      PATH: process.env.PATH ?? "",
      USER: "ada",
      GIT_CONFIG_NOSYSTEM: "1",
      TRUNKLINE_TOKEN_STORE: "file",
    };
  }

  static async create(config: object = {}): Promise<SampleCommandLine> {
    const line = new SampleCommandLine(await SampleHome.create());
    await line.home.write(line.home.userFile, JSON.stringify(config));
    initRepository(line.home.project);
    return line;
  }

  git(...args: string[]): string {
    const { env, home } = this;
    const author = [
      "-c",
      "user.name=Ada",
      "-c",
      "user.email=ada@example.org",
      "-c",
      "maintenance.auto=false",
    ];
    return runFromShell("git", [...author, ...args], { cwd: home.project, env }).trim();
  }

  /** Runs `trunkline` with these arguments. Neither of its outputs is a terminal. */
  async run(...args: string[]): Promise<Ran> {
    return runInProcess(args, { env: this.env, cwd: this.home.project });
  }

  /** What a command that succeeds prints with --json. */
  async json<T>(...args: string[]): Promise<T> {
    const { code, out, err } = await this.run(...args, "--json");
    assert.equal(code, 0, err);
    return JSON.parse(out) as T;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]();
  }
}
