import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempDisposableSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { runFromShell } from "./run-from-shell.ts";

interface StoredEntry {
  readonly path: string;
  readonly mode: number;
  /** Undefined for a folder. */
  readonly content: Buffer | undefined;
}

/**
 * A small folder that many tests begin with, such as a repository with one commit. The first use makes
 * it, with the real programs; it is then kept in memory, and each test gets a copy. To start git takes
 * longer than to write all files of a repository.
 */
export class StoredFolder {
  readonly #make: (folder: string) => void;
  #entries: readonly StoredEntry[] | undefined;
  /** Where it was made. Git writes that into the configuration of a clone. */
  #madeAt = "";

  constructor(make: (folder: string) => void) {
    this.#make = make;
  }

  /** Writes a copy into a folder. What is there already stays, as `git init` leaves it. */
  copyTo(folder: string): void {
    this.#entries ??= this.#read();
    mkdirSync(folder, { recursive: true });
    for (const { path, mode, content } of this.#entries) {
      const at = join(folder, path);
      if (existsSync(at)) continue;
      if (content === undefined) mkdirSync(at);
      else writeFileSync(at, path.endsWith("config") ? this.#moved(content, folder) : content);
      chmodSync(at, mode);
    }
  }

  #read(): StoredEntry[] {
    using made = mkdtempDisposableSync(join(tmpdir(), "stored-"));
    this.#madeAt = made.path;
    this.#make(made.path);
    const paths = readdirSync(made.path, { recursive: true, encoding: "utf8" });
    // A folder comes before what is in it.
    return paths.toSorted().map((path) => {
      const at = join(made.path, path);
      const stat = statSync(at);
      const content = stat.isDirectory() ? undefined : readFileSync(at);
      return { path, mode: stat.mode & 0o7777, content };
    });
  }

  #moved(content: Buffer, folder: string): string {
    return content.toString().replaceAll(this.#madeAt, () => folder);
  }
}

/** Git as it would run for somebody without any configuration. */
export function plainGit(cwd: string, ...args: string[]): string {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  // Git need not start another program after each commit to see whether there is rubbish.
  const eve = ["user.name=Eve", "user.email=eve@example.com", "maintenance.auto=false"];
  const settings = eve.flatMap((setting) => ["-c", setting]);
  return runFromShell("git", [...settings, ...args], { cwd, env }).trim();
}

const EMPTY = new StoredFolder((folder) => {
  plainGit(dirname(folder), "init", "--quiet", "--initial-branch=main", folder);
});

/** `git init` in a folder, with the branch `main`. */
export function initRepository(folder: string): void {
  EMPTY.copyTo(folder);
}

const REMOTE = new StoredFolder((folder) => {
  const [remote, tree] = [join(folder, "remote.git"), join(folder, "tree")];
  plainGit(folder, "init", "--quiet", "--bare", "--initial-branch=main", remote);
  // A server may give out only what its branches lead to; this one gives any commit.
  plainGit(remote, "config", "uploadpack.allowAnySHA1InWant", "true");
  plainGit(folder, "clone", "--quiet", remote, tree);
  writeFileSync(join(tree, "README.md"), "hello\n");
  plainGit(tree, "add", "--all");
  plainGit(tree, "commit", "--quiet", "--message", "Begin");
  plainGit(tree, "push", "--quiet", "origin", "HEAD:main");
});

/**
 * Writes the bare repository `remote.git`, with one commit on `main`, and its clone `tree` into a
 * folder. Gives the commit.
 */
export function writeRemote(folder: string): string {
  REMOTE.copyTo(folder);
  return readFileSync(join(folder, "remote.git/refs/heads/main"), "utf8").trim();
}
