import { join } from "node:path";

import type { Git } from "../../git/git.ts";
import { listSubmodules, type Repository, type Submodule } from "../../git/repository.ts";
import { lookAroundRepository, type Surroundings } from "../detect/surroundings.ts";

/** A submodule that has a work tree. */
export interface CheckedOutSubmodule {
  /** As seen from the outermost repository. */
  readonly path: string;
  readonly repository: Repository;
  readonly around: Surroundings;
}

/** Those of a repository alone. */
export async function checkedOut({ worktree }: Repository, git: Git): Promise<Submodule[]> {
  const all = worktree === undefined ? [] : await listSubmodules(git, worktree);
  return all.filter(({ isCheckedOut }) => isCheckedOut);
}

/** Those of a repository, and theirs, each after the one it is in. */
export async function submodulesOf(
  outer: Repository,
  { git }: Surroundings,
): Promise<CheckedOutSubmodule[]> {
  const found: CheckedOutSubmodule[] = [];
  for (const { path } of await checkedOut(outer, git)) {
    const folder = join(outer.worktree ?? "", path);
    const around = await lookAroundRepository(git.in(folder));
    const { repository } = around;
    // `.gitmodules` comes with the repository: what it names may lead elsewhere.
    const isInside = folder.startsWith(`${outer.worktree}/`) && repository.worktree === folder;
    if (!isInside) continue;
    found.push({ path, repository, around });
    const inner = await submodulesOf(repository, around);
    found.push(...inner.map((each) => ({ ...each, path: join(path, each.path) })));
  }
  return found;
}
