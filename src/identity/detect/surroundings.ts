import { discover } from "../../git/discover.ts";
import type { Git } from "../../git/git.ts";
import type { GitConfig } from "../../git/config/git-config.ts";
import { type Remote, remotesOf } from "../../git/remotes.ts";
import { openRepository, type Repository } from "../../git/repository.ts";

/** A folder as git sees it. */
export interface Surroundings {
  readonly git: Git;
  readonly repository: Repository | undefined;
  readonly config: GitConfig;
  readonly remotes: readonly Remote[];
}

export async function lookAround(git: Git): Promise<Surroundings> {
  const { repository, config } = await discover(git);
  return { git, repository, config, remotes: remotesOf(config) };
}

/** Throws "not-found" where there is no repository. */
export async function lookAroundRepository(
  git: Git,
): Promise<Surroundings & { readonly repository: Repository }> {
  const around = await lookAround(git);
  return { ...around, repository: around.repository ?? (await openRepository(git)) };
}
