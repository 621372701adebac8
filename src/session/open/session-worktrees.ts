import { existsSync } from "node:fs";
import { join } from "node:path";

import { Lazy } from "../../base/lazy.ts";
import type { Log } from "../../base/log.ts";
import { type Workplace, type Workplaces, workplaceOf } from "../workplace.ts";
import type { SessionRecord } from "../../store/session/session-record.ts";
import type { Removed } from "../../worktree/remove.ts";
import { Worktrees } from "../../worktree/worktrees.ts";
import type { Config } from "../../config/config.ts";

/** The sessions that are stored. */
interface StoredSessions {
  find(id: string): Promise<SessionRecord | undefined>;
  delete(id: string): Promise<void>;
}

/** The work trees of sessions. Their code is loaded with the first one. */
export class SessionWorktrees implements Workplaces {
  readonly #config: Config;
  readonly #worktrees: Lazy<Worktrees>;

  constructor(config: Config, env: NodeJS.ProcessEnv = process.env) {
    this.#config = config;
    this.#worktrees = new Lazy(async () => {
      const { carry } = config.sessions.worktree;
      return new Worktrees({ data: config.data, env, carry });
    });
  }

  async create(...args: Parameters<Workplaces["create"]>): Promise<Workplace> {
    return (await this.#worktrees.get()).create(...args);
  }

  async open(...args: Parameters<Workplaces["open"]>): Promise<void> {
    await (await this.#worktrees.get()).open(...args);
  }

  /** Removes the work tree of a session that is deleted. Its work stays on a branch. */
  async remove(session: string): Promise<Removed> {
    if (!existsSync(join(this.#config.data, "worktrees", session))) return { kept: undefined };
    return (await this.#worktrees.get()).remove(session);
  }

  /** Ids of sessions whose work trees nobody will use again: killed processes have left them. */
  async strays(stored: Pick<StoredSessions, "find">): Promise<string[]> {
    if (!existsSync(join(this.#config.data, "worktrees"))) return [];
    const worktrees = await this.#worktrees.get();
    const found: string[] = [];
    for (const session of await worktrees.idle()) {
      const record = await stored.find(session);
      const isGone = record === undefined || record.isDeleted;
      // Its creation was interrupted, so that no client has got to know the session.
      const isHalf = record?.isHeld === false && workplaceOf(record.notes) === undefined;
      if (isGone || isHalf) found.push(session);
    }
    return found;
  }

  /** Puts away the work trees that killed processes have left. Work in them stays on branches. */
  async sweep(stored: StoredSessions, log: Log): Promise<void> {
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
