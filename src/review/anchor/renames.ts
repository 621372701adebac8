import { Git } from "../../git/git.ts";
import { readable } from "./anchor.ts";
import { isBinary, linesOf, textOf } from "./file-lines.ts";

/** The most untracked files that are searched for a renamed one. */
const MOST_CANDIDATES = 200;
const LARGEST = 1024 * 1024;
/**
 * Files that share more lines than this count as the same file. Git uses the same measure
 * (git-diff(1), `-M`).
 */
const LEAST_ALIKE = 0.5;

/** Finds renamed files of a work tree, by git or by content. */
export class Renames {
  readonly #root: string;
  readonly #git: Git;
  readonly #byCommit = new Map<string, Promise<Map<string, string>>>();
  #untracked: Promise<string[]> | undefined;

  constructor(root: string) {
    this.#root = root;
    this.#git = new Git(root);
  }

  /** The new path of a file that no longer exists; undefined if it was deleted. */
  async follow(
    path: string,
    commit: string | undefined,
    before: readonly string[] | undefined,
  ): Promise<string | undefined> {
    const renamed = commit === undefined ? undefined : (await this.#since(commit)).get(path);
    if (renamed !== undefined) return renamed;
    return before === undefined ? undefined : this.#amongUntracked(before);
  }

  #since(commit: string): Promise<Map<string, string>> {
    const known = this.#byCommit.get(commit);
    if (known !== undefined) return known;
    const asked = this.#ask(commit);
    this.#byCommit.set(commit, asked);
    return asked;
  }

  async #ask(commit: string): Promise<Map<string, string>> {
    const how = ["-M", "--diff-filter=R", "--name-status", "-z"];
    const args = ["diff", ...how, "--end-of-options", commit, "--"];
    const { code, stdout } = await this.#git.run(args, { accepts: [0, 128] });
    const renames = new Map<string, string>();
    if (code !== 0) return renames;
    const fields = stdout.toString("utf8").split("\0");
    for (let at = 0; at + 2 < fields.length; at += 3) {
      const [, from = "", to = ""] = fields.slice(at, at + 3);
      renames.set(from, to);
    }
    return renames;
  }

  async #amongUntracked(before: readonly string[]): Promise<string | undefined> {
    this.#untracked ??= this.#listUntracked();
    const wanted = new Set(before.filter((line) => line.trim() !== ""));
    if (wanted.size === 0) return undefined;
    let best: string | undefined;
    let most = LEAST_ALIKE;
    for (const path of (await this.#untracked).slice(0, MOST_CANDIDATES)) {
      const content = readable(this.#root, path);
      if (content === undefined || content.length > LARGEST || isBinary(content)) continue;
      const lines = new Set(linesOf(textOf(content)));
      const share = wanted.intersection(lines).size / Math.max(wanted.size, lines.size);
      if (share > most) [best, most] = [path, share];
    }
    return best;
  }

  async #listUntracked(): Promise<string[]> {
    const args = ["ls-files", "--others", "--exclude-standard", "-z"];
    const { stdout } = await this.#git.run(args, { accepts: [0, 128] });
    return stdout.toString("utf8").split("\0").filter(Boolean);
  }
}
