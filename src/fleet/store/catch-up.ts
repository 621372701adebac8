import { TrunklineError } from "../../base/errors.ts";
import type { Page } from "../../store/session/session-pages.ts";
import type { SessionReplicas } from "../../store/session/session-replicas.ts";
import { eventPages, type StoredPage } from "../ownership/event-pages.ts";
import { EventPublisher, type EventPublisherOptions } from "../ownership/event-publisher.ts";
import type { Journal } from "../ownership/journal.ts";
import type { Claim } from "../ownership/ownership.ts";

/** Characters that are written to the local log at a time. */
const WRITE = 1024 * 1024;

/** Characters of messages that become one row of the local log: one for each message takes far longer. */
const ROW = 64 * 1024;

/** The local events of sessions, see `SessionReplicas`. */
export type Replicas = Pick<SessionReplicas, "mark" | "setMark" | "last" | "replace" | "after">;

interface Restoring {
  readonly journal: Journal;
  readonly replicas: Replicas;
  /** The stable id of this node. */
  readonly node: string;
  /** Events that are read although they can be left out, where the local log is whole with them. */
  readonly mostBehind: number;
}

export interface CatchUpOptions extends Restoring {
  readonly claim: Claim;
  /** The events that only the local log has were refused before, and are removed. */
  readonly isTailDropped: boolean;
  readonly publishing: Pick<EventPublisherOptions, "mostBytes" | "pause" | "failed" | "unanswered">;
}

/**
 * Makes the local log and the journal the same for a session that was taken. Returns what publishes its
 * further events.
 */
export async function catchUp(options: CatchUpOptions, session: number): Promise<EventPublisher> {
  const { journal, replicas, node, claim, isTailDropped, publishing } = options;
  const { id, epoch, sequence, last } = claim;
  await restoreReplica(options, session, claim);
  if (isTailDropped) await replicas.replace(session, last, []);
  const publisher = new EventPublisher({
    ...{ journal, id, epoch, node, sequence, last },
    ...publishing,
  });
  for await (const page of replicas.after(session, last)) await publisher.add(page);
  return publisher;
}

/**
 * Makes the local events of a session that was taken the same as the last ones in the journal: from the
 * bookmark on, where this node has not those before it. Events that only the local log has, after the
 * last one in the journal, stay if no other node has written since: this node's process ended before
 * they were published. Otherwise they were replaced, and are removed.
 */
async function restoreReplica(restoring: Restoring, session: number, claim: Claim): Promise<void> {
  const { replicas, mostBehind } = restoring;
  const { born, bookmark } = claim.entry;
  const mark = await replicas.mark(session);
  const isKnown = mark !== undefined && mark.epoch >= born;
  const known = isKnown ? await replicas.last(session) : 0;
  const isNear = bookmark === undefined || bookmark.last - known <= mostBehind;
  const beginnings: Beginning[] = [
    ...(isKnown && isNear ? [mark] : []),
    ...(isNear ? [] : [{ epoch: -1, ...bookmark }]),
    { epoch: -1, sequence: 0 },
  ];
  for (const beginning of beginnings) {
    const isEmpty = beginning === mark || (await replicas.last(session)) === 0;
    if (!isEmpty) await replicas.replace(session, 0, []);
    if (await restoreFrom(restoring, session, claim, beginning)) return;
  }
  throw incomplete(claim);
}

/** The first message to read, and the epoch of the local events. */
interface Beginning {
  readonly epoch: number;
  readonly sequence: number;
  /** Number of the last event of that message, if events before it are left out. */
  readonly last?: number;
}

/** Notes the mark of the claim. Returns false where the local events and those of the journal leave a gap. */
async function restoreFrom(
  { journal, replicas, node }: Restoring,
  session: number,
  claim: Claim,
  { epoch: begun, sequence, last: bookmarked }: Beginning,
): Promise<boolean> {
  let epoch = begun;
  let isFirst = bookmarked !== undefined;
  let isReplaced = false;
  let last = await replicas.last(session);
  let kept = last;
  let pages: Page[] = [];
  let characters = 0;
  const write = async (): Promise<void> => {
    await replicas.replace(session, kept, pages);
    kept = last;
    pages = [];
    characters = 0;
  };
  const messages = journal.read(claim.id, sequence, claim.sequence);
  for await (const page of eventPages(messages, claim.entry.born)) {
    if (page.epoch === claim.epoch) break;
    // This node may have taken the session and ended before it noted that. It has published nothing.
    if (isMarkerOf(page, node)) epoch = page.epoch;
    if (page.epoch !== epoch && !isReplaced) {
      isReplaced = true;
      last = Math.min(last, page.first - 1);
      kept = last;
    }
    if (isFirst) {
      if (page.last !== bookmarked || page.lines === "") return false;
      isFirst = false;
      last = page.first - 1;
      kept = last;
    }
    if (page.last <= last) continue;
    if (page.first > last + 1) return false;
    if (page.first <= last) await cutBefore(page.first);
    addPage(pages, { session, first: page.first, last: page.last, lines: page.lines });
    last = page.last;
    characters += page.lines.length;
    if (characters >= WRITE) await write();
  }
  if (last < claim.last) return false;
  // At once with the mark: where a worker is lost, many sessions wait for the database.
  if (isReplaced || pages.length > 0) await replicas.replace(session, kept, pages, claim);
  else await replicas.setMark(session, claim);
  return true;

  async function cutBefore(first: number): Promise<void> {
    last = first - 1;
    kept = Math.min(kept, last);
    await write();
  }
}

/** Joins events to the last page, or begins another. */
function addPage(pages: Page[], page: Page): void {
  const before = pages.at(-1);
  const isFull = before === undefined || before.lines.length + page.lines.length > ROW;
  if (isFull || page.first !== before.last + 1) pages.push(page);
  else {
    before.last = page.last;
    before.lines += page.lines;
  }
}

function isMarkerOf({ node, lines }: StoredPage, mine: string): boolean {
  return node === mine && lines === "";
}

function incomplete({ id, last }: Claim): TrunklineError {
  const why = `NATS has not all of its ${last} events`;
  const next = "Restore the stream of events from a backup, or delete the session";
  return new TrunklineError("unavailable", `Cannot open session '${id}': ${why}. ${next}.`);
}
