import type { AppContext } from "../../config/app-context.ts";
import { findRepository } from "../../review/repository.ts";
import { AuditLog } from "../../store/audit/audit-log.ts";

/** The record of calls of a program. */
export function openAudit({ config, log }: AppContext): AuditLog {
  return new AuditLog(config.data, {
    anchor: config.audit?.anchor,
    // An error, since short commands do not show warnings: a call that is not audited must be seen.
    report: (event, fields) => log.error(event, fields),
  });
}

/**
 * The top folder of the repository that a folder is in. Only clients with several roots need it.
 */
export async function repositoryOf(folder: string): Promise<string | undefined> {
  return findRepository(folder)?.root;
}
