import { hash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

import { attempt } from "../base/attempt.ts";
import { TrunklineError } from "../base/errors.ts";
import { readRegularFile } from "../base/file/read-regular-file.ts";
import { copyIndex } from "../git/copy-index.ts";
import { topFolder, worktreeAt } from "../git/git-folder.ts";
import { authorVariables, Git, type GitCall } from "../git/git.ts";
import { FileLock } from "../store/file-lock.ts";
import { readTraces } from "./agent-trace.ts";
import { LARGEST_NOTE, NOTES_REF } from "./git-ai-note.ts";

/** Who changed the files of a work tree between two looks at them. */
export interface WorkStep {
  /** "commit": the person's own history; "unknown": two agents at once. */
  readonly by: "agent" | "person" | "commit" | "unknown";
  readonly session?: string;
  readonly turn?: string;
  /** The tool call that made the change. */
  readonly call?: string | undefined;
  readonly agent?: string;
  readonly model?: string;
  /** The source of the claim, if it is an untrusted record of another program. */
  readonly says?: string;
  /** The person's commit that was checked out. */
  readonly head?: string;
  /** When the call began, in milliseconds since 1970. */
  readonly since?: number;
  /** When the files were compared. */
  readonly until?: number;
  /** The lines that the call announced, by file. Others may have written whatever else changed meanwhile. */
  readonly told?: Readonly<Record<string, readonly string[]>>;
  /** Whether an agent's turn was running, so that the change may be the agent's. */
  readonly during?: boolean;
}

export interface StoredStep extends WorkStep {
  readonly tree: string;
  /** The first parent. */
  readonly before: string | undefined;
}

/** A line, and the step or commit that wrote it. */
export interface BlamedLine {
  readonly commit: string;
  readonly path: string;
  /** Where it was in that commit, from 1 on. */
  readonly line: number;
  readonly text: string;
  /** The commit that git finds if it does not follow moved, copied and indented lines. */
  readonly plain?: string | undefined;
}

/** A commit of the person's repository. */
export interface CommitFacts {
  /** When it was committed, in milliseconds. The author's time would not do: a rebase keeps it. */
  readonly at: number;
  readonly author: string;
  readonly committer: string;
  /** The remote run that made it, as its message says. */
  readonly session: string | undefined;
  /** What Git AI noted of it. */
  readonly note: string;
}

/** An object of git's store. */
interface GitObject {
  readonly id: string;
  readonly type: string;
  readonly content: Buffer;
}

export interface BlameRange {
  readonly first: number;
  readonly last: number;
}

/** Commits whose notes are written at once. */
const MOST_NOTED = 200;
/** How often a note is written again where somebody else writes one at the same time. */
const NOTE_TRIES = 10;
const ZERO = "0";
const FILES = { mode: "files" } as const;
/** Larger files are left out: nobody asks about their lines, and the history would store them once more. */
const LARGEST = 10 * 1024 * 1024;
/** The person's configuration may name programs and rules that would change what is stored. */
const OWN_CONFIG = {
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_COUNT: "0",
  GIT_CONFIG_PARAMETERS: "",
};
/** Paths must not be read as patterns. */
const LITERAL = { GIT_LITERAL_PATHSPECS: "1" };
const OBJECT_ID = /^[0-9a-f]{40,64}$/;
/** Files that are not as the index has them. */
const CHANGED = ["ls-files", "-z", "--modified", "--others", "--exclude-standard"];
const UPDATE = ["update-index", "--add", "--remove", "-z", "--stdin"];
/** Space, moves within a file and between files of one commit are followed by git itself. */
const FOLLOWING = ["-w", "-M", "-C"];
/** Time, author, committer, remote run, and note of a commit. */
const FACTS =
  "--format=%ct%x00%aN <%aE>%x00%cn <%ce>%x00%(trailers:key=Trunkline-Session,valueonly,separator=%x2C)%x00%N";
/** Steps that an agent may have written. */
const BY_AGENTS = ["--extended-regexp", '--grep="by":"(agent|unknown)"|"during":true'];

/**
 * The history of the files in a work tree, step by step: commits in a bare repository of the data folder,
 * each by an agent's tool call, or by the person. Git's own blame then says which of them wrote a line.
 * The repository borrows the person's objects, and nothing in the person's repository is changed.
 */
export class WorkHistory {
  readonly root: string;
  readonly commonDir: string;
  readonly #folder: string;
  readonly #branch: string;
  readonly #gitDir: string;
  readonly #git: Git;
  readonly #theirs: Git;
  #traces: ReturnType<typeof readTraces> | undefined;
  /** Commits in which there was nothing to note. */
  readonly unnoted = new Set<string>();
  readonly #steps = new Map<string, Promise<StoredStep>>();
  readonly #commits = new Map<string, Promise<CommitFacts>>();
  /** The objects that are about to be read, by name. */
  readonly #asked = new Map<string, PromiseWithResolvers<GitObject | undefined>>();

  private constructor(data: string, at: NonNullable<ReturnType<typeof worktreeAt>>) {
    this.root = at.worktree;
    this.#gitDir = at.gitDir;
    this.commonDir = at.commonDir;
    this.#folder = join(data, "authorship", `${keyOf(at.commonDir)}.git`);
    this.#branch = `refs/heads/${keyOf(at.worktree)}`;
    this.#git = new Git(this.#folder, { env: { ...process.env, ...OWN_CONFIG }, isOurs: true });
    this.#theirs = new Git(at.worktree);
  }

  /** The history of the work tree around a folder; undefined outside of repositories. */
  static of(data: string, folder: string): WorkHistory | undefined {
    const top = topFolder(folder);
    const at = top === undefined ? undefined : worktreeAt(top);
    // Git reads a list of folders, one in a line.
    return at === undefined || /[\n"]/.test(at.commonDir) ? undefined : new WorkHistory(data, at);
  }

  get isBegun(): boolean {
    return existsSync(this.#borrowed);
  }

  /** Names where the person's objects are. It is written last. */
  get #borrowed(): string {
    return join(this.#folder, "objects", "info", "alternates");
  }

  /** Since when the person wants a note in the repository for each commit with lines of agents. */
  get notesSince(): number | undefined {
    const since = readRegularFile(this.#yes, { most: 100 })?.toString("utf8");
    // A full disk may have left the file empty, which is no consent.
    return Number(since) > 0 ? Number(since) : undefined;
  }

  set notesSince(since: number | undefined) {
    mkdirSync(dirname(this.#yes), { recursive: true, mode: 0o700 });
    if (since === undefined) rmSync(this.#yes, { force: true });
    else writeFileSync(this.#yes, String(since));
  }

  get #yes(): string {
    return this.#folder.replace(/git$/, "notes");
  }

  /** The commits since then, without merges. */
  async commitsToNote(): Promise<string[]> {
    const since = this.notesSince;
    if (since === undefined || (await this.head()) === undefined) return [];
    // Git's times are whole seconds.
    const how = [
      "--no-merges",
      `--max-count=${MOST_NOTED}`,
      `--max-age=${Math.floor(since / 1000)}`,
    ];
    return (await this.#theirs.text(["rev-list", ...how, "HEAD"])).split("\n").filter(Boolean);
  }

  /** The files that a commit of the person changed, and has. */
  async changedIn(commit: string): Promise<string[]> {
    const how = ["-r", "--root", "--no-commit-id", "--name-only", "--diff-filter=d", "-z"];
    return await this.#theirs.list(["diff-tree", ...how, commit]);
  }

  /**
   * Writes the note of a commit. False where it has one, which is kept. Git replaces all notes by those that
   * it has read before, so they are written beside, and taken over only if nobody has written meanwhile.
   */
  async note(commit: string, input: string): Promise<boolean> {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    using _lock = await FileLock.take(join(this.#folder, "lock"));
    const beside = "refs/notes/trunkline-next";
    const env = { ...authorVariables(), GIT_NOTES_REF: beside };
    const call = { mode: "files", env, input, accepts: [0, 1] } as const;
    const find = ["for-each-ref", "--format=%(objectname)"];
    for (let left = NOTE_TRIES; left > 0; left--) {
      const before = await this.#theirs.text([...find, NOTES_REF]);
      // A kill may have left one.
      const begin = before === "" ? ["-d", beside] : [beside, before];
      await this.#theirs.run(["update-ref", ...begin], FILES);
      const { code } = await this.#theirs.run(["notes", "add", "--file=-", commit], call);
      const now = await this.#theirs.text([...find, beside]);
      const take = ["update-ref", NOTES_REF, now, before || ZERO.repeat(now.length)];
      const taken = code === 0 && (await this.#theirs.run(take, { ...FILES, accepts: [0, 128] }));
      if (now !== "") await this.#theirs.run(["update-ref", "-d", beside], FILES);
      this.#commits.delete(commit);
      if (taken === false || taken.code === 0) return taken !== false;
    }
    throw new TrunklineError("conflict", "Others write notes all the time. Try again.");
  }

  /** What other programs left in the work tree about who wrote what. */
  get traces(): ReturnType<typeof readTraces> {
    return (this.#traces ??= readTraces(this.root));
  }

  /** Says to other processes that an agent works in the work tree, until it is disposed of. */
  async enter(session: string): Promise<FileLock> {
    mkdirSync(this.#turns, { recursive: true, mode: 0o700 });
    return await FileLock.takeBrief(join(this.#turns, keyOf(session)));
  }

  /** Whether an agent works in the work tree, of this process or another. */
  get isBusy(): boolean {
    if (!existsSync(this.#turns)) return false;
    return readdirSync(this.#turns).some((name) => FileLock.isTaken(join(this.#turns, name)));
  }

  get #turns(): string {
    return this.#index.replace(/index$/, "turns");
  }

  /** Stores what changed since the last step as the work of somebody; of all files, or only of some. */
  async record(step: WorkStep, only?: (path: string) => boolean): Promise<void> {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    using _lock = await FileLock.take(join(this.#folder, "lock"));
    if (!this.isBegun) await this.#begin();
    const [tip, head] = await Promise.all([this.tip(), this.head()]);
    const tree = await this.#treeNow(only);
    const before = tip === undefined ? undefined : await this.step(tip);
    if (before?.tree === tree && before.head === head) return;
    // The files of the first look count as the person's.
    const made = await this.#commit(tree, tip, head, tip === undefined ? { by: "person" } : step);
    const call = this.#call("files");
    await this.#git.run(["update-ref", this.#branch, made, tip ?? ""], call);
    if (head !== undefined) await this.#git.run(["update-ref", this.#branchAt(head), made], call);
  }

  /** The last step; undefined before the first. */
  async tip(): Promise<string | undefined> {
    const found = this.isBegun ? await this.#object(this.#branch) : undefined;
    return found?.id;
  }

  /** The commit that is checked out, or that a name stands for. */
  async head(name = "HEAD"): Promise<string | undefined> {
    const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`];
    return (await this.#theirs.text(args, { accepts: [0, 1, 128] })) || undefined;
  }

  /** A step of files as they are now, or as a commit of the person has them; undefined before the first. */
  async now(commit?: string, path?: string): Promise<string | undefined> {
    const [tip, was] = await Promise.all([
      this.tip(),
      path === undefined || !this.isBegun ? undefined : this.#object(`${this.#branch}:${path}`),
    ]);
    if (tip === undefined) return undefined;
    const options = { most: LARGEST, followsLinks: false, inside: [this.root] };
    const read = (): Buffer | undefined => readRegularFile(join(this.root, path ?? ""), options);
    const isSame = commit === undefined && was !== undefined && attempt(read)?.equals(was.content);
    // Git would say of each line what it says of the last step.
    if (isSame === true) return tip;
    const head = commit === undefined ? await this.head() : await this.#need(commit);
    // The file may have had another name in the last step.
    const paths = was === undefined || path === undefined ? [] : [path];
    const tree = commit === undefined ? await this.#treeWith(paths) : `${head}^{tree}`;
    return await this.#commit(tree, tip, head, { by: "person" });
  }

  /** The lines of a file in a commit of the steps. */
  blame(commit: string, path: string, range?: BlameRange): Promise<BlamedLine[]> {
    return blameIn(this.#git, { commit, path, range, call: this.#call("read") });
  }

  /** The same in the person's own history; without a commit, of the file as it is now. */
  async blameCommit(
    commit: string | undefined,
    path: string,
    range?: BlameRange,
  ): Promise<BlamedLine[]> {
    const isId = commit === undefined || OBJECT_ID.test(commit);
    const id = isId ? commit : await this.#need(commit);
    return await blameIn(this.#theirs, { commit: id, path, range }).catch(async (error) => {
      if (commit !== undefined) await this.#need(commit);
      throw error;
    });
  }

  async #need(commit: string): Promise<string> {
    const id = await this.head(commit);
    if (id !== undefined) return id;
    throw new TrunklineError("not-found", `There is no commit '${commit}'.`);
  }

  step(commit: string): Promise<StoredStep> {
    return this.#steps.getOrInsertComputed(commit, async () => {
      const said = (await this.#object(commit))?.content.toString("utf8") ?? "";
      const at = said.indexOf("\n\n");
      const [, tree = "", before] = /^tree (\w+)\n(?:parent (\w+)\n)?/.exec(said) ?? [];
      return { ...(JSON.parse(said.slice(at)) as WorkStep), tree, before };
    });
  }

  /** The facts about a commit of the person. */
  commit(id: string): Promise<CommitFacts> {
    return this.#commits.getOrInsertComputed(id, async () => {
      const facts = ["log", "-1", FACTS, id];
      // The largest notes exceed the limit for git's output.
      const said = await this.#theirs
        .text([...facts, `--notes=${NOTES_REF}`])
        .catch(() => this.#theirs.text([...facts, "--no-notes"]));
      const [at, author = "", committer = "", session, note = ""] = said.split("\0");
      return {
        at: Number(at) * 1000,
        author,
        committer,
        session: session || undefined,
        note: note.length > LARGEST_NOTE ? "" : note,
      };
    });
  }

  /** What the steps that an agent may have written added, in all work trees. */
  async added(): Promise<{ readonly since: number; readonly text: string }[]> {
    if (!this.isBegun) return [];
    const how = ["--all", "-m", "--first-parent", "-p", "-U0", "--format=%x00%B"];
    const said = await this.#git.text(["log", ...how, ...BY_AGENTS], this.#call("read"));
    return said
      .split("\0")
      .slice(1)
      .map((each) => {
        const [first = "", ...rows] = each.split("\n");
        const { since, until = 0 } = JSON.parse(first) as WorkStep;
        const text = rows.filter((row) => /^\+(?!\+\+ )/.test(row)).join("\n");
        return { since: since ?? until, text };
      });
  }

  /** A file in a commit of the steps; undefined where it has none. */
  async text(commit: string, path: string): Promise<string | undefined> {
    const found = await this.#object(`${commit}:${path}`);
    return found?.type === "blob" ? found.content.toString("utf8") : undefined;
  }

  /** An object by its name. What is asked for in one turn of the event loop is read by one git. */
  #object(name: string): Promise<GitObject | undefined> {
    if (this.#asked.size === 0) setImmediate(() => this.#readAsked());
    return this.#asked.getOrInsertComputed(name, () => Promise.withResolvers()).promise;
  }

  #readAsked(): void {
    const asked = [...this.#asked];
    this.#asked.clear();
    const call = { ...this.#call("read"), accepts: [0, 128] };
    const read = async (names: readonly string[]): Promise<(GitObject | undefined)[]> => {
      const input = names.map((name) => `${name}\0`).join("");
      const { stdout } = await this.#git.run(["cat-file", "--batch", "-z"], { ...call, input });
      return objectsIn(stdout, names);
    };
    const names = asked.map(([name]) => name);
    const all = read(names).catch(async (error: unknown) => {
      // Together they may be too large.
      if (names.length === 1) throw error;
      return (await Promise.all(names.map((name) => read([name])))).flat();
    });
    for (const [at, [, { resolve }]] of asked.entries()) resolve(all.then((found) => found[at]));
  }

  /** The steps of all work trees that changed a file, the newest first. */
  async changing(path: string, most: number): Promise<string[]> {
    if (!this.isBegun) return [];
    const args = ["rev-list", "--all", `--max-count=${most}`, "--", path];
    return (await this.#git.text(args, this.#call("read"))).split("\n").filter(Boolean);
  }

  /** The commit of the person that has a line of a file as it is now, or was; undefined where none has. */
  async commitOf(path: string, line: number, commit?: string): Promise<string | undefined> {
    const range = { first: line, last: line };
    const asked = { commit: commit && (await this.#need(commit)), path, range };
    const [found] = (await runBlame(this.#theirs, FOLLOWING, asked)) ?? [];
    return found !== undefined && isCommitted(found) ? found.commit : undefined;
  }

  /** The text files of a folder, and all files that a step has changed. */
  async files(folder: string): Promise<{ all: string[]; worked: ReadonlySet<string> }> {
    const how = ["grep", "-I", "-z", "--files-with-matches", "-e", "", "--"];
    const call = { accepts: [0, 1], env: LITERAL };
    const all = await this.#theirs.list([...how, folder || "."], call);
    return { all, worked: await this.worked() };
  }

  /** All files that a step has changed. */
  async worked(): Promise<ReadonlySet<string>> {
    const args = ["log", "--all", "-m", "--format=", "--name-only", "-z"];
    return new Set(this.isBegun ? await this.#git.list(args, this.#call("read")) : []);
  }

  /** What a step changed in a file, as a patch without context. */
  patch(commit: string, path: string): Promise<string> {
    const args = ["diff", "-U0", "-w", `${commit}^1`, commit, "--", path];
    return this.#git.text(args, { ...this.#call("read"), accepts: [0, 128] });
  }

  async #begin(): Promise<void> {
    await this.#git.run(["init", "--quiet", "--bare", "--template="], { mode: "files" });
    const exclude = join(this.#folder, "info", "exclude");
    mkdirSync(dirname(exclude), { recursive: true });
    // It is left over if a process was killed.
    rmSync(exclude, { force: true });
    symlinkSync(join(this.commonDir, "info", "exclude"), exclude);
    mkdirSync(dirname(this.#borrowed), { recursive: true });
    writeFileSync(this.#borrowed, `${join(this.commonDir, "objects")}\n`);
  }

  /** The tree of the files as they are, without those that git ignores. */
  async #treeNow(only: ((path: string) => boolean) | undefined): Promise<string> {
    const index = this.#index;
    if (!existsSync(index)) await copyIndex(join(this.#gitDir, "index"), index).catch(() => {});
    const call = this.#call("read");
    const changed = await this.#git.list(CHANGED, call).catch(async () => {
      // The person's index cannot be copied if it depends on other files or on settings.
      rmSync(index, { force: true });
      return await this.#git.list(CHANGED, call);
    });
    const kept = [...new Set(changed)].filter(
      (path) => this.#isKept(path) && only?.(path) !== false,
    );
    return await this.#treeOf(kept, this.#call("files"));
  }

  /** The tree of the last step with some files as they are now, or with all. */
  async #treeWith(paths: readonly string[]): Promise<string> {
    const index = `${this.#index}.${process.pid}-${crypto.randomUUID()}`;
    copyFileSync(this.#index, index);
    const call = this.#call("files", index);
    try {
      return await this.#treeOf(await this.#git.list([...CHANGED, "--", ...paths], call), call);
    } finally {
      rmSync(index, { force: true });
    }
  }

  /** Puts files as they are now into the index of a call, and writes its tree. */
  async #treeOf(paths: readonly string[], call: GitCall): Promise<string> {
    const input = paths.map((path) => `${path}\0`).join("");
    await this.#git.run(UPDATE, { ...call, input });
    return await this.#git.text(["write-tree"], call);
  }

  #isKept(path: string): boolean {
    const stats = lstatSync(join(this.root, path), { throwIfNoEntry: false });
    if (stats === undefined) return true;
    return stats.isSymbolicLink() || (stats.isFile() && stats.size <= LARGEST);
  }

  async #commit(
    tree: string,
    tip: string | undefined,
    head: string | undefined,
    step: WorkStep,
  ): Promise<string> {
    const before = tip === undefined ? undefined : (await this.step(tip)).head;
    // If another commit was checked out, the last step on that commit is a parent, too.
    const isMoved = tip !== undefined && head !== undefined && before !== head;
    const there = isMoved ? (await this.#object(this.#branchAt(head)))?.id : undefined;
    const parents = [tip, there].flatMap((parent) => (parent === undefined ? [] : ["-p", parent]));
    const during = step.by === "person" && this.isBusy;
    const input = JSON.stringify({ ...step, during, head, until: Date.now() });
    const args = ["commit-tree", tree, ...parents];
    return await this.#git.text(args, { ...this.#call("files"), input });
  }

  /** The last step while a commit of the person was checked out. */
  #branchAt(head: string): string {
    return `${this.#branch.replace("heads", "at")}/${head}`;
  }

  get #index(): string {
    return join(this.#folder, `${this.#branch.slice("refs/heads/".length)}.index`);
  }

  #call(mode: "read" | "files", index = this.#index): GitCall {
    const env = {
      ...authorVariables(),
      ...LITERAL,
      GIT_DIR: this.#folder,
      GIT_WORK_TREE: this.root,
      GIT_INDEX_FILE: index,
    };
    return { mode, env };
  }
}

interface BlameQuestion {
  /** The files as they are now, when left out. */
  readonly commit: string | undefined;
  readonly path: string;
  readonly range: BlameRange | undefined;
  readonly call?: GitCall;
}

/** The lines as git follows them, each with the commit that it finds without following. */
async function blameIn(git: Git, asked: BlameQuestion): Promise<BlamedLine[]> {
  const both = [runBlame(git, FOLLOWING, asked), runBlame(git, [], asked)] as const;
  const [followed, plain] = await Promise.all(both);
  const line = asked.range === undefined ? "" : ` with a line ${asked.range.first}`;
  const says = `'${asked.path}' is no file of the repository${line}.`;
  if (followed === undefined || plain === undefined) throw new TrunklineError("not-found", says);
  return followed.map((each, at) => ({ ...each, plain: plain[at]?.commit }));
}

/** Undefined where there is no such file or line. */
async function runBlame(
  git: Git,
  how: readonly string[],
  { commit, path, range, call }: BlameQuestion,
): Promise<BlamedLine[] | undefined> {
  const lines = range === undefined ? [] : ["-L", `${range.first},${range.last}`];
  const where = [...lines, ...how, ...(commit === undefined ? [] : [commit]), "--", path];
  const args = ["blame", "--no-textconv", "--porcelain", ...where];
  const { code, stdout } = await git.run(args, { ...call, accepts: [0, 128] });
  return code === 0 ? parseBlame(stdout.toString("utf8")) : undefined;
}

/** The lines without the others: each of these removes one equal line. */
export function linesWithout(lines: readonly string[], others: readonly string[]): string[] {
  const taken = new Map<string, number>();
  for (const each of others) taken.set(each, (taken.get(each) ?? 0) + 1);
  return lines.filter((each) => {
    const left = taken.get(each) ?? 0;
    taken.set(each, left - 1);
    return left <= 0;
  });
}

/** Git gives lines that are in no commit yet the hash of zeros. */
export function isCommitted({ commit }: BlamedLine): boolean {
  return !/^0+$/.test(commit);
}

/** The output of `cat-file --batch`, which names an object first that is missing, or its id, type and size. */
function objectsIn(said: Buffer, names: readonly string[]): (GitObject | undefined)[] {
  let from = 0;
  return names.map((name) => {
    const missing = Buffer.from(`${name} missing\n`);
    const isMissing = said.subarray(from, from + missing.length).equals(missing);
    if (isMissing) from += missing.length;
    const start = said.indexOf("\n", from) + 1;
    const [, id, type = "", size] =
      /^([0-9a-f]+) (\w+) (\d+)\n$/.exec(said.toString("latin1", from, start)) ?? [];
    if (isMissing || id === undefined) return undefined;
    from = start + Number(size) + 1;
    return { id, type, content: said.subarray(start, from - 1) };
  });
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
