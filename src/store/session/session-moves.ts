import type { SessionFields } from "../../session/store.ts";
import type { DatabaseSync } from "node:sqlite";

import { TrunklineError } from "../../base/errors.ts";
import type { Database, Row } from "../database.ts";
import type { Holder } from "../holder.ts";
import { sql } from "../sql.ts";
import type { MovedUsage } from "../schema.gen.ts";
import { lastOf, type Page, writePages } from "./session-pages.ts";

/**
 * Sessions on their way between machines. `out` is the move away: "moving" can still be given up, "moved" is
 * the tombstone and the only decision. `in` is the move to here: "incoming" cannot run, "active" was granted.
 */
export const MOVES = `CREATE TABLE session_move (
     session TEXT NOT NULL,
     way TEXT NOT NULL CHECK (way IN ('out', 'in')),
     move TEXT NOT NULL,
     epoch INTEGER NOT NULL,
     state TEXT NOT NULL CHECK (state IN ('moving', 'moved', 'incoming', 'active')),
     holder TEXT,
     facts TEXT NOT NULL,
     PRIMARY KEY (session, way)
   ) STRICT;

   CREATE TABLE known_host (name TEXT PRIMARY KEY, key TEXT NOT NULL) STRICT;`;

/** The notes about moves of a session that was never moved. */
const NEVER_MOVED = JSON.stringify({ moved: { folders: [], carried: [], top: "" } });

type Facts = Readonly<Record<string, unknown>>;

export interface StoredMove {
  readonly session: string;
  readonly move: string;
  /** Counts the moves of the session. */
  readonly epoch: number;
  readonly state: "moving" | "moved" | "incoming" | "active";
  /** The process that moves it away; undefined where the other side drives that. */
  readonly holder: string | undefined;
  readonly facts: Facts;
}

/** The session is on another machine. */
export class MovedAwayError extends TrunklineError {
  readonly movedTo: { readonly url: string; readonly session: string; readonly epoch: number };

  /** Number of the last event that is here. */
  readonly last: number;

  constructor(session: string, url: string, epoch: number, last = 0) {
    const next = /^wss?:/.test(url)
      ? `Continue it there: trunkline session attach ${session} --url ${url}. ` +
        `Bring it back: trunkline session move ${session} --here`
      : "Continue it there";
    super("closed", `Session '${session}' has moved to ${url}. ${next}.`);
    this.movedTo = { url, session, epoch };
    this.last = last;
  }
}

function moveOf(
  database: DatabaseSync,
  session: string,
  way: "out" | "in",
): StoredMove | undefined {
  const row = sql(database).get`SELECT * FROM session_move
    WHERE session = ${session} AND way = ${way}`;
  return row && readMove(row);
}

function readMove({ facts, ...row }: Row): StoredMove {
  return { ...row, facts: JSON.parse(String(facts)) as Facts } as unknown as StoredMove;
}

/**
 * Throws if the session has moved away, or a living process moves it. No grant can exist before the
 * tombstone, so whoever opens the session gives every other move up.
 */
export function refuseMoved(
  database: DatabaseSync,
  session: string,
  isAlive: (holder: string) => boolean,
): void {
  const { state, epoch, holder, facts } = moveOf(database, session, "out") ?? {};
  const url = String(facts?.to);
  if (state === "moved") {
    const row = sql(database).get`SELECT id FROM session WHERE uuid = ${session}`;
    throw new MovedAwayError(session, url, epoch ?? 0, lastOf(database, Number(row?.id)));
  }
  if (typeof holder !== "string" || !isAlive(holder)) return;
  const next = "Wait until it is there, or end that command";
  throw new TrunklineError("conflict", `Session '${session}' is being moved to ${url}. ${next}.`);
}

/** Gives up a move away that `refuseMoved` does not object to. */
export function endMove(database: DatabaseSync, session: string): void {
  sql(database).run`DELETE FROM session_move
    WHERE session = ${session} AND way = 'out' AND state = 'moving'`;
}

/** A session that arrives from another machine. */
export interface ArrivedSession extends Omit<SessionFields, "parent"> {
  readonly parent?: string | undefined;
  /** All of its events; those that are here already are the same. */
  readonly pages: readonly Omit<Page, "session">[];
  readonly usage: readonly MovedUsage[];
}

/** Milliseconds after which what somebody has announced gives way to what somebody else announces. */
const ANNOUNCED = 10 * 60_000;

/** The states of moves. */
export class SessionMoves {
  readonly #database: Database;
  readonly #holder: Holder;

