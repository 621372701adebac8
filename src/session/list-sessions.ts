import { TrunklineError } from "../base/errors.ts";
import type { ListedSession, SessionRecord, SessionStore } from "./store.ts";

/** A page of the list of sessions, the last used first. */
export interface SessionPage {
  readonly sessions: SessionRecord[];
  readonly nextCursor?: string;
}

interface PageOptions {
  readonly cwd: string | undefined;
  readonly cursor: string | undefined;
  readonly owner: string | undefined;
}

const PAGE = 100;

export async function readPage(
  store: Pick<SessionStore, "list">,
  { cwd, cursor, owner }: PageOptions,
): Promise<SessionPage> {
  const listed = await store.list({
    limit: PAGE + 1,
    ...(cursor === undefined ? {} : { after: readCursor(cursor) }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(owner === undefined ? {} : { owner }),
  });
  const sessions = listed.slice(0, PAGE);
  const last = sessions.at(-1);
  if (listed.length <= PAGE || last === undefined) return { sessions };
  return { sessions, nextCursor: `${last.updated}.${last.id}` };
}

/** Names the last session of a page, not a count: sessions used since then have moved to the front. */
function readCursor(cursor: string): ListedSession {
  const [, updated, id] = /^(\d{1,15})\.([0-9a-f-]{36})$/.exec(cursor) ?? [];
  if (updated !== undefined && id !== undefined) return { updated: Number(updated), id };
  const given = cursor.slice(0, 64);
  throw new TrunklineError("usage", `'params.cursor' is not a cursor of this list: '${given}'`);
}
