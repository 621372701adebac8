import { TrunklineError } from "../../base/errors.ts";
import type { StoredEvent } from "../../session/event.ts";
import { eventOf } from "../../store/session/session-pages.ts";
import { eventPages } from "../ownership/event-pages.ts";
import type { SessionStreams } from "./session-streams.ts";

/** The events of a session that NATS has, after a number. Reading needs no hold on the session. */
export async function* readEvents(
  streams: Pick<SessionStreams, "find" | "last" | "journal">,
  id: string,
  after: number,
): AsyncGenerator<StoredEvent> {
  const entry = await streams.find(id);
  if (entry === undefined) {
    throw new TrunklineError("not-found", `Cannot find session '${id.slice(0, 64)}'.`);
  }
  if (entry.deleted !== undefined) return;
  const last = await streams.last(id);
  if (last === undefined || last.last <= after) return;
  for await (const page of eventPages(streams.journal.read(id, 0, last.sequence), entry.born)) {
    if (page.last <= after) continue;
    for (const line of page.lines.split("\n")) {
      if (line === "") continue;
      const event = eventOf(line);
      if (event.seq > after) yield event;
    }
  }
}
