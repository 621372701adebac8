import type { TurnUsage } from "../../session/store.ts";
import { type Amounts, NOTHING_USED } from "../../base/limit/budget.ts";
import type { DatabaseSync } from "node:sqlite";
import { Tables } from "../database.ts";
import { sql } from "../sql.ts";

/** Rows outlive their session, so that deleting one does not give its budget back. */
export const USAGE = `CREATE TABLE turn_usage (
     id INTEGER PRIMARY KEY,
     turn TEXT NOT NULL UNIQUE,
     session TEXT NOT NULL,
     principal TEXT NOT NULL,
     day TEXT NOT NULL,
     tokens REAL NOT NULL,
     cost REAL NOT NULL,
     steps INTEGER NOT NULL,
     time REAL NOT NULL,
     reported_cost REAL
   ) STRICT;

   CREATE INDEX turn_usage_session ON turn_usage (session);
   CREATE INDEX turn_usage_day ON turn_usage (principal, day);

   CREATE INDEX session_held ON session (holder) WHERE holder IS NOT NULL;`;

const SUMS = "sum(tokens) AS tokens, sum(cost) AS cost, sum(steps) AS steps, sum(time) AS time";

/** What turns have used, in the database of the sessions. */
export class SessionUsage extends Tables {
  /**
   * Stores the usage of a turn, and replaces its earlier record. It does not wait for the disk: the
   * commit at the end of the turn does.
   */
  async note(usage: TurnUsage): Promise<void> {
    const { turn, session, principal, day, tokens, cost, steps, time, reportedCost } = usage;
    const write = (database: DatabaseSync) => {
      sql(database).run`INSERT INTO turn_usage
        (turn, session, principal, day, tokens, cost, steps, time, reported_cost)
        VALUES (${turn}, ${session}, ${principal}, ${day}, ${tokens}, ${cost}, ${steps}, ${time},
        ${reportedCost ?? null})
        ON CONFLICT (turn) DO UPDATE SET tokens = excluded.tokens, cost = excluded.cost,
        steps = excluded.steps, time = excluded.time, reported_cost = excluded.reported_cost`;
    };
    await this.database.change(write, { isHasty: true });
  }

  async ofSession(
    session: string,
  ): Promise<Amounts & { readonly reportedCost: number | undefined }> {
    return await this.database.read((database) => {
      const used = database.prepare(`SELECT ${SUMS} FROM turn_usage WHERE session = ?`);
      const last = sql(database).get`SELECT reported_cost FROM turn_usage
        WHERE session = ${session} AND reported_cost IS NOT NULL ORDER BY id DESC LIMIT 1`;
      const reportedCost = last === undefined ? undefined : Number(last.reported_cost);
      return { ...amountsOf(used.get(session)), reportedCost };
    });
  }

  /** What a principal has used on a day, but for one turn. */
  async ofDay(principal: string, day: string, exceptTurn = ""): Promise<Amounts> {
    const sum = `SELECT ${SUMS} FROM turn_usage WHERE principal = ? AND day = ? AND turn IS NOT ?`;
    const row = await this.database.read((it) => it.prepare(sum).get(principal, day, exceptTurn));
    return amountsOf(row);
  }
}

/** Sums of no rows are null. */
function amountsOf(row: Readonly<Record<string, unknown>> | undefined): Amounts {
  const { tokens, cost, steps, time } = row ?? NOTHING_USED;
  return { tokens: Number(tokens), cost: Number(cost), steps: Number(steps), time: Number(time) };
}
