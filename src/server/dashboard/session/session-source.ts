import {
  type Mark,
  maySeeSession,
  type ReadSession,
} from "../../../store/session/session-reader.ts";
import type { LiveRows } from "../live/live-rows.ts";
import type { SessionRows } from "./session-rows.ts";

interface KnownRow {
  /** Changes whenever the row may. */
  readonly stamp: string;
  /** The row as JSON. */
  readonly text: string;
  readonly session: ReadSession;
}

/** Milliseconds between two looks. Where nothing was committed, one costs some microseconds. */
const EVERY = 100;

/**
 * Follows the store of sessions, which has the sessions of all processes.
 */
export function sessionSource(
  rows: SessionRows,
  runRow: (session: ReadSession) => Promise<object>,
) {
  const { reader } = rows;
  const listeners = new Map<string, Set<() => void>>();
  /** The rows that were sent last, to find those that have changed. */
  let known = new Map<string, KnownRow>();
  let mark: Mark | undefined;

  async function look(live: LiveRows): Promise<void> {
    if (mark === undefined) return begin();
    const changed = await reader.changed(mark);
    if (changed === undefined) return;
    mark = changed.mark;
    const seen = new Map<string, KnownRow>();
    for (const session of changed.sessions) {
      const last = known.get(session.id);
      const stamp = stampOf(session);
      if (last?.stamp === stamp) {
        seen.set(session.id, last);
        continue;
      }
      const row = await rows.row(session);
      const text = JSON.stringify(row);
      seen.set(session.id, { stamp, text, session });
      if (last?.text === text) continue;
      live.set("session", session.id, row, (principal) => maySeeSession(principal, session));
      if (row.isRun) {
        const run = await runRow(session);
        live.set("run", session.id, run, (principal) => maySeeSession(principal, session));
      }
      wake(session.id);
    }
    for (const [id, { session }] of known) {
      if (seen.has(id) || (await reader.find(id)) !== undefined) continue;
      for (const event of ["session", "run"] as const) {
        if (event === "run" && session.notes.run === undefined) continue;
        live.set(event, id, null, (principal) => maySeeSession(principal, session));
      }
      wake(id);
    }
    known = seen;
  }

  /** What is there at the first look is no change. */
  async function begin(): Promise<void> {
    const now = await reader.mark();
    const { sessions } = (await reader.changed({ ...now, version: -1 })) ?? { sessions: [] };
    for (const session of sessions) {
      const text = JSON.stringify(await rows.row(session));
      known.set(session.id, { stamp: stampOf(session), text, session });
    }
    mark = now;
  }

  /** Calls back when a session may have more events, or asks something else. */
  function listen(id: string, listener: () => void): Disposable {
    const own = listeners.getOrInsertComputed(id, () => new Set());
    own.add(listener);
    return {
      [Symbol.dispose]: () => {
        own.delete(listener);
        if (own.size === 0) listeners.delete(id);
      },
    };
  }

  function wake(id: string): void {
    for (const listener of listeners.get(id) ?? []) listener();
  }

  return {
    every: EVERY,
    ...{ look, listen, wake },
    reset: (): void => {
      mark = undefined;
      known.clear();
    },
  };
}

/** What is stored of a session; its row follows from that and from its events. */
function stampOf({ last, updated, holder = "", title = "", notes }: ReadSession): string {
  return `${last} ${updated} ${holder} ${JSON.stringify(notes)} ${title}`;
}
