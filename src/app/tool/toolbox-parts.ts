import type { AppContext } from "../../gateway/app-context.ts";
import type { ConfigScope } from "../../git/config/config-list.ts";
import { parseRemoteUrl } from "../../base/remote-url.ts";
import { AuditLog } from "../../store/audit/audit-log.ts";

/** The record of calls of a program. */
export function openAudit({ config, log }: AppContext): AuditLog {
  return new AuditLog(config.data, {
    anchor: config.audit?.anchor,
    // An error, since short commands do not show warnings: a call that is not audited must be seen.
    report: (event, fields) => log.error(event, fields),
  });
}

/** The scopes of git configuration that belong to a repository, not to its user. */
const OWN: ReadonlySet<ConfigScope> = new Set(["local", "worktree"]);

/** The addresses of the repository that a folder is in, in their normal form, as it says itself. */
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
    const fetched = remotesOf(own).flatMap(({ fetch }) => fetch);
    return fetched.flatMap(({ effective }) => parseRemoteUrl(effective).normal ?? []);
  } catch {
    // An unreadable repository has no address that a token could allow.
    return [];
  }
}

/**
 * The top folder of the repository that a folder is in. Only clients with several roots need it.
 */
export async function repositoryOf(folder: string): Promise<string | undefined> {
  const { findRepository } = await import("../../review/repository.ts");
  return findRepository(folder)?.root;
}
