import { constants, existsSync, lstatSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { TrunklineError } from "../base/errors.ts";
import { type CommitProgram, landPrograms } from "../git/commit-programs.ts";
import { readRegularFile } from "../base/file/read-regular-file.ts";
import type { Repository } from "../git/git-folder.ts";
import { Git } from "../git/git.ts";
import { findRepository, listSubmodules } from "../git/repository.ts";
import type { Workplace, Workplaces, WorktreeRequest } from "../session/workplace.ts";
import { FileLock } from "../store/file-lock.ts";
import { replaceFile } from "../store/replace-file.ts";
import {
  freeBranch,
  hasBranch,
  HEADS,
  isBranchName,
  type RemovalResult,
  removeWorktree,
  worktreesOf,
} from "./branches.ts";

/** The record beside a work tree, from which it can be removed when its session is gone. */
interface WorktreeRecord extends Workplace {
  /** The programs that git ran at commits and merges when the session began. */
  readonly programs?: readonly CommitProgram[];
}

const RECORD = "worktree.json";
/** Held while a work tree is created, landed or removed. */
export const LOCK = "lock";

/** The folder of everything that belongs to the work tree of a session. */
export function folderOf(data: string, session: string): string {
  return join(data, "worktrees", session);
}

/** The home of the agent of a session that has moved here, in its sandbox. */
export function homeOfVisitor(data: string, session: string): string {
  return join(folderOf(data, session), "home");
}

/** Undefined if there is none: its creation has not begun, or was interrupted before the first step. */
export async function readRecord(folder: string): Promise<WorktreeRecord | undefined> {
  const path = join(folder, RECORD);
  if (!existsSync(path)) return undefined;
  return JSON.parse(await readFile(path, "utf8")) as WorktreeRecord;
}

export async function writeRecord(folder: string, record: WorktreeRecord): Promise<void> {
  await replaceFile(join(folder, RECORD), JSON.stringify(record, null, 2));
}

/** A file of the repository with more patterns; other tools read it too. */
const INCLUDE = ".worktreeinclude";
/** Bytes. */
const LONGEST = 64 * 1024;

/**
 * Copies ignored files from one work tree to another, such as settings and installed packages, without
 * which programs do not run there. Blocks are shared where the file system supports that. Tracked files
 * are never copied: git has written those of the right commit.
 */
async function carryFiles(from: Git, tree: string, patterns: readonly string[]): Promise<void> {
  const all = [...patterns, includedBy(from.folder)];
  if (all.every((pattern) => pattern.trim() === "")) return;
  const found = await ignoredFiles(from, `${tree}.carry`, all);
  // A file that the commit of the work tree does not ignore would be committed with the session's work.
  for (const path of await onlyIgnored(from.in(tree), found)) {
    const target = join(tree, path);
    if (existsSync(target)) continue;
    await mkdir(dirname(target), { recursive: true });
    await cp(join(from.folder, path), target, {
      recursive: true,
      verbatimSymlinks: true,
      preserveTimestamps: true,
      mode: constants.COPYFILE_FICLONE,
      // Pipes, sockets and devices cannot be copied.
      filter: (path) => {
        const stats = lstatSync(path);
        return stats.isFile() || stats.isDirectory() || stats.isSymbolicLink();
      },
    });
  }
}

/** The patterns in the `.worktreeinclude` of a work tree. */
export function includedBy(top: string): string {
  const path = join(top, INCLUDE);
  try {
    return readRegularFile(path, { most: LONGEST, inside: [top] })?.toString("utf8") ?? "";
  } catch (error) {
    const why = (error as Error).message;
    throw new TrunklineError("conflict", `Cannot read '${path}': ${why}.`, { cause: error });
  }
}

/** Files and folders that match a pattern and that git ignores. */
export async function ignoredFiles(
  git: Git,
  file: string,
  patterns: readonly string[],
): Promise<string[]> {
  // Git matches the patterns, so they mean exactly what they mean in .gitignore.
  await writeFile(file, `${patterns.join("\n")}\n`, { mode: 0o600 });
  try {
    const list = ["ls-files", "-z", "--others", "--ignored", "--directory"];
    return await onlyIgnored(git, await git.list([...list, `--exclude-from=${file}`]));
  } finally {
    await rm(file, { force: true });
  }
}

async function onlyIgnored(git: Git, paths: readonly string[]): Promise<string[]> {
  if (paths.length === 0) return [];
  const check = { input: `${paths.join("\0")}\0`, accepts: [0, 1] };
  return await git.list(["check-ignore", "-z", "--stdin"], check);
}

interface WorktreesOptions {
  /** The folder of all state. */
  readonly data: string;
  readonly env: NodeJS.ProcessEnv;
  /** Patterns, as in .gitignore, of ignored files that every work tree gets a copy of. */
  readonly carry: readonly string[];
}

/** Milliseconds to write the files of a large repository. */
const CHECKOUT = 10 * 60_000;
/** Milliseconds to wait for another process that creates, lands or removes the same work tree. */
const WAIT = 60_000;

/**
 * Work trees of sessions in the user's own repositories. Each is a git work tree with a branch, so
 * `git branch` in the repository shows what the session does, and every commit is there at once.
 */
export class Worktrees implements Workplaces {
  readonly #options: WorktreesOptions;

  constructor(options: WorktreesOptions) {
    this.#options = options;
  }

  async create(session: string, cwd: string, request: WorktreeRequest): Promise<Workplace> {
    const { data, carry } = this.#options;
    const git = this.#git(cwd);
    const repository = await this.#repositoryOf(git);
    const top = repository.worktree ?? repository.gitDir;
    const base = await this.#base(git, request.base);
    const branch = await this.#branch(git, session, request.branch);
    const folder = folderOf(data, session);
    const tree = join(folder, treeName(top));
    const inside = repository.worktree === undefined ? "" : relative(top, cwd);
    const place: Workplace = {
      folder: join(tree, inside),
      tree,
      repository: top,
      ...branch,
      base,
      warnings: await this.#warnings(git, repository, request.base),
    };
    await mkdir(folder, { recursive: true, mode: 0o700 });
    using _ = await FileLock.take(join(folder, LOCK), WAIT);
    await writeRecord(folder, place);
    await this.#checkOut(git, place);
    // The folder may not exist in the commit that the session begins with.
    await mkdir(place.folder, { recursive: true });
    if (repository.worktree !== undefined) {
      await carryFiles(git.in(top), tree, [...carry, ...(request.carry ?? [])]);
    }
    await writeRecord(folder, { ...place, programs: await landPrograms(git.in(tree)) });
    return place;
  }

  async open(session: string, place: Workplace): Promise<void> {
    if (existsSync(join(place.tree, ".git"))) return;
    if (!existsSync(place.repository)) {
      const why = `its repository '${place.repository}' is gone`;
      throw new TrunklineError("not-found", `Cannot open the work tree of the session: ${why}.`);
    }
    const folder = folderOf(this.#options.data, session);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    using _ = await FileLock.take(join(folder, LOCK), WAIT);
    const git = this.#git(place.repository);
    const { programs } = (await readRecord(folder)) ?? {};
    const isThere = await hasBranch(git, place.branch);
    await rm(place.tree, { recursive: true, force: true });
    await this.#checkOut(git, { ...place, isOwnBranch: !isThere });
    await mkdir(place.folder, { recursive: true });
    await writeRecord(folder, { ...place, ...(programs ? { programs } : {}) });
  }

  /** Removes the work tree of a session, if it has one. Its work is kept on a branch. */
  async remove(session: string): Promise<RemovalResult> {
    const { data } = this.#options;
    const folder = folderOf(data, session);
    // Left by moves of the session.
    await rm(join(data, "moves", `${session}.git`), { recursive: true, force: true });
    if (!existsSync(folder)) return { kept: undefined };
    using _ = await FileLock.take(join(folder, LOCK), WAIT);
    const record = await readRecord(folder);
    const removed = record === undefined ? NOTHING : await removeWorktree(this.#options, record);
    await rm(folder, { recursive: true, force: true });
    return removed;
  }

  /** Ids of sessions with a work tree that no process is creating, landing or removing now. */
  async idle(): Promise<string[]> {
    const { data } = this.#options;
    const sessions = await readdir(join(data, "worktrees")).catch(() => []);
    return sessions.filter((session) => !FileLock.isTaken(join(folderOf(data, session), LOCK)));
  }

  #git(folder: string): Git {
    return new Git(folder, { env: this.#options.env, timeout: CHECKOUT });
  }

  async #repositoryOf(git: Git): Promise<Repository> {
    const found = await findRepository(git);
    if (found !== undefined) return found;
    const why = `'${git.folder}' is not in a git repository`;
    const next = "Run `git init` and commit once, or start the session without a work tree";
    throw new TrunklineError("usage", `Cannot create a work tree: ${why}. ${next}.`);
  }

  async #base(git: Git, wanted = "HEAD"): Promise<Workplace["base"]> {
    const asked = ["rev-parse", "--verify", "--quiet", "--end-of-options"];
    const call = { accepts: [0, 1, 128] };
    const revision = await git.text([...asked, `${wanted}^{commit}`], call);
    if (revision === "") {
      const why =
        wanted === "HEAD"
          ? `the repository in '${git.folder}' has no commit yet. Commit once`
          : `there is no revision '${wanted.slice(0, 100)}' in '${git.folder}'`;
      throw new TrunklineError("usage", `Cannot create a work tree: ${why}.`);
    }
    const full = ["rev-parse", "--symbolic-full-name", "--verify", "--quiet", "--end-of-options"];
    const named = (await git.text([...full, wanted], call)).split("\n").at(-1) ?? "";
    return named.startsWith(HEADS) ? { revision, branch: named.slice(HEADS.length) } : { revision };
  }

  /** The branch to work on: the one that is asked for, or a new one. */
  async #branch(git: Git, session: string, wanted: string | undefined) {
    if (wanted === undefined) {
      const branch = await freeBranch(git, `trunkline/${session.slice(0, 8)}`);
      return { branch, isOwnBranch: true };
    }
    if (!(await isBranchName(git, wanted))) {
      const says = `Cannot create a work tree: '${wanted.slice(0, 100)}' is no name for a branch.`;
      throw new TrunklineError("usage", says);
    }
    await requireFree(git, wanted);
    return { branch: wanted, isOwnBranch: !(await hasBranch(git, wanted)) };
  }

  async #warnings(git: Git, repository: Repository, base: string | undefined): Promise<string[]> {
    const { worktree } = repository;
    if (worktree === undefined) return [];
    const warnings: string[] = [];
    if (base === undefined) {
      const count = (await git.list(["status", "--porcelain", "-z", "--no-renames"])).length;
      if (count > 0) {
        const files = count === 1 ? "One uncommitted file" : `${count} uncommitted files`;
        const verb = count === 1 ? "is" : "are";
        warnings.push(`${files} of '${worktree}' ${verb} not in the session's work tree.`);
      }
    }
    const modules = await listSubmodules(git, worktree);
    if (modules.length > 0) {
      const names = modules.map(({ path }) => path).join(", ");
      const next = "`git submodule update --init` there gets them";
      warnings.push(`Submodules are empty in the session's work tree (${names}): ${next}.`);
    }
    return warnings;
  }

  /** Creates the work tree, or creates it again where git still knows one that was deleted. */
  async #checkOut(git: Git, place: Workplace): Promise<void> {
    const { tree, branch, isOwnBranch, base } = place;
    const what = isOwnBranch
      ? ["--no-track", "-b", branch, tree, base.revision]
      : // With the full name of a branch, git would check out its commit only.
        [tree, branch];
    const add = ["worktree", "add", "--force", "--no-checkout", "--quiet"];
    {
      // Two sessions that ask for a branch at once would both find it free, and git does not lock it.
      using _ = await FileLock.take(join(this.#options.data, "worktrees.lock"), WAIT);
      await requireFree(git, branch, tree);
      await git.run([...add, ...what], { mode: "files" });
    }
    await this.#git(tree).run(["reset", "--hard", "--quiet"], { mode: "files" });
  }
}

/** Refuses a branch that is checked out in another work tree: each would undo the other's commits. */
async function requireFree(git: Git, branch: string, own?: string): Promise<void> {
  const at = (await worktreesOf(git)).find((one) => one.branch === branch && one.path !== own);
  if (at === undefined) return;
  const why = `the branch '${branch}' is checked out in '${at.path}'`;
  const next = "Name another branch, or leave it out to get a new one";
  throw new TrunklineError("conflict", `Cannot create a work tree: ${why}. ${next}.`);
}

const NOTHING: RemovalResult = { kept: undefined };

/** The name of the repository's folder: some tools show the name of the folder they run in. */
function treeName(top: string): string {
  const name = basename(top).replace(/\.git$/, "");
  // Files of ours beside a work tree may have such a name: SQLite appends to that of the lock.
  return name === "" || name.startsWith(LOCK) || name.startsWith(RECORD) ? "tree" : name;
}
