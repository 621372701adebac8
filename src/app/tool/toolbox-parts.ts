import type { AppContext } from "../../config/app-context.ts";
import { findRepository } from "../../review/repository.ts";
import { AuditLog } from "../../store/audit/audit-log.ts";
import type { RepositoryFolders } from "../../tool/tool.ts";

/** The record of calls of a program. */
export function openAudit({ config, log }: AppContext): AuditLog {
  return new AuditLog(config.data, {
    anchor: config.audit?.anchor,
    // An error, since short commands do not show warnings: a call that is not audited must be seen.
    report: (event, fields) => log.error(event, fields),
  });
}

/** Where the repository of a folder is, for clients with several roots and tokens for folders. */
export function repositoryOf(folder: string): RepositoryFolders | undefined {
  const found = findRepository(folder);
  if (found === undefined) return undefined;
  return { top: found.root, gitFolders: [found.gitDir, found.worktreeGitDir] };
}
