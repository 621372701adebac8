import type { ConfigScope } from "../../git/config/config-list.ts";

/** What a repository says itself, rather than its user. */
const OWN: ReadonlySet<ConfigScope> = new Set(["local", "worktree"]);

/** The addresses of the repository that a folder is in, as they are written there. */
export async function repositoryAddresses(folder: string): Promise<readonly string[]> {
  // Loaded where somebody is limited to repositories, and for nobody else.
  const [{ Git }, { GitConfig }, { remotesOf }] = await Promise.all([
    import("../../git/git.ts"),
    import("../../git/config/git-config.ts"),
    import("../../git/remotes.ts"),
  ]);
  try {
    const { entries } = await GitConfig.read(new Git(folder));
    const own = new GitConfig(entries.filter(({ scope }) => OWN.has(scope)));
    return remotesOf(own).flatMap(({ fetch }) => fetch.map(({ raw }) => raw));
  } catch {
    // What cannot be told is in none that anybody is allowed.
    return [];
  }
}
