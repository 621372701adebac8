import { TaskQueue } from "../base/limit/task-queue.ts";
import { TrunklineError } from "../base/errors.ts";
import type { Principal } from "../base/principal.ts";
import type { Session } from "./session.ts";

export interface SessionRoomOptions {
  /** Sessions that a principal may have open at once; undefined where there is no limit. */
  readonly limitOf: (principal: Principal) => number | undefined;
  /** Ids of a principal's sessions that any process has open. */
  readonly openOf: (owner: string) => Promise<readonly string[]>;
  /** Sessions that are open in this process. */
  readonly open: ReadonlyMap<string, Session>;
  /** Closes a session, which can be opened again. */
  readonly putAway: (session: Session) => Promise<void>;
}

/** Milliseconds without a client after which a session may be put away: a new one has none yet. */
const IDLE = 1_000;

/** Holds each principal to the number of sessions that it may have open. */
export class SessionRoom {
  readonly #options: SessionRoomOptions;
  /** Openings of a principal come one after another, so that two do not take the last place. */
  readonly #queue = new TaskQueue();

  constructor(options: SessionRoomOptions) {
    this.#options = options;
  }

  /**
   * Runs `hold`, which opens a session, if the principal may have one more. A session that nobody is
   * attached to and that has no running turn gives up its place.
   */
  async take<T>(principal: Principal, hold: () => Promise<T>): Promise<T> {
    const limit = this.#options.limitOf(principal);
    if (limit === undefined) return await hold();
    const open = async (): Promise<T> => {
      await this.#makeRoom(principal, limit);
      return await hold();
    };
    return await this.#queue.run(open, principal.id);
  }

  async #makeRoom(principal: Principal, limit: number): Promise<void> {
    const { openOf, open, putAway } = this.#options;
    for (;;) {
      const ids = await openOf(principal.id);
      if (ids.length < limit) return;
      const [idlest] = ids
        .flatMap((id) => open.get(id) ?? [])
        .filter((session) => session.idleFor > IDLE)
        .toSorted((one, other) => other.idleFor - one.idleFor);
      if (idlest === undefined) throw full(principal, ids.length, limit);
      await putAway(idlest);
    }
  }
}

function full(principal: Principal, count: number, limit: number): TrunklineError {
  const setting =
    principal.limits?.concurrent === undefined
      ? "`sessions.concurrent` raises the limit"
      : "the limit is that of the access token (--concurrent)";
  const open = count === 1 ? "1 session is open" : `${count} sessions are open`;
  const why = `${open}, and ${limit} may be. Close one; ${setting}`;
  return new TrunklineError("limit", `Cannot open another session: ${why}.`);
}
