import { TrunklineError } from "../../base/errors.ts";
import type { StoredEvent } from "../../session/event.ts";
import { eventOf } from "../../store/session/session-pages.ts";
import { eventPages } from "../ownership/event-pages.ts";
import type { Journal } from "../ownership/journal.ts";
import type { Records } from "../ownership/records.ts";

/** The events of a session that NATS has, after a number. Reading needs no hold on the session. */
export async function* readEvents(
  { records, journal }: { readonly records: Records; readonly journal: Journal },
  id: string,
  after: number,
): AsyncGenerator<StoredEvent> {
  const found = await records.get(id);
  if (found === undefined) {
    throw new TrunklineError("not-found", `Cannot find session '${id.slice(0, 64)}'.`);
  }
  if (found.entry.deleted !== undefined) return;
  const last = await journal.last(id);
  if (last === undefined || last.last <= after) return;
  for await (const page of eventPages(journal.read(id, 0, last.sequence), found.entry.born)) {
    if (page.last <= after) continue;
    for (const line of page.lines.split("\n")) {
      if (line === "") continue;
      const event = eventOf(line);
      if (event.seq > after) yield event;
    }
  }
}
