import type { SessionStore } from "../store.ts";
import type { Log } from "../../base/log.ts";
import type { Config } from "../../config/config.ts";
import { Worktrees } from "../../worktree/worktrees.ts";
import { workplaceOf } from "../workplace.ts";

/** The work trees of sessions, as configured. */
export class SessionWorktrees extends Worktrees {
  constructor({ data, sessions }: Config, env: NodeJS.ProcessEnv = process.env) {
    super({ data, env, carry: sessions.worktree.carry });
  }

  /** Ids of sessions whose work trees nobody will use again: killed processes have left them. */
  async strays(stored: Pick<SessionStore, "find">): Promise<string[]> {
    const found: string[] = [];
    for (const session of await this.idle()) {
      const record = await stored.find(session);
      const isGone = record === undefined || record.isDeleted;
      // Its creation was interrupted, so that no client has got to know the session.
      const { notes = {}, isHeld } = record ?? {};
      const hasOwn = notes.moved !== undefined || workplaceOf(notes) !== undefined;
      const isHalf = isHeld === false && !hasOwn;
      if (isGone || isHalf) found.push(session);
    }
    return found;
  }

  /** Puts away the work trees that killed processes have left. Work in them stays on branches. */
  async sweep(stored: Pick<SessionStore, "find" | "delete">, log: Log): Promise<void> {
    for (const session of await this.strays(stored)) {
      try {
        const { kept } = await this.remove(session);
        if ((await stored.find(session))?.isDeleted === false) await stored.delete(session);
        log.info("session.worktree-put-away", { session, ...(kept ? { branch: kept } : {}) });
      } catch (error) {
        log.warn("session.worktree-not-put-away", { session, error });
      }
    }
  }
}
