import { rename } from "node:fs/promises";
import { join } from "node:path";

import { TrunklineError } from "../base/errors.ts";
import { maskWhole } from "../base/text/mask.ts";
import { type Author, authorVariables } from "../git/git.ts";
import type { Credentials } from "../git/server/pin-connection.ts";
import type { ServerCall, ServerGit } from "../git/server/server-git.ts";
import { type ScanLimits, scanIndex, type ScanProblem } from "./change/scan.ts";
import { stageChanges } from "./change/stage.ts";

export interface DeliverOptions {
  readonly git: ServerGit;
  readonly tree: string;
  readonly url: string;
  /** The short name of the branch that is pushed. */
  readonly branch: string;
  readonly session: string;
  readonly author: Author;
  readonly coAuthor?: Author | undefined;
  readonly credentials: Credentials;
  readonly limits: ScanLimits;
  /** Called before commits are pushed. If it fails, they are not pushed. */
  readonly pushing?: (() => Promise<void>) | undefined;
}

/** Remote run guide, "Response: _meta.target field". */
export interface Target {
  readonly url: string;
  readonly branch: string;
  readonly revision: string;
}

/** Lines added to and deleted from a file since work began; 0 for a binary file. */
export interface FileChange {
  readonly path: string;
  readonly added: number;
  readonly removed: number;
}

export type Delivery =
  | { readonly kind: "unchanged" }
  | { readonly kind: "refused"; readonly problems: readonly ScanProblem[] }
  | { readonly kind: "pushed"; readonly target: Target; readonly changes: readonly FileChange[] }
  /** The commit is stored, and pushing can be retried. */
  | { readonly kind: "unpushed"; readonly revision: string; readonly why: Error };

/** The most files that are listed with a branch. */
const MOST_CHANGES = 200;
const PUSH_TIMEOUT = 5 * 60_000;

/** Commits the changes, pushes them, and asks the remote to confirm that they arrived. */
export class Deliverer {
  readonly #options: DeliverOptions;
  readonly #ref: string;

  constructor(options: DeliverOptions) {
    this.#options = options;
    this.#ref = `refs/heads/${options.branch}`;
  }

  /** The last commit of the branch in the workspace. */
  head(): Promise<string> {
    return this.#options.git.text(["rev-parse", "--verify", this.#ref]);
  }

  /** The last commit that the remote is known to have; undefined until something was pushed. */
  pushed(): Promise<string | undefined> {
    return this.#resolve(PUSHED);
  }

