import { dirname } from "node:path";

import { readFacts } from "../../run/workspace/workspace-facts.ts";
import type { SessionRecord } from "../../store/session/session-record.ts";
import type { ListedSession } from "./session-text.ts";

/** The files of a hibernated run are only a commit; those of a closed run are still on disk. */
export async function withState(session: SessionRecord): Promise<ListedSession> {
  if (session.isHeld) return { ...session, state: "open" };
  if (session.notes.run === undefined) return { ...session, state: "" };
  const facts = await readFacts(dirname(session.cwd)).catch(() => undefined);
  return { ...session, state: facts?.isAway === true ? "hibernated" : "closed" };
}
