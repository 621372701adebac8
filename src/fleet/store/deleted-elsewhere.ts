import type { SessionRecord, SessionStore } from "../../session/store.ts";
import type { SessionLog } from "../../store/session/session-log.ts";

/** Sessions that are looked at together. */
const PAGE = 100;

/**
 * Sessions that the local log of a worker still has, although they were deleted where another node had
 * them open. A session that NATS does not know at all stays: it may have lost its data.
 */
export async function* deletedElsewhere(
  log: Pick<SessionLog, "list">,
  store: Pick<SessionStore, "find">,
): AsyncGenerator<SessionRecord> {
  for (let after: SessionRecord | undefined; ;) {
    const page = await log.list({ limit: PAGE, ...(after === undefined ? {} : { after }) });
    for (const record of page) {
      // While it is open here, or being opened, the local log knows best.
      if (!record.isHeld && (await store.find(record.id))?.isDeleted === true) yield record;
    }
    after = page.at(-1);
    if (after === undefined || page.length < PAGE) return;
  }
}