  constructor(database: Database, holder: Holder) {
    this.#database = database;
    this.#holder = holder;
  }

  find(session: string, way: "out" | "in"): Promise<StoredMove | undefined> {
    return this.#database.read((database) => moveOf(database, session, way));
  }

  /** Where sessions are that have moved away, by their ids. */
  async away(): Promise<ReadonlyMap<string, string>> {
    const rows = await this.#database.all`SELECT * FROM session_move WHERE state = 'moved'`;
    return new Map(rows.map(readMove).map(({ session, facts }) => [session, String(facts.to)]));
  }

  /**
   * Begins to move a session away. Throws if a process has it open. Nobody opens it from then on, unless the
   * other side drives the move: that may never be heard of again, so whoever opens the session ends the move.
   */
  async begin(session: string, move: string, facts: Facts, isDriven: boolean): Promise<number> {
    const isAlive = (holder: string): boolean => this.#holder.isAlive(holder);
    return await this.#database.change((database) => {
      const row = sql(database).get`SELECT * FROM session
        WHERE uuid = ${session} AND deleted IS NULL`;
      if (row === undefined) {
        throw new TrunklineError("not-found", `Cannot find session '${session.slice(0, 64)}'.`);
      }
      refuseMoved(database, session, isAlive);
      const holder = row.holder as string | null;
      if (holder !== null && isAlive(holder)) {
        const next = "Close it there first";
        throw new TrunklineError("conflict", `Session '${session}' is open elsewhere. ${next}.`);
      }
      const epoch = (moveOf(database, session, "in")?.epoch ?? 0) + 1;
      // The last holder can write nothing any more. The session counts as whole here.
      sql(database).run`UPDATE session SET holder = NULL, epoch = epoch + 1,
        notes = json_patch(${NEVER_MOVED}, notes) WHERE uuid = ${session}`;
      sql(database).run`INSERT OR REPLACE INTO session_move
        (session, way, move, epoch, state, holder, facts) VALUES (${session}, 'out', ${move},
        ${epoch}, 'moving', ${isDriven ? null : this.#holder.id}, ${JSON.stringify(facts)})`;
      return epoch;
    });
  }

  /** Adds facts of a move. False if it was given up. */
  note(session: string, move: string, facts: Facts): Promise<boolean> {
    return this.#database.run`UPDATE session_move
      SET facts = json_patch(facts, ${JSON.stringify(facts)})
      WHERE session = ${session} AND move = ${move}`;
  }

  /** Writes the tombstone: from then on the session is at the other side. False if it was given up. */
  depart(session: string, move: string): Promise<boolean> {
    return this.#database.run`UPDATE session_move SET state = 'moved'
      WHERE session = ${session} AND way = 'out' AND move = ${move}`;
  }

  /** Moves that this side began with a gateway, and that have not ended. */
  async unfinished(): Promise<StoredMove[]> {
    const rows = await this.#database.all`SELECT * FROM session_move WHERE
      (way = 'out' AND facts ->> 'to' LIKE 'ws%' AND facts ->> 'isThere' IS NULL AND
        (state = 'moved' OR holder IS NOT NULL)) OR
      (state = 'incoming' AND facts ->> 'from' IS NOT NULL AND facts ->> 'digest' IS NOT NULL)`;
    const isLeft = ({ state, holder = "" }: StoredMove): boolean =>
      state !== "moving" || !this.#holder.isAlive(holder);
    return rows.map(readMove).filter(isLeft);
  }

  /** Gives a move up that is not decided. Returns its way; undefined if there was none. */
  abort(session: string, move: string): Promise<"out" | "in" | undefined> {
    return this.#database.change((database) => {
      const row = sql(database).get`DELETE FROM session_move WHERE session = ${session}
        AND move = ${move} AND state IN ('moving', 'incoming') RETURNING way`;
      return row?.way as "out" | "in" | undefined;
    });
  }

  /** The sessions that are about to arrive for a principal, the oldest first. */
  async coming(owner: string): Promise<StoredMove[]> {
    const rows = await this.#database.all`SELECT * FROM session_move WHERE state = 'incoming'
      AND json_extract(facts, '$.owner') = ${owner} ORDER BY rowid`;
    return rows.map(readMove);
  }

  /** Records a session that is about to arrive. Throws if it is here already, or the move is an old one. */
  async accept(session: string, move: string, epoch: number, facts: Facts): Promise<void> {
    await this.#database.change((database) => {
      const known = moveOf(database, session, "in");
      if (known?.move === move && known.state === "active") return;
      const since = known?.facts.owner === facts.owner ? known?.facts.since : Date.now();
      // Whoever knows the id of a session could announce it, and never send it.
      const isEarly = Date.now() - Number(known?.facts.since) < ANNOUNCED;
      if (known?.state === "incoming" && known.facts.owner !== facts.owner && isEarly) {
        throw new TrunklineError("conflict", `Session '${session}' comes from somebody else.`);
      }
      const row = sql(database).get`SELECT id FROM session
        WHERE uuid = ${session} AND deleted IS NULL`;
      const out = moveOf(database, session, "out");
      if (row !== undefined && out?.state !== "moved") {
        throw new TrunklineError("conflict", `Session '${session}' is here already.`);
      }
      if (epoch <= Math.max(out?.epoch ?? 0, known?.state === "active" ? known.epoch : 0)) {
        const why = "what is to be moved is older than what was here last";
        throw new TrunklineError("conflict", `Cannot take session '${session}': ${why}.`);
      }
      sql(database)
        .run`INSERT OR REPLACE INTO session_move (session, way, move, epoch, state, facts)
        VALUES (${session}, 'in', ${move}, ${epoch}, 'incoming', ${JSON.stringify({ ...facts, since })})`;
    });
  }

  /** Makes an incoming session one that can be opened here. Does nothing where it is one already. */
  async arrive(move: string | undefined, arrived: ArrivedSession): Promise<void> {
    const { id, cwd, agent, title, created, updated, parent, notes, pages, usage } = arrived;
    await this.#database.change((database) => {
      if (move !== undefined) {
        const known = moveOf(database, id, "in");
        if (known?.move === move && known.state === "active") return;
        if (known?.move !== move) {
          throw new TrunklineError("conflict", `The move of session '${id}' was given up.`);
        }
      }
      const row = sql(database).get`INSERT INTO session (uuid, cwd, agent, title, created, updated,
        parent, notes) VALUES (${id}, ${cwd}, ${agent}, ${title ?? null}, ${created}, ${updated},
        ${parent ?? null}, ${JSON.stringify(notes)})
        ON CONFLICT (uuid) DO UPDATE SET cwd = excluded.cwd, agent = excluded.agent,
        title = excluded.title, updated = excluded.updated, notes = excluded.notes, holder = NULL,
        epoch = session.epoch + 1, deleted = NULL RETURNING id`;
      const key = Number(row?.id);
      const last = lastOf(database, key);
      const added = pages.filter(({ first }) => first > last);
      if ((added[0]?.first ?? last + 1) !== last + 1) {
        throw new TrunklineError("conflict", `The events of session '${id}' have a gap.`);
      }
      writePages(
        database,
        added.map((page) => ({ ...page, session: key })),
      );
      // Usage counts for the session, but not for anybody's day: this machine did not do the work. Turns of a
      // copy get ids of their own.
      for (const { turn: theirs, day, tokens, cost, steps, time, reportedCost = null } of usage) {
        const turn = move === undefined ? `${id} ${theirs}` : theirs;
        sql(database).run`INSERT INTO turn_usage
          (turn, session, principal, day, tokens, cost, steps, time, reported_cost) VALUES (${turn},
          ${id}, ${`session ${id}`}, ${day}, ${tokens}, ${cost}, ${steps}, ${time}, ${reportedCost})
          ON CONFLICT (turn) DO NOTHING`;
      }
      sql(database).run`DELETE FROM session_move WHERE session = ${id} AND way = 'out'`;
      sql(database).run`UPDATE session_move SET state = 'active'
        WHERE session = ${id} AND way = 'in'`;
    });
  }

  /**
   * The key of a host, which is pinned when it is first seen, or `isNew`. Throws if it has another one now.
   */
  async pin(name: string, key: string, next: string, isNew = false): Promise<void> {
    const pinned = await this.#database.change((database) => {
      if (isNew) sql(database).run`DELETE FROM known_host WHERE name = ${name}`;
      sql(database).run`INSERT OR IGNORE INTO known_host (name, key) VALUES (${name}, ${key})`;
      return sql(database).get`SELECT key FROM known_host WHERE name = ${name}`?.key;
    });
    if (pinned === key) return;
    const why = "it has another host key than when a session was first moved";
    throw new TrunklineError("untrusted", `Cannot move a session with ${name}: ${why}. ${next}.`);
  }
}
