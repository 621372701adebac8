/**
 * Folder in the data folder, for the audit alone: processes watch the data folder, and would be woken by
 * every call of every other.
 */
export const AUDIT_FOLDER = "audit";

/** The file that is written, in the data folder. */
export const AUDIT_FILE = `${AUDIT_FOLDER}/audit.ndjson`;

/** Files that were set aside when they were full; their names are in the order of time. */
export const SET_ASIDE = /^audit-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z-\d+\.ndjson$/;

/** A name for a full file, after those of all files that are there. */
export function nameAfter(names: readonly string[]): string {
  const newest = names.reduce((last, name) => Math.max(last, timeIn(name)), 0);
  const time = new Date(Math.max(Date.now(), newest + 1));
  return `audit-${time.toISOString().replaceAll(/[-:.]/g, "")}-${process.pid}.ndjson`;
}

/** The milliseconds since 1970 in the name of a file that was set aside; 0 for other names. */
function timeIn(name: string): number {
  const [, year, month, day, hour, minute, second, ms] = SET_ASIDE.exec(name) ?? [];
  if (ms === undefined) return 0;
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`);
}
