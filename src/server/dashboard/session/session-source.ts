import {
  type Mark,
  maySeeSession,
  type ReadSession,
} from "../../../store/session/session-reader.ts";
import type { LiveRows } from "../live/live-rows.ts";
import type { LiveSource } from "../live/polled-rows.ts";
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
export class SessionSource implements LiveSource {
  readonly every = EVERY;
  readonly #rows: SessionRows;
  readonly #runRow: (session: ReadSession) => Promise<object>;
  readonly #listeners = new Map<string, Set<() => void>>();
  /** The rows that were sent last, to find those that have changed. */
  #known = new Map<string, KnownRow>();
  #mark: Mark | undefined;

  /** `runRow` makes the row of a session that is a remote run. */
  constructor(rows: SessionRows, runRow: (session: ReadSession) => Promise<object>) {
    this.#rows = rows;
    this.#runRow = runRow;
  }

  async look(live: LiveRows): Promise<void> {
    const { reader } = this.#rows;
    if (this.#mark === undefined) return this.#begin();
    const changed = await reader.changed(this.#mark);
    if (changed === undefined) return;
    this.#mark = changed.mark;
    const seen = new Map<string, KnownRow>();
    for (const session of changed.sessions) {
      const known = this.#known.get(session.id);
      const stamp = stampOf(session);
      if (known?.stamp === stamp) {
        seen.set(session.id, known);
        continue;
      }
      const row = await this.#rows.row(session);
      const text = JSON.stringify(row);
      seen.set(session.id, { stamp, text, session });
      if (known?.text === text) continue;
      live.set("session", session.id, row, (principal) => maySeeSession(principal, session));
      if (row.isRun) {
        const run = await this.#runRow(session);
        live.set("run", session.id, run, (principal) => maySeeSession(principal, session));
      }
      this.wake(session.id);
    }
    for (const [id, { session }] of this.#known) {
      if (seen.has(id) || (await reader.find(id)) !== undefined) continue;
      for (const event of ["session", "run"] as const) {
        if (event === "run" && session.notes.run === undefined) continue;
        live.set(event, id, null, (principal) => maySeeSession(principal, session));
      }
      this.wake(id);
    }
    this.#known = seen;
  }

  /** What is there at the first look is no change. */
  async #begin(): Promise<void> {
    const { reader } = this.#rows;
    const now = await reader.mark();
    const { sessions } = (await reader.changed({ ...now, version: -1 })) ?? { sessions: [] };
    for (const session of sessions) {
      const text = JSON.stringify(await this.#rows.row(session));
      this.#known.set(session.id, { stamp: stampOf(session), text, session });
    }
    this.#mark = now;
  }

  reset(): void {
    this.#mark = undefined;
    this.#known.clear();
  }

  /** Calls back when a session may have more events, or asks something else. */
  listen(id: string, listener: () => void): Disposable {
    const listeners = this.#listeners.getOrInsertComputed(id, () => new Set());
    listeners.add(listener);
    return {
      [Symbol.dispose]: () => {
        listeners.delete(listener);
        if (listeners.size === 0) this.#listeners.delete(id);
      },
    };
  }

  wake(id: string): void {
    for (const listener of this.#listeners.get(id) ?? []) listener();
  }
}

/** What is stored of a session; its row follows from that and from its events. */
function stampOf({ last, updated, holder = "", title = "", notes }: ReadSession): string {
  return `${last} ${updated} ${holder} ${JSON.stringify(notes)} ${title}`;
}
