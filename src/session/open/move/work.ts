import {
  constants,
  createReadStream,
  existsSync,
  lstatSync,
  readlinkSync,
  realpathSync,
} from "node:fs";
import { mkdir, open, rm, unlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { TrunklineError } from "../../../base/errors.ts";
import { readRegularFile } from "../../../base/file/read-regular-file.ts";
import { copyIndex } from "../../../git/copy-index.ts";
import { authorVariables, type Git } from "../../../git/git.ts";
import { currentBranch, HEADS } from "../../../worktree/branches.ts";
import { LARGEST_BUNDLE, refusal } from "./bundle.ts";

/** The state of a work tree, as commits of git. */
export interface Work {
  /** The commit that is checked out; empty before the first one. */
  readonly head: string;
  /** The branch that is checked out; empty for a detached HEAD. */
  readonly branch: string;
  /** A commit with the index. */
  readonly index: string;
  /** A commit with the files as they are, byte for byte: staged, unstaged, untracked and carried ones. */
  readonly tree: string;
  /** Commits whose parents are not in the repository (git's `shallow` file). */
  readonly shallow: readonly string[];
}

const ID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;
/** What git keeps in a repository while something is not finished. */
const UNFINISHED: Readonly<Record<string, string>> = {
  MERGE_HEAD: "a merge",
  CHERRY_PICK_HEAD: "a cherry-pick",
  REVERT_HEAD: "a revert",
  "rebase-merge": "a rebase",
  "rebase-apply": "a rebase",
  BISECT_LOG: "a bisection",
};
const FILES = { mode: "files" } as const;
const ASKS = { accepts: [0, 1, 128] } as const;
const DELETED = "0".repeat(40);

/** Reads what a bundle says of the work. */
export function readWork(given: unknown): Work {
  const { head, branch, index, tree, shallow } = (given ?? {}) as Partial<
    Record<keyof Work, unknown>
  >;
  const isId = (text: unknown): text is string => typeof text === "string" && ID.test(text);
  const areIds = Array.isArray(shallow) && shallow.every(isId);
  if (!isId(index) || !isId(tree) || !areIds || (head !== "" && !isId(head))) {
    throw refusal("what it says of its work is not the ids of commits");
  }
  if (typeof branch !== "string") throw refusal("it names no branch");
  return { head, branch, index, tree, shallow };
}

/**
 * Makes commits of everything in a work tree, beside its own index, without a hook or a filter. `carried` are
 * ignored files that go along.
 */
export async function captureWork(git: Git, carried: readonly string[]): Promise<Work> {
  const gitDir = await git.text(["rev-parse", "--absolute-git-dir"]);
  for (const [name, what] of Object.entries(UNFINISHED)) {
    if (existsSync(join(gitDir, name))) {
      const next = "Finish or abort it first";
      throw new TrunklineError("conflict", `${what} is in progress in '${git.folder}'. ${next}.`);
    }
  }
  if ((await git.list(["ls-files", "--unmerged", "-z"])).length > 0) {
    const why = `files in '${git.folder}' have conflicts. Resolve them first`;
    throw new TrunklineError("conflict", `Cannot move the work: ${why}.`);
  }
  const head = await git.text(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], ASKS);
  const own = join(gitDir, "index");
  const copy = join(gitDir, `index-${crypto.randomUUID()}`);
  const env = { GIT_INDEX_FILE: copy };
  try {
    if (existsSync(own)) await copyIndex(own, copy);
    const parents = head === "" ? [] : [head];
    const staged = await git.text(["write-tree"], { ...FILES, env });
    const index = await commitOf(git, staged, parents);
    await showHidden(git, env);
    const changed = await git.list(["diff", "--name-only", "--no-renames", "-z"], { env });
    const others = await git.list(["ls-files", "--others", "--exclude-standard", "-z"], { env });
    // A repository inside of this one ends with a slash, and is not part of it.
    const paths = new Set(
      [...changed, ...others, ...carried].filter((path) => !path.endsWith("/")),
    );
    const entries = await entriesOf(git, [...paths]);
    const input = entries.map(({ mode, id, path }) => `${mode} ${id}\t${path}\0`).join("");
    await git.run(["update-index", "-z", "--index-info"], { ...FILES, env, input });
    const tree = await commitOf(git, await git.text(["write-tree"], { ...FILES, env }), [
      ...parents,
      index,
    ]);
    return {
      head,
      branch: (await currentBranch(git)) ?? "",
      index,
      tree,
      shallow: await shallowOf(git),
    };
  } finally {
    await rm(copy, { force: true });
    await rm(`${copy}.lock`, { force: true });
  }
}

