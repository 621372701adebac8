import { TrunklineError } from "../../base/errors.ts";
import { mayUseAll, type Principal } from "../../base/principal.ts";
import { mask } from "../../base/text/mask.ts";
import type { AuditRecord } from "../../store/audit/audit-reader.ts";
import { CURSOR, wholeAuditBackwards } from "../../store/audit/whole-audit.ts";
import type { AuditRow, Page } from "../dashboard/api.ts";
import { type ApiRoute, numberIn, route } from "../../base/capability/api-route.ts";
import { Semaphore } from "../../base/limit/semaphore.ts";

const MOST_ROWS = 500;
/** Bytes that are read for one page: a search for something rare has further pages. */
const MOST_READ = 8 * 1024 * 1024;

/** Searches of one principal that run at once, and that wait. */
const MOST_SEARCHES = 1;
const MOST_WAITING = 16;

/** The search in the record of calls and permissions. */
export function auditRoutes(data: string): readonly ApiRoute[] {
  const shares = new Semaphore({
    ...{ runningEach: MOST_SEARCHES, waitingEach: MOST_WAITING },
    refusal: () => tooMany("searches", MOST_SEARCHES),
  });
  return [
    route("GET /api/audit", "nothing", async ({ principal, query }) => {
      const limit = numberIn(query, "limit", { least: 1, most: MOST_ROWS, usual: 100 });
      const cursor = query.get("cursor") ?? undefined;
      if (cursor !== undefined && !CURSOR.test(cursor)) {
        throw new TrunklineError("usage", `'${cursor.slice(0, 64)}' is not a cursor of this list.`);
      }
      const text = (query.get("q") ?? "").toLowerCase();
      using _share = await shares.enter({ key: principal.id });
      return await searchAudit(data, principal, { cursor, text, limit });
    }),
  ];
}

/** The message for a principal that has reached its limit. */
export function tooMany(what: string, most: number): string {
  return `Too many ${what} of this token at once: it may have ${most}. Wait for one to end.`;
}

export interface AuditSearch {
  readonly cursor?: string | undefined;
  /** In lower case. */
  readonly text: string;
  readonly limit: number;
}

/** Entries that contain a text, the newest first. Others than the owner see their own alone. */
export async function searchAudit(
  data: string,
  principal: Principal,
  { cursor, text, limit }: AuditSearch,
): Promise<Page<AuditRow>> {
  const rows: AuditRow[] = [];
  let read = 0;
  let last = cursor;
  const options = {
    ...(cursor === undefined ? {} : { before: cursor }),
    spent: (bytes: number): void => {
      read += bytes;
    },
  };
  for await (const record of wholeAuditBackwards(data, options)) {
    last = record.cursor;
    const isOwn = mayUseAll(principal) || record.entry.principal === principal.id;
    if (isOwn && JSON.stringify(record.entry).toLowerCase().includes(text))
      rows.push(rowOf(record));
    if (rows.length === limit || read > MOST_READ) {
      return { rows, ...(last === undefined ? {} : { next: last }) };
    }
  }
  return { rows };
}

const TEXTS = ["tool", "caller", "door", "session", "project", "reason"] as const;

function rowOf({ place, entry }: AuditRecord): AuditRow {
  const shown = mask(entry) as AuditRow["entry"];
  const texts: Partial<Record<(typeof TEXTS)[number], string>> = {};
  for (const name of TEXTS) {
    const value = shown[name];
    if (typeof value === "string") texts[name] = value;
  }
  const { time, event, outcome, milliseconds } = shown;
  return {
    id: place,
    time: typeof time === "string" ? time : "",
    event: typeof event === "string" ? event : "call",
    ...texts,
    ...(outcome === undefined ? {} : { outcome: outcomeText(outcome) }),
    ...(typeof milliseconds === "number" ? { milliseconds } : {}),
    entry: shown,
  };
}

function outcomeText(outcome: unknown): string {
  if (typeof outcome === "string") return outcome;
  const { outcome: what, optionId } = outcome as { outcome?: unknown; optionId?: unknown };
  const [words] = [optionId, what].filter((each) => typeof each === "string");
  return words ?? "";
}
