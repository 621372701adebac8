import { AuditLog } from "../../store/audit/audit-log.ts";
import type { House } from "../house.ts";

/** The record of calls of a house. */
export function openAudit({ config, log }: House): AuditLog {
  return new AuditLog(config.data, {
    // A call that is not on record is no matter of a warning, which short commands do not show.
    report: (event, fields) => log.error(event, fields),
  });
}
