import { defined } from "../../base/defined.ts";
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
      const wordsIn = (name: string): string => (query.get(name) ?? "").toLowerCase();
      const search = {
        ...{ cursor, limit, text: wordsIn("q"), tool: wordsIn("tool"), who: wordsIn("who") },
        ...{ outcome: wordsIn("outcome"), from: timeIn(query, "from"), to: timeIn(query, "to") },
      };
      using _share = await shares.enter({ key: principal.id });
      return await searchAudit(data, principal, search);
    }),
  ];
}

/** The message for a principal that has reached its limit. */
export function tooMany(what: string, most: number): string {
  return `Too many ${what} of this token at once: it may have ${most}. Wait for one to end.`;
}

function timeIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name) || undefined;
  const time = text === undefined ? undefined : Date.parse(text);
  if (!Number.isNaN(time)) return time;
  const example = new Date(0).toISOString();
  throw new TrunklineError("usage", `'${name}' has to be a time such as ${example}.`);
}

/** Texts are in lower case. */
export interface AuditSearch {
  readonly cursor?: string | undefined;
  /** Found anywhere in the entry. */
  readonly text?: string;
  /** Found in the name of the tool, or in what was permitted. */
  readonly tool?: string;
  /** Found in the name of who called or answered. */
  readonly who?: string;
  /** How the outcome begins: `ok`, or `allow` for all that was allowed. */
  readonly outcome?: string;
  /** Milliseconds since 1970, both included. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly limit: number;
}

/** An entry that is older than what is looked for by this is followed by older ones only. */
const LARGEST_DISORDER = 60 * 60 * 1000;

/** Entries that match, the newest first. Others than the owner see their own alone. */
export async function searchAudit(
  data: string,
  principal: Principal,
  search: AuditSearch,
): Promise<Page<AuditRow>> {
  const { cursor, limit, from = -Infinity } = search;
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
    if (timeOf(record.entry) < from - LARGEST_DISORDER) break;
    if (isOwn && matches(record.entry, search)) rows.push(rowOf(record));
    if (rows.length === limit || read > MOST_READ) {
      return { rows, ...(last === undefined ? {} : { next: last }) };
    }
  }
  return { rows };
}

type Entry = AuditRecord["entry"];

function matches(entry: Entry, search: AuditSearch): boolean {
  const { text = "", tool = "", who = "", outcome = "" } = search;
  const { from = -Infinity, to = Infinity } = search;
  const time = timeOf(entry);
  if (time < from || time > to) return false;
  const facts = factsOf(entry);
  const has = (fact: string | undefined, words: string): boolean =>
    words === "" || fact?.toLowerCase().includes(words) === true;
  if (!has(facts.tool, tool) || !has(facts.caller, who)) return false;
  if (facts.outcome?.startsWith(outcome) !== true && outcome !== "") return false;
  return has(JSON.stringify(entry), text);
}

/** An entry without a time is of any. */
function timeOf({ time }: Entry): number {
  return typeof time === "string" ? Date.parse(time) : Number.NaN;
}

/** What was called or permitted, by whom, in which folder and with what outcome. */
function factsOf(entry: Entry): Pick<AuditRow, "tool" | "caller" | "project" | "outcome"> {
  const text = (...names: string[]): string | undefined => {
    return names.map((name) => entry[name]).find((value) => typeof value === "string");
  };
  const { outcome } = entry;
  const facts = {
    tool: text("tool", "title", "toolCallId"),
    caller: text("caller", "by"),
    project: text("project", "workspace"),
    outcome: outcome === undefined || outcome === null ? undefined : outcomeText(outcome),
  };
  return defined(facts);
}

const TEXTS = ["door", "session", "reason"] as const;

function rowOf({ place, entry }: AuditRecord): AuditRow {
  const shown = mask(entry) as AuditRow["entry"];
  const texts: Partial<Record<(typeof TEXTS)[number], string>> = {};
  for (const name of TEXTS) {
    const value = shown[name];
    if (typeof value === "string") texts[name] = value;
  }
  const { time, event, milliseconds } = shown;
  return {
    id: place,
    time: typeof time === "string" ? time : "",
    event: typeof event === "string" ? event : "call",
    ...texts,
    ...factsOf(shown),
    ...(typeof milliseconds === "number" ? { milliseconds } : {}),
    entry: shown,
  };
}

/** Of a permission, the kind of the answer: the ids of options are the agent's own. */
function outcomeText(outcome: unknown): string {
  if (typeof outcome === "string") return outcome;
  const { outcome: what, kind, optionId } = outcome as Readonly<Record<string, unknown>>;
  const [words] = [kind, optionId, what].filter((each) => typeof each === "string");
  return words ?? "";
}
