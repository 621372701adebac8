import type { StoredEvent } from "../../session/store.ts";
import { eventsIn } from "../../store/session/session-pages.ts";
import type { SessionReplicas } from "../../store/session/session-replicas.ts";
import { eventPages, linesUpTo } from "../ownership/event-pages.ts";
import { retryUnanswered, type SessionEntry, sessionNotFound } from "../ownership/session-entry.ts";
import type { SessionStreams } from "./session-streams.ts";

type Streams = Pick<SessionStreams, "find" | "last" | "journal" | "connection">;

/** Events that are read although nobody asked for them, rather than to look for a later message. */
const NEAR = 100;

/** Events that were stored together. */
export interface EventPage {
  readonly events: readonly StoredEvent[];
  /** Characters that they take. */
  readonly size: number;
}

/** The events of a session that NATS has, after a number and up to another. This needs no hold on it. */
export async function* readEvents(
  streams: Streams,
  id: string,
  after: number,
  upTo = Infinity,
): AsyncGenerator<readonly StoredEvent[]> {
  const entry = await streams.find(id);
  if (entry === undefined) throw sessionNotFound(id);
  for await (const { events } of readPages(streams, entry, after, upTo)) yield events;
}

/** The same, as many at a time as were stored together. */
export async function* readPages(
  streams: Omit<Streams, "find">,
  { record: { id }, born, deleted }: SessionEntry,
  after: number,
  upTo = Infinity,
): AsyncGenerator<EventPage> {
  const last = deleted === undefined ? await streams.last(id) : undefined;
  if (last === undefined || last.last <= after) return;
  const from = await messageBefore(streams, { id, born, to: last.sequence }, after);
  for await (const page of eventPages(streams.journal.read(id, from, last.sequence), born)) {
    if (page.last <= after) continue;
    if (page.first > upTo) return;
    const events = eventsIn(page.lines).filter(({ seq }) => seq > after && seq <= upTo);
    if (events.length > 0) yield { events, size: page.lines.length };
  }
}

/**
 * The sequence of a message from which on all events after a number can be read, and not many others: of a
 * long session most is known to a client that comes back. 0 is before the first message.
 */
async function messageBefore(
  { journal, connection }: Pick<Streams, "journal" | "connection">,
  { id, born, to }: { readonly id: string; readonly born: number; readonly to: number },
  after: number,
): Promise<number> {
  let found = { sequence: 0, last: 0 };
  // The message that is looked for is not before `low`, and all from `high` on are later ones.
  let [low, high] = [1, to];
  while (after - found.last > NEAR && low < high) {
    const middle = Math.floor((low + high) / 2);
    const message = await retryUnanswered(connection.pause, () => journal.next(id, middle));
    if (message === undefined || (message.epoch >= born && message.last > after)) {
      high = middle;
      continue;
    }
    low = message.sequence + 1;
    // A part of an event is no beginning.
    if (!message.more && message.epoch >= born) found = message;
  }
  return found.sequence;
}

/** The events up to a number. */
export async function* eventsUpTo(
  last: number,
  batches: AsyncIterable<readonly StoredEvent[]>,
): AsyncGenerator<readonly StoredEvent[]> {
  for await (const batch of batches) {
    yield batch.filter(({ seq }) => seq <= last);
    if ((batch.at(-1)?.seq ?? 0) > last) return;
  }
}

interface CopyTarget {
  readonly streams: Pick<SessionStreams, "last" | "journal">;
  readonly replicas: Pick<SessionReplicas, "replace">;
}

/** Makes the events of a session that NATS has, up to a number, those of a local session. */
export async function copyEvents(
  { streams, replicas }: CopyTarget,
  from: { readonly id: string; readonly born: number },
  session: number,
  upTo: number,
): Promise<void> {
  await replicas.replace(session, 0, []);
  const last = await streams.last(from.id);
  const messages = streams.journal.read(from.id, 0, last?.sequence ?? 0);
  for await (const page of eventPages(messages, from.born)) {
    if (page.lines === "") continue;
    const { first } = page;
    if (first > upTo) return;
    const isCut = page.last > upTo;
    const copied = { first, last: isCut ? upTo : page.last };
    const lines = isCut ? linesUpTo(page, upTo) : page.lines;
    await replicas.replace(session, first - 1, [{ ...copied, session, lines }]);
  }
}
