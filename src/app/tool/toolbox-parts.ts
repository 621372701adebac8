import type { House } from "../../config/house.ts";
import { AuditLog } from "../../store/audit/audit-log.ts";

/** The record of calls of a house. */
export function openAudit({ config, log }: House): AuditLog {
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
  const { findRepository } = await import("../../review/repository.ts");
  return findRepository(folder)?.root;
}
