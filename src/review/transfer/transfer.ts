import { TrunklineError } from "../../base/errors.ts";
import {
  type Anchor,
  SEVERITIES,
  type Severity,
  STATES,
  type Suggestion,
  type ThreadEvent,
  type ThreadState,
} from "../../store/review/review-thread.ts";
import type { Reviews } from "../../store/review/reviews.ts";
import type { NewThread, PastEvent, ThreadFilter } from "../../store/review/reviews-threads.ts";
import { blobId } from "../anchor/file-text.ts";
import { isRepositoryPath } from "../../base/file/repository-path.ts";
import { isTime } from "../message-text.ts";
import { OBJECT_ID } from "../repository.ts";

/** The export format: threads with their replies and texts. */
interface Transfer {
  readonly format: typeof FORMAT;
  readonly version: 1;
  readonly threads: readonly TransferredThread[];
}

interface TransferredThread {
  readonly id: string;
  readonly state: ThreadState;
  readonly severity: Severity;
  readonly comment: string;
  readonly by: string;
  readonly at: number;
  readonly source: string;
  readonly anchor: Anchor;
  readonly suggestion?: Suggestion;
  readonly events: readonly PastEvent[];
  /** The file that was commented on, in base64. */
  readonly text?: string;
}

const FORMAT = "trunkline-review";

/** The form of a thread id in an import. */
export const THREAD_ID = /^[0-9a-z]{2,40}$/;

export async function exportThreads(reviews: Reviews, filter: ThreadFilter): Promise<string> {
  const threads: TransferredThread[] = [];
  for (const thread of await reviews.list(filter)) {
    const { id, state, severity, comment, by, at, source, anchor, suggestion } = thread;
    const [, ...events] = await reviews.history(id);
    const text = anchor.blob === undefined ? undefined : await reviews.text(anchor.blob);
    threads.push({
      id,
      state,
      severity,
      comment,
      by,
      at,
      source,
      anchor,
      ...(suggestion === undefined ? {} : { suggestion }),
      events: events.map(past),
      ...(text === undefined ? {} : { text: Buffer.from(text).toString("base64") }),
    });
  }
  const transfer: Transfer = { format: FORMAT, version: 1, threads };
  return `${JSON.stringify(transfer, null, 2)}\n`;
}

/** Sequence numbers are local to a store. */
function past(event: ThreadEvent): PastEvent {
  const { seq: _seq, ...rest } = event;
  return rest;
}

export function isTransfer(value: object): boolean {
  return (value as Partial<Transfer>).format === FORMAT;
}

/** The threads in an import, and why others are none. */
export function readTransfer(
  value: object,
  repository: NewThread["repository"],
): { readonly threads: NewThread[]; readonly refused: string[] } {
  const { version, threads } = value as { version?: unknown; threads?: unknown };
  if (version !== 1) throw problem(`its version is ${String(version)}, not 1`);
  if (!Array.isArray(threads)) throw problem("it has no list of threads");
  const refused: string[] = [];
  const good = threads.flatMap((thread: unknown, index): NewThread[] => {
    const wrong = faultOf(thread);
    if (wrong !== undefined) {
      refused.push(problem(`threads[${index}]${wrong}`).message);
      return [];
    }
    const { events, state, text, ...rest } = thread as TransferredThread;
    const content = text === undefined ? undefined : Buffer.from(text, "base64");
    return [{ ...rest, repository, content, past: { state, events } }];
  });
  return { threads: good, refused };
}

function faultOf(thread: unknown): string | undefined {
  if (typeof thread !== "object" || thread === null) return " is not a thread";
  const { id, state, severity, comment, by, at, source, anchor, suggestion, events, text } =
    thread as Partial<TransferredThread>;
  if (typeof id !== "string" || !THREAD_ID.test(id)) return ".id is not an id";
  if (!STATES.includes(state as ThreadState)) return ".state is not a state";
  if (!SEVERITIES.includes(severity as Severity)) return ".severity is not a severity";
  const texts = { comment, by, source };
  for (const [name, value] of Object.entries(texts)) {
    if (!isText(value)) return `.${name} is not text`;
  }
  if (!isTime(at)) return ".at is not a time";
  if (!isAnchor(anchor)) return ".anchor is not a place in a file";
  if (suggestion !== undefined && !isLines(suggestion?.lines)) return ".suggestion has no lines";
  // Texts are shared by blob id, so the id must be right.
  if (text !== undefined && !isTextOf(text, anchor?.blob)) return ".text is not that of its blob";
  if (!Array.isArray(events) || !events.every(isPast)) return ".events is not a list of events";
  return undefined;
}

function isTextOf(text: unknown, blob: string | undefined): boolean {
  return isText(text) && blobId(Buffer.from(text, "base64")) === blob;
}

function isAnchor(anchor: unknown): boolean {
  const { path, side, line, end, blob, commit, ...quotes } = (anchor ?? {}) as Partial<Anchor>;
  const isLine = (value: unknown): boolean =>
    value === undefined || (Number.isSafeInteger(value) && (value as number) >= 1);
  return (
    isText(path) &&
    isRepositoryPath(path) &&
    ["old", "new"].includes(side ?? "") &&
    isLine(line) &&
    isLine(end) &&
    [blob, commit].every((id) => id === undefined || (isText(id) && OBJECT_ID.test(id))) &&
    [quotes.quote, quotes.before, quotes.after].every((each) => each === undefined || isLines(each))
  );
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isLines(value: unknown): boolean {
  return Array.isArray(value) && value.every(isText);
}

const PAST_KINDS = new Set(["claimed", "returned", "replied", "proposed", "resolved", "reopened"]);

function isPast(event: unknown): boolean {
  const { kind, at, by, role, text, proposal = {} } = (event ?? {}) as Partial<PastEvent>;
  const said = [text, ...(proposal === null ? [null] : Object.values(proposal as object))];
  return (
    PAST_KINDS.has(kind ?? "") &&
    isTime(at) &&
    isText(by) &&
    ["person", "agent"].includes(role ?? "") &&
    said.every((each) => each === undefined || isText(each))
  );
}

function problem(why: string): TrunklineError {
  return new TrunklineError("config", `Cannot import the threads: ${why}.`);
}
