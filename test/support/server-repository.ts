import { execFileSync } from "node:child_process";
import { mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ServerGit } from "../../src/git/server/server-git.ts";

/** A bare remote with one commit on `main`, and a clone of it that a run works in. */
export class ServerRepository implements Disposable {
  readonly #folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-run-"));
  readonly folder = this.#folder.path;
  readonly remote = join(this.folder, "remote.git");
  readonly url = `file://${this.remote}`;
  readonly tree = join(this.folder, "tree");
  /** The commit that `main` begins with. */
  readonly revision: string;

  constructor() {
    git(this.folder, "init", "--quiet", "--bare", "--initial-branch=main", this.remote);
    // A server may give out only what its branches lead to; this one gives any commit.
    git(this.remote, "config", "uploadpack.allowAnySHA1InWant", "true");
    git(this.folder, "clone", "--quiet", this.remote, this.tree);
    this.write("README.md", "hello\n");
    this.revision = this.commit("Begin");
    this.run("push", "--quiet", "origin", "HEAD:main");
  }

  /** Git as a run uses it on the clone. */
  get git(): ServerGit {
    const gitDir = join(this.tree, ".git");
    return new ServerGit({
      gitDir,
      workTree: this.tree,
      askpass: "/bin/false",
      protocols: ["file"],
    });
  }

  write(path: string, text: string | Uint8Array): void {
    writeFileSync(join(this.tree, path), text);
  }

  /** Commits all that is in the clone, and gives the commit. */
  commit(message: string): string {
    this.run("add", "--all");
    this.run("commit", "--quiet", "--allow-empty", "--message", message);
    return this.run("rev-parse", "HEAD");
  }

  /** Runs git in the clone as a person does. */
  run(...args: string[]): string {
    return git(this.tree, ...args);
  }

  /** Runs git in the remote. */
  onRemote(...args: string[]): string {
    return git(this.remote, ...args);
  }

  [Symbol.dispose](): void {
    this.#folder.remove();
  }
}

function git(cwd: string, ...args: string[]): string {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  const who = ["-c", "user.name=Eve", "-c", "user.email=eve@example.com"];
  return execFileSync("git", [...who, ...args], {
    cwd,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  }).trim();
}
