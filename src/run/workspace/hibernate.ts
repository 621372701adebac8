import { lchown, lstat, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { copyIndex } from "../../git/copy-index.ts";
import { authorVariables } from "../../git/git.ts";
import type { ServerGit } from "../../git/server/server-git.ts";
import { restoreSubmodules, withLinks } from "../content/flat-index.ts";
import type { CachedRepository } from "../repository-cache.ts";
import type { WorkspaceBase } from "./bases.ts";
import type { FileOwner } from "./driver.ts";

/** The ref of the commit with the files of a hibernated workspace. It is never pushed. */
export const WIP = "refs/trunkline/wip";

/** The tree of a workspace, and git with our own git folder for it. */
export interface WorkingCopy {
  readonly tree: string;
  readonly git: ServerGit;
  /** The base that the tree began with. */
  readonly base: WorkspaceBase;
}

/** Which workspaces hibernate, and who is told about failures. */
export interface Hibernation {
  /** Milliseconds after which a closed workspace hibernates even if it has files that git ignores. */
  readonly after: number;
  readonly repositoryOf: (key: string) => CachedRepository;
  /** Stops after the current workspace. */
  readonly signal: AbortSignal;
  readonly failed: (workspace: string, error: unknown) => void;
}

const TIMEOUT = { timeout: 10 * 60_000 };

/**
 * Commits all files of a tree to `WIP`, byte for byte. Resolves to what would be lost if the tree were
 * removed now: nothing, ignored files, or files that git cannot store, such as those of a repository
 * inside the repository.
 */
export async function keepFiles(copy: WorkingCopy): Promise<"nothing" | "ignored" | "files"> {
  const { git, tree: folder } = copy;
  await using exact = await exactGit(copy);
  // Git would run in the folder of a submodule, with the programs that its configuration names.
  const entries = [...(await git.list(STAGED)), ...(await exact.paths(STAGED))];
  for (const path of submodulesIn(entries)) {
    // Whether a folder contains anything. Git would not store files in a submodule.
    if ((await readdir(join(folder, path)).catch(() => [])).length > 0) return "files";
  }
  const others = ["ls-files", "--others", "--exclude-standard", "-z"];
  // Git lists a repository inside the repository as a folder.
  const untracked = await exact.paths(others);
  if (untracked.some((path) => path.endsWith("/"))) return "files";
  await exact.run(["-c", "core.fsync=all", "add", "--all"]);
  if ((await exact.paths(others)).length > 0) return "files";
  const tree = await exact.run(["-c", "core.fsync=all", "write-tree"]);
  const message = ["-m", "Files of an idle session"];
  const commit = await git.text(
    ["-c", "core.fsync=all", "commit-tree", tree, "-p", "HEAD", ...message],
    { env: authorVariables() },
  );
  await git.run(["-c", "core.fsync=all", "update-ref", WIP, commit]);
  const ignored = [...others, "--ignored", "--directory"];
  return (await exact.paths(ignored)).length === 0 ? "nothing" : "ignored";
}

/** Restores the stored files in a tree that is a copy of the base. */
export async function restoreFiles(copy: WorkingCopy, owner: FileOwner | undefined): Promise<void> {
  const { git, tree, base } = copy;
  await using exact = await exactGit(copy);
  const restored = await git.text(["rev-parse", WIP]);
  await exact.run(readTreeFrom(base.revision, restored));
  await giveChanged(copy, WIP, owner);
  // The index of the base caches file metadata, so git does not read the files again.
  await copyIndex(base.index, join(git.gitDir, "index"));
  await git.run(["read-tree", "--reset", "HEAD"], TIMEOUT);
  await restoreSubmodules(git, tree, base.content.submodules);
}

/**
 * Arguments that update a tree from one commit to another. Git writes only files that differ between the
 * two. Given one commit, it would rewrite all files with another owner, and an overlay would then contain
 * a copy of each file of the base.
 */
export function readTreeFrom(from: string, to: string): string[] {
  return ["read-tree", "--reset", "-u", from, to];
}

/** Removes our own files that are created again when they are needed. */
export async function removeIndexes(gitDir: string): Promise<void> {
  for (const name of ["index", "checkpoint-index", "exact-index"]) {
    await rm(join(gitDir, name), { force: true });
  }
}

/** Removes the locks of a git that was killed. Nobody else may use the git folder meanwhile. */
export async function removeStaleLocks(gitDir: string): Promise<void> {
  const inRefs = await readdir(join(gitDir, "refs"), { recursive: true }).catch(() => []);
  const own = await readdir(gitDir).catch(() => []);
  for (const name of [...own, ...inRefs.map((path) => join("refs", path))]) {
    if (name.endsWith(".lock")) await rm(join(gitDir, name), { force: true });
  }
}

/** Overrides the repository's `.gitattributes`: no line ends, keywords or encodings are converted. */
const AS_THEY_ARE = "* -text !eol -ident !filter !working-tree-encoding\n";

interface ExactGit extends AsyncDisposable {
  run(args: readonly string[]): Promise<string>;
  paths(args: readonly string[]): Promise<string[]>;
}

/**
 * Git that reads and writes files byte for byte, with a copy of the base's index. It has its own git
 * folder, because attributes can be overridden only there, and uses the objects of ours.
 */
async function exactGit({ git, tree, base }: WorkingCopy): Promise<ExactGit> {
  const gitDir = join(git.gitDir, "exact");
  const index = join(git.gitDir, "exact-index");
  await rm(gitDir, { recursive: true, force: true });
  await rm(`${index}.lock`, { force: true });
  for (const name of ["objects", "refs", "info"]) {
    await mkdir(join(gitDir, name), { recursive: true });
  }
  await writeFile(join(gitDir, "HEAD"), "ref: refs/heads/none\n");
  await writeFile(join(gitDir, "info/attributes"), AS_THEY_ARE);
  await copyIndex(base.index, index);
  await withLinks(git, index, base.content.submodules);
  const own = git.on(tree).at(gitDir);
  const env = { GIT_INDEX_FILE: index, GIT_OBJECT_DIRECTORY: join(git.gitDir, "objects") };
  return {
    run: (args) => own.text(args, { env, ...TIMEOUT }),
    paths: (args) => own.list(args, { env, ...TIMEOUT }),
    [Symbol.asyncDispose]: async () => {
      await rm(gitDir, { recursive: true, force: true });
      await rm(index, { force: true });
    },
  };
}

const STAGED = ["ls-files", "--stage", "-z"];
const SUBMODULE = "160000 ";

/** Paths of the submodules of an index. They are checked out as empty folders. */
function submodulesIn(entries: readonly string[]): string[] {
  const submodules = entries.filter((entry) => entry.startsWith(SUBMODULE));
  return submodules.map((entry) => entry.slice(entry.indexOf("\t") + 1));
}

/** File system calls that run at once. */
const AT_ONCE = 64;

/** Gives the files that another commit has changed since the base. */
export async function giveChanged(
  { tree, git, base }: WorkingCopy,
  commit: string,
  owner: FileOwner | undefined,
): Promise<void> {
  const names = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=d"];
  await giveFiles(tree, await git.list([...names, base.revision, commit]), owner);
}

/**
 * Changes the owner of files that git wrote into a tree, and of the folders above them, so that the user
 * of the workspace can change them. Paths are relative to the tree.
 */
export async function giveFiles(
  tree: string,
  paths: readonly string[],
  owner: FileOwner | undefined,
): Promise<void> {
  if (owner === undefined) return;
  const folders = new Set<string>();
  for (const path of paths) {
    for (let above = dirname(path); above !== "."; above = dirname(above)) folders.add(above);
  }
  const all = [...folders, ...paths];
  for (let from = 0; from < all.length; from += AT_ONCE) {
    await Promise.all(all.slice(from, from + AT_ONCE).map((path) => give(join(tree, path), owner)));
  }
}

async function give(path: string, { uid, gid }: FileOwner): Promise<void> {
  const status = await lstat(path).catch(() => undefined);
  if (status !== undefined && status.uid !== uid) await lchown(path, uid, gid);
}
