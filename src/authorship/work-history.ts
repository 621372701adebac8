import { hash } from "node:crypto";
import { copyFileSync, existsSync, lstatSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { TrunklineError } from "../base/errors.ts";
import { copyIndex } from "../git/copy-index.ts";
import { topFolder, worktreeAt } from "../git/git-folder.ts";
import { authorVariables, Git, type GitCall } from "../git/git.ts";
import { FileLock } from "../store/file-lock.ts";

/** Who changed the files of a work tree between two looks at them. */
export interface WorkStep {
  /** "commit": the person's own history; "unknown": two agents at once. */
  readonly by: "agent" | "person" | "commit" | "unknown";
  readonly session?: string;
  readonly turn?: string;
  /** The tool call that made the change. */
  readonly call?: string;
  readonly agent?: string;
  readonly model?: string;
  /** The person's commit that was checked out. */
  readonly head?: string;
}

/** A line, and the step or commit that wrote it. */
export interface BlamedLine {
  readonly commit: string;
  readonly path: string;
  /** Where it was in that commit, from 1 on. */
  readonly line: number;
  readonly text: string;
}

export interface BlameRange {
  readonly first: number;
  readonly last: number;
}

/** Larger files are left out: they hold no lines that somebody asks about, and are stored once more. */
const LARGEST = 10 * 1024 * 1024;
/** The person's configuration may name programs and rules that would change what is stored. */
const OWN_CONFIG = { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
/** Files that are not as the index has them. */
const CHANGED = ["ls-files", "-z", "--modified", "--others", "--exclude-standard"];
const UPDATE = ["update-index", "--add", "--remove", "-z", "--stdin"];
/** Space, moves within a file and between files of one commit are followed by git itself. */
const FOLLOWING = ["-w", "-M", "-C", "--no-textconv", "--porcelain"];

/**
 * What became of the files of a work tree, step by step: commits in a bare repository of the data folder,
 * each by an agent's tool call, or by the person. Git's own blame then says which of them wrote a line.
 * The repository borrows the person's objects, and nothing in the person's repository is changed.
 */
export class WorkHistory {
  readonly root: string;
  readonly #folder: string;
  readonly #branch: string;
  readonly #gitDir: string;
  readonly #commonDir: string;
  readonly #git: Git;
  readonly #theirs: Git;
  readonly #steps = new Map<string, Promise<WorkStep>>();

  private constructor(data: string, at: NonNullable<ReturnType<typeof worktreeAt>>) {
    this.root = at.worktree;
    this.#gitDir = at.gitDir;
    this.#commonDir = at.commonDir;
    this.#folder = join(data, "authorship", `${keyOf(at.commonDir)}.git`);
    this.#branch = `refs/heads/${keyOf(at.worktree)}`;
    this.#git = new Git(this.#folder, { env: { ...process.env, ...OWN_CONFIG } });
    this.#theirs = new Git(at.worktree);
  }

  /** That of the work tree around a folder; undefined outside of repositories. */
  static of(data: string, folder: string): WorkHistory | undefined {
    const top = topFolder(folder);
    const at = top === undefined ? undefined : worktreeAt(top);
    // Git reads a list of folders, one in a line.
    return at === undefined || /[\n"]/.test(at.commonDir) ? undefined : new WorkHistory(data, at);
  }

  /** Git in the person's repository. */
  get git(): Git {
    return this.#theirs;
  }

  get isBegun(): boolean {
    return existsSync(join(this.#folder, "HEAD"));
  }

  /** Stores what changed since the last step as the work of somebody; of all files, or only of some. */
  async record(step: WorkStep, only?: (path: string) => boolean): Promise<void> {
    if (!this.isBegun) await this.#begin();
    using _lock = await FileLock.take(join(this.#folder, "lock"));
    const tip = await this.tip();
    const head = await this.head();
    const tree = await this.#treeNow(only);
    const before = tip === undefined ? undefined : await this.#told(tip);
    if (before?.tree === tree && before.head === head) return;
    // What is there at the first look is the person's.
    const made = await this.#commit(tree, await this.#parents(tip, before, head), {
      ...(tip === undefined ? { by: "person" } : step),
      ...(head === undefined ? {} : { head }),
    });
    await this.#run(["update-ref", this.#branch, made, tip ?? ""]);
    if (head !== undefined) await this.#run(["update-ref", this.#branchAt(head), made]);
  }

  /** Where another commit is checked out, what was last seen with that one counts too. */
  async #parents(
    tip: string | undefined,
    before: WorkStep | undefined,
    head: string | undefined,
  ): Promise<string[]> {
    const isMoved = tip !== undefined && head !== undefined && before?.head !== head;
    const there = isMoved ? await this.#find(this.#branchAt(head)) : undefined;
    return [tip, there].filter((parent) => parent !== undefined);
  }

  /** The last step; undefined before the first. */
  async tip(): Promise<string | undefined> {
    return this.isBegun ? await this.#find(this.#branch) : undefined;
  }

  /** The commit that is checked out, or that a name stands for. */
  async head(name = "HEAD"): Promise<string | undefined> {
    const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`];
    return (await this.#theirs.text(args, { accepts: [0, 1, 128] })) || undefined;
  }

  /** A step of files as they are now, or as a commit of the person has them; undefined before the first. */
  async now(path: string, commit?: string): Promise<string | undefined> {
    const tip = await this.tip();
    if (tip === undefined) return undefined;
    const head = await this.head(commit);
    // A file that the last step did not have may be one that it had by another name.
    const paths = (await this.#find(`${tip}:${path}`)) === undefined ? [] : [path];
    const tree = commit === undefined ? await this.#treeWith(paths) : `${head}^{tree}`;
    const parents = await this.#parents(tip, await this.step(tip), head);
    return await this.#commit(tree, parents, {
      by: "person",
      ...(head === undefined ? {} : { head }),
    });
  }

  /** The lines of a file in a commit of the steps. */
  blame(commit: string, path: string, range?: BlameRange): Promise<BlamedLine[]> {
    return blameIn(this.#git, commit, path, range, this.#call("read"));
  }

  /** The same in the person's own history; without a commit, of the file as it is now. */
  blameCommit(commit: string | undefined, path: string, range?: BlameRange): Promise<BlamedLine[]> {
    return blameIn(this.#theirs, commit, path, range);
  }

  step(commit: string): Promise<WorkStep> {
    return this.#steps.getOrInsertComputed(commit, () => this.#told(commit));
  }

  /** The first parent of a step. */
  before(step: string): Promise<string | undefined> {
    return this.#find(`${step}^1`);
  }

  /** A file in a commit of the steps; undefined where it has none. */
  async text(commit: string, path: string): Promise<string | undefined> {
    const { code, stdout } = await this.#git.run(["cat-file", "blob", `${commit}:${path}`], {
      ...this.#call("read"),
      accepts: [0, 128],
    });
    return code === 0 ? stdout.toString("utf8") : undefined;
  }

  /** The steps of all work trees that changed a file, the newest first. */
  async changing(path: string, most: number): Promise<string[]> {
    if (!this.isBegun) return [];
    const args = ["rev-list", "--all", `--max-count=${most}`, "--", path];
    return (await this.#text(args)).split("\n").filter(Boolean);
  }

  /** The commit of the person that has a line of a file as it is now; undefined where none has. */
  async commitOf(path: string, line: number): Promise<string | undefined> {
    const [found] = await this.blameCommit(undefined, path, { first: line, last: line }).catch(
      () => [],
    );
    return found !== undefined && isCommitted(found) ? found.commit : undefined;
  }

  /** The text files of a folder with their lines, and those that steps or notes may tell more about. */
  async files(
    folder: string,
  ): Promise<{ worked: string[]; all: { path: string; count: number }[] }> {
    const args = ["grep", "-I", "-z", "--count", "-e", "", "--", folder === "" ? "." : folder];
    const { stdout } = await this.#theirs.run(args, { accepts: [0, 1] });
    const all = stdout
      .toString("utf8")
      .split("\n")
      .filter(Boolean)
      .map((row) => ({
        path: row.slice(0, row.indexOf("\0")),
        count: Number(row.slice(row.indexOf("\0") + 1)),
      }));
    const changed = this.isBegun
      ? new Set(await this.#list(["log", "--all", "-m", "--format=", "--name-only", "-z"]))
      : new Set<string>();
    return { all, worked: all.map(({ path }) => path).filter((path) => changed.has(path)) };
  }

  /** What a step changed in a file, as a patch without context. */
  patch(commit: string, path: string): Promise<string> {
    return this.#text(["diff", "-U0", "-w", `${commit}^1`, commit, "--", path], [0, 128]);
  }

  async #begin(): Promise<void> {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    await this.#git.run(["init", "--quiet", "--bare", "--template="], { mode: "files" });
    const info = join(this.#folder, "objects", "info");
    mkdirSync(info, { recursive: true });
    writeFileSync(join(info, "alternates"), `${join(this.#commonDir, "objects")}\n`);
  }

  /** The tree of the files as they are, without those that git ignores. */
  async #treeNow(only: ((path: string) => boolean) | undefined): Promise<string> {
    const index = this.#index;
    if (!existsSync(index)) await copyIndex(join(this.#gitDir, "index"), index).catch(() => {});
    this.#copyExcludes();
    const call = this.#call("read");
    const changed = await this.#git.list(CHANGED, call).catch(async () => {
      // An index that needs files beside it, or settings, cannot be borrowed.
      rmSync(index, { force: true });
      return await this.#git.list(CHANGED, call);
    });
    const kept = [...new Set(changed)].filter(
      (path) => this.#isKept(path) && only?.(path) !== false,
    );
    const input = kept.map((path) => `${path}\0`).join("");
    await this.#git.run(UPDATE, { ...this.#call("files"), input });
    return await this.#text(["write-tree"]);
  }

  /** The tree of the last step with some files as they are now, or with all. */
  async #treeWith(paths: readonly string[]): Promise<string> {
    const index = `${this.#index}.${process.pid}-${crypto.randomUUID()}`;
    copyFileSync(this.#index, index);
    const call = this.#call("files", index);
    try {
      const changed = await this.#git.list([...CHANGED, "--", ...paths], call);
      const input = changed.map((path) => `${path}\0`).join("");
      await this.#git.run(UPDATE, { ...call, input });
      return await this.#git.text(["write-tree"], call);
    } finally {
      rmSync(index, { force: true });
    }
  }

  #isKept(path: string): boolean {
    const stats = lstatSync(join(this.root, path), { throwIfNoEntry: false });
    if (stats === undefined) return true;
    return stats.isSymbolicLink() || (stats.isFile() && stats.size <= LARGEST);
  }

  #copyExcludes(): void {
    const from = join(this.#commonDir, "info", "exclude");
    if (!lstatSync(from, { throwIfNoEntry: false })?.isFile()) return;
    mkdirSync(join(this.#folder, "info"), { recursive: true });
    copyFileSync(from, join(this.#folder, "info", "exclude"));
  }

  async #commit(tree: string, parents: readonly string[], step: WorkStep): Promise<string> {
    const args = ["commit-tree", tree, ...parents.flatMap((parent) => ["-p", parent])];
    return await this.#git.text(args, { ...this.#call("files"), input: JSON.stringify(step) });
  }

  async #find(revision: string): Promise<string | undefined> {
    const args = ["rev-parse", "--verify", "--quiet", revision];
    return (await this.#text(args, [0, 1, 128])) || undefined;
  }

  /** The last step while a commit of the person was checked out. */
  #branchAt(head: string): string {
    return `${this.#branch.replace("heads", "at")}/${head}`;
  }

  async #told(commit: string): Promise<WorkStep & { tree: string }> {
    const said = await this.#text(["log", "-1", "--format=%T%n%B", commit]);
    const at = said.indexOf("\n");
    return { ...(JSON.parse(said.slice(at + 1)) as WorkStep), tree: said.slice(0, at) };
  }

  get #index(): string {
    return join(this.#folder, `${this.#branch.slice("refs/heads/".length)}.index`);
  }

  async #run(args: readonly string[]): Promise<void> {
    await this.#git.run(args, this.#call("files"));
  }

  async #list(args: readonly string[]): Promise<string[]> {
    return await this.#git.list(args, this.#call("read"));
  }

  async #text(args: readonly string[], accepts: readonly number[] = [0]): Promise<string> {
    return await this.#git.text(args, { ...this.#call("files"), accepts });
  }

  #call(mode: "read" | "files", index = this.#index): GitCall {
    const env = {
      ...authorVariables(),
      GIT_DIR: this.#folder,
      GIT_WORK_TREE: this.root,
      GIT_INDEX_FILE: index,
    };
    return { mode, env };
  }
}

async function blameIn(
  git: Git,
  commit: string | undefined,
  path: string,
  range: BlameRange | undefined,
  call: GitCall = {},
): Promise<BlamedLine[]> {
  const lines = range === undefined ? [] : ["-L", `${range.first},${range.last}`];
  const version = commit === undefined ? [] : [commit];
  const args = ["blame", ...FOLLOWING, ...lines, ...version, "--", path];
  const { code, stdout } = await git.run(args, { ...call, accepts: [0, 128] });
  if (code === 0) return parseBlame(stdout.toString("utf8"));
  const what = range === undefined ? "" : ` with a line ${range.first}`;
  throw new TrunklineError("not-found", `'${path}' is no file of the repository${what}.`);
}

/** Git gives lines that are in no commit yet the hash of zeros. */
export function isCommitted({ commit }: BlamedLine): boolean {
  return !/^0+$/.test(commit);
}

function keyOf(path: string): string {
  return hash("sha256", path).slice(0, 16);
}

/** Git's `blame --porcelain`. */
function parseBlame(said: string): BlamedLine[] {
  const paths = new Map<string, string>();
  const found: BlamedLine[] = [];
  let [commit, line] = ["", 0];
  for (const row of said.split("\n")) {
    if (row.startsWith("\t")) {
      found.push({ commit, line, path: paths.get(commit) ?? "", text: row.slice(1) });
      continue;
    }
    const [, id, at] = /^([0-9a-f]{40,64}) (\d+) \d+/.exec(row) ?? [];
    if (id !== undefined) [commit, line] = [id, Number(at)];
    else if (row.startsWith("filename ")) paths.set(commit, row.slice("filename ".length));
  }
  return found;
}
