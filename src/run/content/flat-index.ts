import { type FileHandle, readdir, rm } from "node:fs/promises";
import type { ServerGit } from "../../git/server/server-git.ts";
import type { ScanProblem } from "../change/scan.ts";
import { folderBelow, nameIn } from "../open-below.ts";
import { isFetched, type Submodule } from "./content.ts";

// The index of a workspace has the files of submodules in place of their commits. So git sees one tree, and
// never runs in a folder of the agent whose configuration may name programs.

type Env = Readonly<Record<string, string>>;

/** Puts the files of submodules in place of their commits. `update` writes them into the work tree, too. */
export async function flatten(
  git: ServerGit,
  env: Env,
  submodules: readonly Submodule[],
  update = false,
): Promise<void> {
  const how = { env: { ...env, ...objectsOf(submodules) }, timeout: 10 * 60_000 };
  for (const { path, revision } of submodules.filter(isFetched)) {
    await git.run(["update-index", "--force-remove", "--", path], how);
    const write = update ? ["-u"] : [];
    await git.run(["read-tree", ...write, `--prefix=${path}/`, revision], how);
  }
}

/** Makes objects of submodules known to git. Its syntax of quotes fits that of JSON. */
function objectsOf(submodules: readonly Submodule[]): Env {
  const folders = submodules.filter(isFetched).map(({ repository }) => repository.objects);
  const paths = [...new Set(folders)].map((path) => JSON.stringify(path));
  return { GIT_ALTERNATE_OBJECT_DIRECTORIES: paths.join(":") };
}

/** Puts the commits of submodules back into an index, in place of their files. */
export async function withLinks(
  git: ServerGit,
  index: string,
  submodules: readonly Submodule[],
): Promise<void> {
  const outer = submodules.filter((each) => isFetched(each) && !isInAnother(each, submodules));
  if (outer.length === 0) return;
  const links = outer.flatMap(({ path, revision }) => [
    "--cacheinfo",
    `160000,${revision},${path}`,
  ]);
  const args = ["update-index", "--add", "--replace", ...links];
  await git.run(args, { env: { GIT_INDEX_FILE: index } });
}

function isInAnother({ path }: Submodule, submodules: readonly Submodule[]): boolean {
  return submodules.some((other) => path.startsWith(`${other.path}/`));
}

/** Whether a line of `git status --porcelain=v1` tells of a change of a file, and not only of the index. */
export function isOfFile(line: string | Buffer): boolean {
  return line.toString("latin1", 1, 2) !== " ";
}

/** What a turn has done in submodules. */
interface SubmoduleChanges {
  /** The other changes, and the files of submodules that are gone as a whole. */
  readonly taken: readonly Buffer[];
  /** Submodules that are still there. */
  readonly kept: readonly Submodule[];
  readonly problems: readonly ScanProblem[];
}

/** Sorts lines of `git status` by submodules, in which nothing is committed: they may only be removed. */
export async function changesIn(
  git: ServerGit,
  env: Env,
  tree: string,
  submodules: readonly Submodule[],
  lines: readonly Buffer[],
): Promise<SubmoduleChanges> {
  let taken = lines;
  const kept: Submodule[] = [];
  const problems: ScanProblem[] = [];
  const there = submodules.length === 0 ? [] : await linksOfHead(git, submodules);
  for (const submodule of there) {
    const { path } = submodule;
    const start = Buffer.from(`${path}/`);
    const isIn = (line: Buffer): boolean => line.subarray(3, 3 + start.length).equals(start);
    const own = taken.filter(isIn);
    if (!isFetched(submodule)) {
      if (await hasFiles(tree, path)) problems.push({ path, why: NOT_FETCHED });
    } else if (own.length === 0) kept.push(submodule);
    else if (await isRemoved(git, env, path, own)) continue;
    else {
      kept.push(submodule);
      taken = taken.filter((line) => !isIn(line));
      const first = own[0]?.subarray(3).toString("utf8") ?? path;
      problems.push({ path: first, why: changed(path, own.length) });
    }
  }
  return { taken: taken.map((line) => line.subarray(3)), kept, problems };
}

/** Those that the last commit has; those in other submodules are a part of them. */
async function linksOfHead(git: ServerGit, submodules: readonly Submodule[]): Promise<Submodule[]> {
  const paths = submodules.map(({ path }) => path);
  const args = ["--literal-pathspecs", "ls-tree", "-z", "HEAD", "--", ...paths];
  const entries = (await git.list(args)).filter((entry) => entry.startsWith("160000 "));
  const found = new Set(entries.map((entry) => entry.slice(entry.indexOf("\t") + 1)));
  return submodules.filter(({ path }) => found.has(path));
}

async function isRemoved(
  git: ServerGit,
  env: Env,
  path: string,
  own: readonly Buffer[],
): Promise<boolean> {
  if (own.some((line) => line.toString("latin1", 1, 2) !== "D")) return false;
  const files = await git.list(["--literal-pathspecs", "ls-files", "-z", "--", path], { env });
  return files.length === own.length;
}

function changed(path: string, count: number): string {
  const which = count === 1 ? "it is" : `it and ${count - 1} more changed files are`;
  return `${which} in the submodule '${path}', whose changes are not committed: undo them with \`git -C ${path} checkout .\` and \`git -C ${path} clean -d\`, and make them in a run on its own repository`;
}

const NOT_FETCHED =
  "it is the folder of a submodule that could not be fetched, and files in it are not committed: remove them";

/** A folder of a workspace, opened without following links; undefined if it is none. */
async function opened(tree: string, path: string): Promise<FileHandle | undefined> {
  const steps = path.split("/").filter((step) => step !== "");
  return await folderBelow(
    tree,
    steps.map((step) => Buffer.from(step)),
  ).catch(() => undefined);
}

export async function isFolder(tree: string, path: string): Promise<boolean> {
  await using folder = await opened(tree, path);
  return folder !== undefined;
}

async function hasFiles(tree: string, path: string): Promise<boolean> {
  await using folder = await opened(tree, path);
  return folder !== undefined && (await readdir(nameIn(folder, Buffer.of()))).length > 0;
}

/**
 * Fits restored files to the last commit: submodules that it removed are gone, and the files of the others
 * are in the index.
 */
export async function restoreSubmodules(
  git: ServerGit,
  tree: string,
  submodules: readonly Submodule[],
): Promise<void> {
  if (submodules.length === 0) return;
  const there = await linksOfHead(git, submodules);
  const outer = submodules.filter((each) => !isInAnother(each, submodules));
  const gone = outer.filter((each) => !there.includes(each));
  for (const { path } of gone) {
    const slash = path.lastIndexOf("/");
    await using folder = await opened(tree, path.slice(0, Math.max(0, slash)));
    if (folder === undefined) continue;
    await rm(nameIn(folder, Buffer.from(path.slice(slash + 1))), { recursive: true, force: true });
  }
  const left = submodules.filter(
    (each) => !gone.some(({ path }) => `${each.path}/`.startsWith(`${path}/`)),
  );
  await flatten(git, {}, left);
}
