import type { SessionRecord } from "../store.ts";
import { join } from "node:path";

import { Journal } from "../../agent/files/journal.ts";
import type { Amounts } from "../../base/limit/budget.ts";
import { TrunklineError } from "../../base/errors.ts";
import { withLock } from "../../store/replace-file.ts";
import { folderOf, LOCK, readRecord } from "../../worktree/worktrees.ts";
import { entryOf, type SessionEntry } from "../event.ts";
import { subjectOf } from "../permission/permission.ts";
import { workplaceOf } from "../workplace.ts";
import { AuditLog } from "../../store/audit/audit-log.ts";
import { SessionLog } from "../../store/session/session-log.ts";
import type { SessionMoves } from "../../store/session/session-moves.ts";
import { SessionRules } from "../../store/session/session-rules.ts";
import { SessionUsage } from "../../store/session/session-usage.ts";
import { type LandResult, type LandOptions, landWorktree } from "../../worktree/land.ts";
import { stateOf, type WorktreeState } from "../../worktree/branches.ts";
import type { SessionWorktrees } from "./session-worktrees.ts";

/** `trunkline session`: works on the store, whether a gateway runs or not. */
export class SessionCommands implements AsyncDisposable {
  readonly rules: SessionRules;
  readonly #log: SessionLog;
  readonly #data: string;

  private constructor(log: SessionLog, data: string) {
    this.#log = log;
    this.#data = data;
    this.rules = new SessionRules(log.database);
  }

  static async open(data: string): Promise<SessionCommands> {
    return new SessionCommands(await SessionLog.open(data), data);
  }

  /** The sessions on their way between machines. */
  get moves(): SessionMoves {
    return this.#log.moves;
  }

  list(cwd?: string): Promise<SessionRecord[]> {
    return this.#log.list({ cwd });
  }

  /** The session with that id, or the only one whose id begins with it. */
  async find(id: string): Promise<SessionRecord> {
    const exact = await this.#log.find(id);
    if (exact !== undefined && !exact.isDeleted) return exact;
    const alike = (await this.#log.list()).filter((one) => id !== "" && one.id.startsWith(id));
    const [only] = alike;
    if (only !== undefined && alike.length === 1) return only;
    const next = "`trunkline session list` shows all sessions.";
    const why =
      alike.length > 1 ? `the ids of ${alike.length} sessions begin with it` : "no such session";
    throw new TrunklineError("not-found", `Cannot find session '${id}': ${why}. ${next}`);
  }

  /** The events after an event, oldest first. */
  async *events(id: string, after = 0): AsyncGenerator<SessionEntry> {
    for await (const batch of this.#log.read(id, after)) {
      yield* batch.map(entryOf);
    }
  }

  /** What the turns of a session have used. */
  async used(id: string): Promise<Amounts> {
    const { reportedCost: _, ...used } = await new SessionUsage(this.#log.database).ofSession(id);
    return used;
  }

  /**
   * Removes a permission rule, so that agents ask again, and records that in the audit. False if there was none.
   */
  async revoke(id: number): Promise<boolean> {
    const rule = (await this.rules.list()).find((one) => one.id === id);
    if (rule === undefined || !(await this.rules.revoke(id))) return false;
    const { workspace, decision } = rule;
    const subject = subjectOf(rule.subject);
    using audit = new AuditLog(this.#data);
    const time = new Date().toISOString();
    audit.record({ time, event: "permission-revoked", rule: id, workspace, subject, decision });
    return true;
  }

  /**
   * Deletes a session, with its work tree. Throws if a process has it open. Returns the branch that keeps
   * its work, if there is one.
   */
  async delete(id: string, worktrees: SessionWorktrees): Promise<string | undefined> {
    const { key } = await this.#log.hold(id);
    await this.#log.release(key);
    const { kept } = await worktrees.remove(id);
    await new Journal(this.#data, id).remove();
    await this.#log.delete(id);
    return kept;
  }

  /** Brings the work of a session with a work tree to a branch. */
  async land(
    { id, notes, title, isHeld }: SessionRecord,
    options: Omit<LandOptions, "title" | "programs">,
  ): Promise<LandResult> {
    const place = workplaceOf(notes);
    if (place === undefined) {
      const why = "it has no work tree: its changes are in its folder already";
      throw new TrunklineError("usage", `Cannot land session '${id}': ${why}.`);
    }
    if (isHeld && typeof notes.turn === "string") {
      const next = "Wait for its end, or cancel it";
      throw new TrunklineError("conflict", `Cannot land session '${id}': a turn runs. ${next}.`);
    }
    const folder = folderOf(this.#data, id);
    return await withLock(join(folder, LOCK), async () => {
      const { programs } = (await readRecord(folder)) ?? {};
      return await landWorktree(place, { ...options, title, programs });
    });
  }

  /** What the work trees of sessions hold now, by the sessions' ids. What cannot be read is left out. */
  async worktrees(
    sessions: readonly SessionRecord[],
    env: NodeJS.ProcessEnv,
  ): Promise<Map<string, WorktreeState>> {
    const states = new Map<string, WorktreeState>();
    for (const { id, notes } of sessions) {
      const place = workplaceOf(notes);
      const state = place && (await stateOf(place, env).catch(() => undefined));
      if (state !== undefined) states.set(id, state);
    }
    return states;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#log[Symbol.asyncDispose]();
  }
}
