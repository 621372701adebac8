import { discover } from "../../git/discover.ts";
import type { Git } from "../../git/git.ts";
import type { GitConfig } from "../../git/config/git-config.ts";
import { type Remote, remotesOf } from "../../git/remotes.ts";
import type { Repository } from "../../git/git-folder.ts";
import { openRepository } from "../../git/repository.ts";

/** A folder as git sees it. */
export interface GitContext {
  readonly git: Git;
  readonly repository: Repository | undefined;
  readonly config: GitConfig;
  readonly remotes: readonly Remote[];
}

export async function readGitContext(git: Git): Promise<GitContext> {
  const { repository, config } = await discover(git);
  return { git, repository, config, remotes: remotesOf(config) };
}

/** Throws "not-found" where there is no repository. */
export async function readRepositoryContext(
  git: Git,
): Promise<GitContext & { readonly repository: Repository }> {
  const context = await readGitContext(git);
  return { ...context, repository: context.repository ?? (await openRepository(git)) };
}
