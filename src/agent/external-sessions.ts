import type { NewSessionResult, UpdateParams } from "../protocol/acp/schema.gen.ts";
import type { SessionUpdate } from "../session/agent.ts";
import type { ExternalSession } from "./external-session.ts";

/** Updates that are buffered for sessions whose id is not known yet. */
const MOST_EARLY = 64;

export interface BegunSession {
  readonly created: NewSessionResult;
  /** Updates that arrived before the answer to session/new. */
  readonly early: readonly SessionUpdate[];
}

/** The sessions of one agent process, by the agent's ids. */
export class ExternalSessions {
  readonly #sessions = new Map<string, ExternalSession>();
  #beginning = 0;
  #early: UpdateParams[] = [];

  /** Whether there is no session, and none is being created. */
  get isEmpty(): boolean {
    return this.#sessions.size === 0 && this.#beginning === 0;
  }

  get(id: string): ExternalSession | undefined {
    return this.#sessions.get(id);
  }

  all(): Iterable<ExternalSession> {
    return this.#sessions.values();
  }

  add(id: string, session: ExternalSession): void {
    this.#sessions.set(id, session);
  }

  delete(id: string): void {
    this.#sessions.delete(id);
  }

  /** Creates a session. Agents may send updates of it before their answer, so those are buffered. */
  async begin(
    session: ExternalSession,
    ask: () => Promise<NewSessionResult>,
  ): Promise<BegunSession> {
    this.#beginning++;
    try {
      const created = await ask();
      this.add(created.sessionId, session);
      const early = this.#early.filter(({ sessionId }) => sessionId === created.sessionId);
      return { created, early: early.map(({ update }) => update) };
    } finally {
      if (--this.#beginning === 0) this.#early = [];
    }
  }

  heard(params: UpdateParams): Promise<void> | undefined {
    const session = this.#sessions.get(params.sessionId);
    if (session !== undefined) return session.heard(params.update);
    if (this.#beginning > 0 && this.#early.length < MOST_EARLY) this.#early.push(params);
    return undefined;
  }
}