/** Files that git was told not to look at count as all others, where they exist. */
async function showHidden(git: Git, env: { readonly GIT_INDEX_FILE: string }): Promise<void> {
  const listed = await git.list(["ls-files", "-v", "-z"], { env });
  const hidden = listed.filter((line) => /^(?:S|[a-z]) /.test(line)).map((line) => line.slice(2));
  const there = hidden.filter((path) => lstatSync(join(git.folder, path), NOT_THERE) !== undefined);
  if (there.length === 0) return;
  const input = there.map((path) => `${path}\0`).join("");
  for (const option of ["--no-assume-unchanged", "--no-skip-worktree"]) {
    await git.run(["update-index", option, "-z", "--stdin"], { ...FILES, env, input });
  }
}

const NOT_THERE = { throwIfNoEntry: false } as const;

interface Entry {
  readonly mode: string;
  readonly id: string;
  readonly path: string;
}

/** The files as they are, stored as they are. What was removed is first: a folder may have its name now. */
async function entriesOf(git: Git, paths: readonly string[]): Promise<Entry[]> {
  const removed: Entry[] = [];
  const links: Entry[] = [];
  const files: { readonly mode: string; readonly path: string }[] = [];
  for (const path of paths) {
    const stats = lstatSync(join(git.folder, path), NOT_THERE);
    if (stats?.isSymbolicLink() === true) {
      const input = readlinkSync(join(git.folder, path), "buffer");
      const id = await git.text(["hash-object", "-w", "--stdin"], { ...FILES, input });
      links.push({ mode: "120000", id, path });
    } else if (stats?.isFile() === true) {
      files.push({ mode: (stats.mode & 0o100) === 0 ? "100644" : "100755", path });
    } else if (stats === undefined || !stats.isDirectory()) {
      removed.push({ mode: "0", id: DELETED, path });
    } else if (!existsSync(join(git.folder, path, ".git"))) {
      removed.push({ mode: "0", id: DELETED, path });
    }
  }
  const ids = await rawIds(
    git,
    files.map(({ path }) => path),
    true,
  );
  return [...removed, ...links, ...files.map((file, at) => ({ ...file, id: ids[at] ?? "" }))];
}

/** The ids that files have as they are, without line ends or filters being looked at. */
async function rawIds(git: Git, paths: readonly string[], isStored: boolean): Promise<string[]> {
  const args = ["hash-object", ...(isStored ? ["-w"] : []), "--no-filters"];
  const plain = paths.filter((path) => !path.includes("\n"));
  const input = plain.map((path) => `${path}\n`).join("");
  const hashed =
    plain.length === 0 ? "" : await git.text([...args, "--stdin-paths"], { ...FILES, input });
  const ids = new Map(hashed.split("\n").map((id, at) => [plain[at], id]));
  for (const path of paths.filter((each) => each.includes("\n"))) {
    ids.set(path, await git.text([...args, "--", path], FILES));
  }
  return paths.map((path) => ids.get(path) ?? "");
}

export async function commitOf(
  git: Git,
  tree: string,
  parents: readonly string[],
): Promise<string> {
  const args = ["commit-tree", tree, ...parents.flatMap((each) => ["-p", each])];
  const env = { ...authorVariables(), GIT_AUTHOR_DATE: "@0 +0000", GIT_COMMITTER_DATE: "@0 +0000" };
  return await git.text([...args, "-m", "Moved by Trunkline"], { ...FILES, env });
}

async function shallowOf(git: Git): Promise<string[]> {
  const path = await git.text(["rev-parse", "--path-format=absolute", "--git-path", "shallow"]);
  const listed = readRegularFile(path, { most: 1024 * 1024 })?.toString("utf8") ?? "";
  return listed.split("\n").filter((id) => ID.test(id));
}

/** Which of these commits a repository has. */
export async function knownCommits(git: Git, commits: readonly string[]): Promise<string[]> {
  const asked = commits.filter((commit) => ID.test(commit)).slice(0, MOST_COMMITS);
  if (asked.length === 0 || !existsSync(join(git.folder, ".git"))) return [];
  const input = asked.map((commit) => `${commit}^{commit}\n`).join("");
  const answers = (await git.text(["cat-file", "--batch-check"], { input })).split("\n");
  return asked.filter((_, at) => / commit /.test(answers[at] ?? ""));
}

const MOST_COMMITS = 1_000;

/** Commits that the other side may have as well: those of the last move, and the newest ones. */
export async function commitsOf(git: Git, session: string): Promise<string[]> {
  const list = ["rev-list", `--max-count=${MOST_COMMITS}`, "--ignore-missing"];
  const answers = [];
  for (const from of [workRef(session), "HEAD"])
    answers.push(await git.text([...list, from], ASKS));
  return answers
    .join("\n")
    .split("\n")
    .filter((line) => ID.test(line))
    .slice(0, MOST_COMMITS);
}

/** Writes all objects of the work that the other side does not have. */
export async function packWork(
  git: Git,
  work: Work,
  haves: readonly string[],
  path: string,
): Promise<void> {
  const input = [work.tree, ...haves.map((commit) => `^${commit}`), ""].join("\n");
  const pack = ["pack-objects", "--revs", "--stdout", "--quiet"];
  const { stdout } = await git.run(pack, { ...FILES, input });
  await writeFile(path, stdout, { mode: 0o600 });
}

