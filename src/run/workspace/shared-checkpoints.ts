import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { ServerGit } from "../../git/server/server-git.ts";
import type { WorkspaceBase } from "./bases.ts";
import {
  type WorkspaceFacts,
  FACTS,
  type GitFolderFacts,
  writeFacts,
  writeGitFolder,
} from "./workspace-facts.ts";
import { WIP } from "./hibernate.ts";

/** A run whose workspace other machines can continue. */
export interface CheckpointedRun {
  readonly workspace: string;
  readonly session: string;
}

/** Stores checkpoints of runs where other machines find them. */
export interface SharedCheckpoints {
  /** Throws if this machine does not have the session any more, or the checkpoint cannot be stored. */
  save(run: CheckpointedRun, packed: Buffer): Promise<void>;
  /**
   * The last checkpoint of a run. Undefined if there is none, and if this machine stored it and has the
   * workspace (`hasOwn`), which is at least as new.
   */
  load(run: CheckpointedRun, hasOwn: boolean): Promise<Buffer | undefined>;
  remove(workspace: string): Promise<void>;
}

const TIMEOUT = { timeout: 5 * 60_000 };
const BUNDLE = "carried.bundle";

/** Packs what a workspace has beyond the commit that work began with: its branch and our own refs. */
export async function packWorkspace(
  git: ServerGit,
  base: string,
  refs: readonly string[],
): Promise<Buffer | undefined> {
  const listed = await git.text(["for-each-ref", "--format=%(refname)", ...refs]);
  const known = listed.split("\n").filter((ref) => ref !== "");
  const revisions = [...known, `^${base}`];
  const count = await git.text(["rev-list", "--count", ...revisions]);
  if (count === "0") return undefined;
  const path = join(git.gitDir, BUNDLE);
  await using ends = new AsyncDisposableStack();
  ends.defer(() => rm(path, { force: true }));
  await git.run(["bundle", "create", "--quiet", path, ...revisions], TIMEOUT);
  return await readFile(path);
}

/**
 * Lays a workspace that another machine has packed into a folder, as if it hibernated there. `checkpoint`
 * is the ref of the last checkpoint.
 */
export async function layWorkspace(
  folder: string,
  { git, base, facts, checkpoint }: LayOptions,
  packed: Buffer,
): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o711 });
  await writeGitFolder(git.gitDir, facts);
  const path = join(git.gitDir, BUNDLE);
  try {
    await writeFile(path, packed);
    const unpacked = await git.text(["bundle", "unbundle", path], TIMEOUT);
    for (const line of unpacked.split("\n")) {
      const [commit = "", ref = ""] = line.split(" ");
      // The machine that packed it is not trusted: the name could be an option.
      if (ref.startsWith("refs/")) await git.run(["update-ref", "--", ref, commit]);
    }
    await git.run(["update-ref", WIP, await newestFiles(git, checkpoint)]);
  } finally {
    await rm(path, { force: true });
  }
  const kept: WorkspaceFacts = {
    base: base.name,
    repository: facts.repository.key,
    driver: "copy",
  };
  await writeFacts(folder, { ...kept, isAway: true });
}

interface LayOptions {
  readonly git: ServerGit;
  readonly base: WorkspaceBase;
  readonly facts: GitFolderFacts;
  readonly checkpoint: string;
}

/** The checkpoint, unless a later commit of the branch has all that it has. */
async function newestFiles(git: ServerGit, checkpoint: string): Promise<string> {
  const head = await git.text(["rev-parse", "HEAD"]);
  return (await git.resolve(`${checkpoint}^`)) === head ? checkpoint : head;
}

/** Whether a folder has a workspace. */
export function isWorkspace(folder: string): boolean {
  return existsSync(join(folder, FACTS));
}
