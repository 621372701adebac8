import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { Git } from "../../src/git/git.ts";
import { runFromShell } from "../support/run-from-shell.ts";
import { initRepository } from "../support/stored-folder.ts";

/** A home of its own for a test, with a repository in it, and git as it runs there. */
export class SampleRepository implements Disposable {
  readonly home = realpathSync(mkdtempSync(join(tmpdir(), "trunkline-git-")));
  readonly path = join(this.home, "app");
  readonly env: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    HOME: this.home,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
  };

  constructor() {
    initRepository(this.path);
  }

  get git(): Git {
    return this.gitIn(this.path);
  }

  gitIn(folder: string): Git {
    return new Git(folder, { env: this.env });
  }

  /** Runs git in the repository as a person would. */
  run(...args: string[]): string {
    return this.runIn(this.path, ...args);
  }

  runIn(folder: string, ...args: string[]): string {
    return this.runWith(folder, {}, ...args);
  }

  runWith(folder: string, env: NodeJS.ProcessEnv, ...args: string[]): string {
    return runFromShell("git", args, { cwd: folder, env: { ...this.env, ...env } }).trimEnd();
  }

  /** A first commit, by nobody in particular. */
  commit(folder: string = this.path): void {
    const nobody = ["-c", "user.name=Nobody", "-c", "user.email=nobody@example.com"];
    const only = ["-c", "maintenance.auto=false"];
    this.runIn(folder, ...nobody, ...only, "commit", "-q", "--allow-empty", "-m", "First");
  }

  addWorktree(name: string): string {
    const path = join(this.home, name);
    this.run("worktree", "add", "-q", "-b", name, path);
    return path;
  }

  write(name: string, content: string | Buffer): string {
    const path = join(this.home, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return path;
  }

  /** A hook of the repository. */
  hook(name: string, script: string): void {
    chmodSync(this.write(`app/.git/hooks/${name}`, `#!/bin/sh\n${script}\n`), 0o755);
  }

  read(name: string): Buffer {
    return readFileSync(join(this.home, name));
  }

  [Symbol.dispose](): void {
    rmSync(this.home, { recursive: true, force: true });
  }
}