/** The ref that keeps the objects of a session's work. */
export function workRef(session: string): string {
  return `refs/trunkline/moved/${session}`;
}

/** Takes the objects of a pack. Git refuses damaged ones, and those whose names would be dangerous. */
export async function takeObjects(
  git: Git,
  session: string,
  work: Work,
  pack: string | undefined,
): Promise<void> {
  if (pack === undefined) throw refusal("it has no objects of git");
  const take = ["index-pack", "--stdin", "--strict", `--max-input-size=${LARGEST_BUNDLE}`];
  try {
    await git.run(take, { ...FILES, input: createReadStream(pack) });
    const shown = await git.text(["rev-list", "--parents", "--max-count=1", work.tree]);
    const parents = [work.head, work.index].filter(Boolean);
    if (shown !== [work.tree, ...parents].join(" ")) throw refusal("its commits do not fit");
    const of = await git.text(["rev-list", "--parents", "--max-count=1", work.index]);
    if (of !== [work.index, ...(work.head === "" ? [] : [work.head])].join(" ")) {
      throw refusal("its commits do not fit");
    }
    // All that it leads to is there.
    await git.run(["rev-list", "--objects", "--quiet", work.tree], {});
    const { branch } = work;
    if (branch !== "") await git.run(["check-ref-format", `${HEADS}${branch}`]);
    await git.run(["update-ref", workRef(session), work.tree], FILES);
  } catch (error) {
    throw refusal(`git refuses its work: ${(error as Error).message}`, error);
  }
}

/** A repository of ours for the work of a session, with its history and nothing of a configuration. */
export async function makeRepository(git: Git, { tree, shallow }: Work): Promise<void> {
  await mkdir(git.folder, { recursive: true, mode: 0o700 });
  if (!existsSync(join(git.folder, ".git"))) {
    const format = tree.length === 64 ? ["--object-format=sha256"] : [];
    await git.run(["init", "--quiet", "--template=", ...format], FILES);
  }
  if (shallow.length === 0) return;
  await writeFile(join(git.folder, ".git", "shallow"), shallow.map((id) => `${id}\n`).join(""));
}

/** Makes a work tree of ours exactly what the work is. Only files that git ignores stay as they are. */
export async function layOut(git: Git, { head, branch, index, tree }: Work): Promise<void> {
  if (branch === "") await git.run(["update-ref", "--no-deref", "HEAD", head], FILES);
  else {
    await git.run(["symbolic-ref", "HEAD", `${HEADS}${branch}`], FILES);
    if (head !== "") await git.run(["update-ref", `${HEADS}${branch}`, head], FILES);
  }
  await git.run(["read-tree", "--reset", "-u", tree], FILES);
  const others = await git.list(["ls-files", "--others", "--exclude-standard", "-z"]);
  for (const path of others) if (!path.endsWith("/")) await unlink(join(git.folder, path));
  await writeRaw(git, head, tree);
  await setIndex(git, index);
}

export async function setIndex(git: Git, index: string): Promise<void> {
  await git.run(["read-tree", "--reset", index], FILES);
  await git.run(["update-index", "-q", "--refresh"], { ...FILES, accepts: [0, 1] });
}

/** Writes files again that git has written with other line ends, or by a filter. */
export async function writeRaw(git: Git, from: string, to: string): Promise<void> {
  const isAll = from === "";
  const listed = await git.list(
    isAll ? ["ls-tree", "-r", "-z", to] : ["diff-tree", "-r", "-z", "--no-renames", from, to],
  );
  const wanted: Entry[] = [];
  // `mode type id TAB path`, or `:mode mode id id status NUL path`
  for (let at = 0; at < listed.length; at++) {
    const line = listed[at] ?? "";
    const [first = "", second = "", id = "", newId = ""] = line.split("\t", 1)[0]?.split(" ") ?? [];
    const [mode, path] = isAll
      ? [first, line.slice(line.indexOf("\t") + 1)]
      : [second, listed[++at]];
    if (mode.startsWith("100")) wanted.push({ mode, id: isAll ? id : newId, path: path ?? "" });
  }
  const paths = wanted.map(({ path }) => path);
  const there = await rawIds(git, paths, false);
  const top = realpathSync(git.folder);
  for (const [at, { id, path }] of wanted.entries()) {
    if (there[at] === id) continue;
    if (realpathSync(dirname(join(top, path))) !== dirname(join(top, path))) {
      throw refusal(`the path of '${path}' leads elsewhere`);
    }
    const { stdout } = await git.run(["cat-file", "blob", id]);
    await using file = await open(join(top, path), constants.O_WRONLY | constants.O_NOFOLLOW);
    await file.truncate();
    await file.writeFile(stdout);
  }
}
