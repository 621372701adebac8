import { parseRemoteUrl } from "../base/remote-url.ts";
import type { ConfigScope } from "./config/config-list.ts";
import { GitConfig } from "./config/git-config.ts";
import { Git } from "./git.ts";
import { remotesOf } from "./remotes.ts";

/** The scopes of git configuration that belong to a repository, not to its user. */
const OWN: ReadonlySet<ConfigScope> = new Set(["local", "worktree"]);

/** The addresses of the repository that a folder is in, in their normal form, as it says itself. */
export async function repositoryAddresses(folder: string): Promise<readonly string[]> {
  try {
    const { entries } = await GitConfig.read(new Git(folder));
    const own = new GitConfig(entries.filter(({ scope }) => OWN.has(scope)));
    const fetched = remotesOf(own).flatMap(({ fetch }) => fetch);
    return fetched.flatMap(({ effective }) => parseRemoteUrl(effective).normal ?? []);
  } catch {
    // An unreadable repository has no address that a token could allow.
    return [];
  }
}
