import type { SessionReplicas } from "../../store/session/session-replicas.ts";
import { eventPages, linesUpTo } from "../ownership/event-pages.ts";
import type { SessionStreams } from "./session-streams.ts";

interface Copying {
  readonly streams: Pick<SessionStreams, "last" | "journal">;
  readonly replicas: Pick<SessionReplicas, "replace">;
}

/** Makes the events of a session that NATS has, up to a number, those of a local session. */
export async function copyEvents(
  { streams, replicas }: Copying,
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
