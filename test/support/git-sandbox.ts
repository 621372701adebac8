import { once } from "node:events";
import { realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";

import { AppContext } from "../../src/config/app-context.ts";
import { openLocalSandbox } from "../../src/sandbox/open/local-sandbox.ts";
import type { CommandSandbox } from "../../src/agent/files/command-sandbox.ts";
import { systemProgram } from "../../src/sandbox/remedy.ts";
import { SampleHome } from "../samples/sample-home.ts";
import { runFromShell } from "./run-from-shell.ts";
import { spawnWrapped } from "./spawn-wrapped.ts";

const isMissing = ["bwrap", "nsenter"].some((name) => systemProgram(name) === undefined);
export const skip =
  isMissing && "It needs bubblewrap and nsenter: install bubblewrap and util-linux.";

export const WHO = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];

const NAMES = {
  GIT_AUTHOR_NAME: "Ada",
  GIT_AUTHOR_EMAIL: "ada@example.org",
  GIT_COMMITTER_NAME: "Ada",
  GIT_COMMITTER_EMAIL: "ada@example.org",
};

interface Ran {
  readonly output: string;
  readonly notes: readonly string[];
  readonly limits: readonly string[];
}

/** A repository of a person, and the sandbox of a session that works in it. */
export class GitSandbox implements AsyncDisposable {
  readonly home: SampleHome;
  readonly repo: string;
  readonly #sandbox: CommandSandbox;
  readonly env: NodeJS.ProcessEnv;

  private constructor(
    home: SampleHome,
    repo: string,
    sandbox: CommandSandbox,
    env: NodeJS.ProcessEnv,
  ) {
    this.home = home;
    this.repo = repo;
    this.#sandbox = sandbox;
    this.env = env;
  }

  /** `prepare` gets the top of a repository with a commit, and returns the folder of the session. */
  static async open(prepare: (repo: string) => string = (repo) => repo): Promise<GitSandbox> {
    const home = await SampleHome.create();
    const repo = realpathSync(home.project);
    git(repo, "init", "-q", "-b", "main");
    git(repo, "config", "user.name", "Ada");
    git(repo, "config", "user.email", "ada@example.org");
    writeFileSync(join(repo, "a.txt"), "one\ntwo\nthree\n");
    git(repo, "add", "--all");
    git(repo, "commit", "-q", "-m", "first");
    const folder = prepare(repo);
    await home.write(home.userFile, '{ "agent": { "sandbox": "on" } }');
    return await GitSandbox.in(home, repo, folder);
  }

  /** Another session in the same repository. */
  static async in(home: SampleHome, repo: string, folder = repo): Promise<GitSandbox> {
    const { config } = await home.load();
    const app = new AppContext(config, { files: [], load: async () => config });
    const env = { PATH: process.env.PATH, HOME: home.path, ...NAMES };
    return new GitSandbox(home, repo, openLocalSandbox(app, [folder], env), env);
  }

  /** Runs a command line in the sandbox, to its end. */
  async run(line: string, cwd = this.repo): Promise<Ran> {
    await using inside = await this.#sandbox.enter(async () => false);
    const { confine, notes, limits } = inside;
    const shell = confine({
      command: "/bin/sh",
      args: ["-c", `exec 2>&1\n${line}`],
      env: this.env,
      cwd,
    });
    const { command, args = [], env, cwd: at = "/", files = [] } = shell;
    const child = spawnWrapped({ command, args, env, cwd: at, files });
    const exited = once(child, "exit");
    const said = child.stdout === null ? "" : await text(child.stdout);
    const [code] = (await exited) as [number | null];
    const output = code === 0 ? said : `${said}(exit code ${code})`;
    await inside[Symbol.asyncDispose]();
    return { output, notes, limits };
  }

  /** Git as the person runs it. */
  git(...args: string[]): string {
    return git(this.repo, ...args);
  }

  /** Ends the session. Its repository stays. */
  async close(): Promise<void> {
    await this.#sandbox[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
    await this.home[Symbol.asyncDispose]();
  }
}

export function git(cwd: string, ...args: string[]): string {
  return runFromShell("git", [...WHO, ...args], { cwd });
}