  /** Throws "untrusted" or "unavailable" if it will not be possible to push. */
  async checkPush(revision = "HEAD"): Promise<void> {
    const { git, url } = this.#options;
    const what = `${revision}:${this.#ref}`;
    const push = ["push", "--quiet", "--dry-run", "--no-verify", "--", url, what];
    await git.run(push, this.#withLogin());
  }

  /** `title` is the first line of the commit's message, and `body` the rest. */
  async deliver(title: string, body: string): Promise<Delivery> {
    const { git, tree, limits } = this.#options;
    const { index, problems: unstaged } = await stageChanges(git, tree, limits);
    const { changed, problems: found } = await scanIndex(git, index, limits.denied);
    const problems = [...unstaged, ...found];
    if (problems.length > 0) return { kind: "refused", problems };
    if (changed.length > 0) await this.#commit(index, title, body);
    // The index caches file metadata, so git does not read the files again.
    await rename(index, join(git.gitDir, "index"));
    return await this.pushKept();
  }

  /** Pushes commits that could not be pushed before. */
  async pushKept(): Promise<Delivery> {
    const revision = await this.head();
    const known = (await this.pushed()) ?? (await this.#resolve(BASE));
    return revision === known ? { kind: "unchanged" } : await this.#push();
  }

  async #push(): Promise<Delivery> {
    const { url, branch } = this.#options;
    const revision = await this.head();
    try {
      await this.#options.pushing?.();
      await this.#pushFrom(await this.pushed(), revision);
    } catch (error) {
      if (!(await this.#continues(revision))) {
        return { kind: "unpushed", revision, why: error as Error };
      }
    }
    return { kind: "pushed", target: { url, branch, revision }, changes: await this.#changes() };
  }

  /** Creates the branch, or moves it forward from our last push; never overwrites what others pushed. */
  async #pushFrom(known: string | undefined, revision: string): Promise<void> {
    const { git, url, branch } = this.#options;
    const lease = `--force-with-lease=${this.#ref}:${known ?? ""}`;
    const push = ["push", "--quiet", "--no-verify", lease, "--", url, `${revision}:${this.#ref}`];
    await git.run(push, this.#withLogin());
    const seen = await this.#onRemote();
    if (seen !== revision) {
      const what = seen === undefined ? "is not there" : `is at ${seen}`;
      const why = `branch '${branch}' ${what} after it was pushed`;
      throw new TrunklineError("unavailable", `Cannot push to '${url}': ${why}.`);
    }
    await git.run(["update-ref", PUSHED, revision]);
  }

  /**
   * A process that was killed may have pushed a commit without recording it. Then the remote branch is
   * at a commit of ours, which we record now.
   */
  async #continues(revision: string): Promise<boolean> {
    const { git } = this.#options;
    try {
      const seen = await this.#onRemote();
      if (seen === undefined || seen === (await this.pushed())) return false;
      const ours = await git.text(["rev-list", revision, `^${BASE}`]);
      if (!ours.split("\n").includes(seen)) return false;
      await git.run(["update-ref", PUSHED, seen]);
      if (seen !== revision) await this.#pushFrom(seen, revision);
      return true;
    } catch {
      return false;
    }
  }

  /** Stores the current files, except those over a limit, in a commit that is not on the branch. */
  async checkpoint(): Promise<void> {
    const { git, tree: files, limits } = this.#options;
    const { index } = await stageChanges(git, files, limits, "checkpoint");
    const env = { ...this.#names(), GIT_INDEX_FILE: index };
    const tree = await git.text(["write-tree"], { env });
    const message = "Checkpoint";
    const commit = await git.text(["commit-tree", tree, "-p", this.#ref, "-m", message], { env });
    await git.run(["update-ref", CHECKPOINT, commit], { env });
  }

  /** Records the commit that work began with. */
  async begin(revision: string): Promise<void> {
    await this.#options.git.run(["update-ref", BASE, revision]);
  }

  /** The changes of the branch, up to the limit. */
  async #changes(): Promise<FileChange[]> {
    const { git } = this.#options;
    const lines = await git.list(["diff", "--numstat", "-z", "--no-renames", BASE, this.#ref]);
    return lines.slice(0, MOST_CHANGES).map((line) => {
      const [added, removed, ...path] = line.split("\t");
      return { path: path.join("\t"), added: Number(added) || 0, removed: Number(removed) || 0 };
    });
  }

  async #commit(index: string, title: string, body: string): Promise<void> {
    const { git, session, coAuthor } = this.#options;
    const env = { ...this.#names(), GIT_INDEX_FILE: index };
    const trailers = [
      `Trunkline-Session: ${session}`,
      ...(coAuthor === undefined ? [] : [`Co-authored-by: ${coAuthor.name} <${coAuthor.email}>`]),
    ];
    const message = [maskWhole(title), maskWhole(body), trailers.join("\n")]
      .filter((part) => part !== "")
      .join("\n\n");
    const tree = await git.text(["write-tree"], { env });
    const parent = await this.head();
    // Plumbing commands only: they run no hook, no editor and no program that a repository configures.
    const commit = await git.text(["commit-tree", tree, "-p", parent], { env, input: message });
    await git.run(["update-ref", this.#ref, commit, parent], { env });
  }

  async #resolve(ref: string): Promise<string | undefined> {
    const { git } = this.#options;
    const answer = await git.run(["rev-parse", "--quiet", "--verify", ref], { accepts: [0, 1] });
    return answer.code === 0 ? answer.stdout.toString("utf8").trim() : undefined;
  }

  async #onRemote(): Promise<string | undefined> {
    const { git, url } = this.#options;
    const listed = await git.text(["ls-remote", "--", url, this.#ref], this.#withLogin());
    return /^([0-9a-f]+)\t/.exec(listed)?.[1];
  }

  #withLogin(): ServerCall {
    const { url, credentials } = this.#options;
    return { remote: { url, credentials }, timeout: PUSH_TIMEOUT };
  }

  #names(): NodeJS.ProcessEnv {
    return authorVariables(this.#options.author);
  }
}

/** Our own refs in the git folder of a workspace. They are never pushed. */
export const BASE = "refs/trunkline/base";
export const PUSHED = "refs/trunkline/pushed";
export const CHECKPOINT = "refs/trunkline/checkpoint";
