import { mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ServerGit } from "../../src/git/server/server-git.ts";
import { plainGit, writeRemote } from "./stored-folder.ts";

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
    this.revision = writeRemote(this.folder);
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
    return plainGit(this.tree, ...args);
  }

  /** Runs git in the remote. */
  onRemote(...args: string[]): string {
    return plainGit(this.remote, ...args);
  }

  [Symbol.dispose](): void {
    this.#folder.remove();
  }
}
