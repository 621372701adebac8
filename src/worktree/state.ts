import { existsSync } from "node:fs";

import { Git } from "../git/git.ts";
import type { Workplace } from "../session/workplace.ts";
import { currentBranch } from "./branches.ts";

/** What a work tree holds now. */
export interface WorktreeState {
  /** The branch that is checked out in it. */
  readonly branch: string;
  /** Commits since the commit that the session started from. */
  readonly commits: number;
  /** Files with changes that are not committed. */
  readonly uncommitted: number;
  /** The folder is gone. Opening the session creates it again, from its branch. */
  readonly isMissing: boolean;
}

/** Reads the state of a work tree, without running what its repository configures. */
export async function stateOf(place: Workplace, env: NodeJS.ProcessEnv): Promise<WorktreeState> {
  const { tree, branch, base } = place;
  const missing = { branch, commits: 0, uncommitted: 0, isMissing: true };
  if (!existsSync(tree)) return missing;
  const git = new Git(tree, { env });
  const changed = await git.text(["status", "--porcelain", "-z", "--no-renames"]);
  const count = await git.text(["rev-list", "--count", `${base.revision}..HEAD`]);
  return {
    branch: (await currentBranch(git)) ?? "(no branch)",
    commits: Number(count),
    uncommitted: changed.split("\0").filter(Boolean).length,
    isMissing: false,
  };
}
