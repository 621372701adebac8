import { TrunklineError } from "../../base/errors.ts";
import type {
  Anchor,
  Severity,
  Suggestion,
  ThreadEvent,
  ThreadState,
} from "../../store/review/review-thread.ts";
import type { Reviews } from "../../store/review/reviews.ts";
import type { NewThread, PastEvent, ThreadFilter } from "../../store/review/reviews-rows.ts";
import { blobId } from "../anchor/file-text.ts";
import { isText, THREAD_FIELDS, wrongField } from "../../store/review/thread-document.ts";

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
  const wrong = wrongField(thread, FIELDS);
  if (wrong !== undefined) return `.${wrong} is not valid`;
  const { text, anchor } = thread as TransferredThread;
  // Texts are shared by blob id, so the id must be right.
  const isRight = text === undefined || blobId(Buffer.from(text, "base64")) === anchor.blob;
  return isRight ? undefined : ".text is not that of its blob";
}

const FIELDS = {
  ...THREAD_FIELDS,
  id: (value: unknown) => isText(value) && THREAD_ID.test(value),
  text: (value: unknown) => value === undefined || isText(value),
  // The thread itself says how it was opened.
  events: (value: unknown) =>
    THREAD_FIELDS.events?.(value) === true &&
    (value as PastEvent[]).every(({ kind }) => kind !== "opened"),
};

function problem(why: string): TrunklineError {
  return new TrunklineError("config", `Cannot import the threads: ${why}.`);
}
