import { background } from "../../../../base/background.ts";
import { evictedFor } from "../../../../base/limit/eviction.ts";
import type { Principal } from "../../../../base/principal.ts";
import type { ResolvedMcpHttpOptions } from "./options.ts";
import { Session } from "./session.ts";

/** The sessions on HTTP, by their ids. */
export class Sessions {
  readonly #options: ResolvedMcpHttpOptions;
  readonly #sessions = new Map<string, Session>();

  constructor(options: ResolvedMcpHttpOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** The session of that id, for whoever began it. */
  find(id: string, principal: Principal): Session | undefined {
    const session = this.#sessions.get(id);
    if (session?.connection.principal.id !== principal.id) return undefined;
    session.touch();
    return session;
  }

  /** Opens a session. Where there are too many, an idle one is ended for it. */
  open(principal: Principal): Session | undefined {
    if (this.#sessions.size >= this.#options.limits.maxSessions) {
      const leaving = evictedFor(principal.id, this.#sessions.values());
      if (leaving === undefined) return undefined;
      background(this.end(leaving), "Ending a session of MCP");
    }
    const session = new Session(this.#options, principal);
    this.#sessions.set(session.id, session);
    this.#options.onSession("opened");
    return session;
  }

  async end(session: Session, grace = 0): Promise<void> {
    if (!this.#sessions.delete(session.id)) return;
    this.#options.onSession("closed");
    await session.close(grace);
  }

  /** Sends keep-alives, and ends sessions that are idle for too long. */
  keepAlive(): void {
    for (const session of this.#sessions.values()) {
      if (session.idle > this.#options.limits.sessionIdle)
        background(this.end(session), "Ending a session of MCP");
      else session.keepAlive();
    }
  }

  /** Ends the sessions of a principal, without waiting for calls in flight. */
  endOf(principal: string): void {
    for (const session of this.#sessions.values()) {
      if (session.connection.principal.id === principal)
        background(this.end(session), "Ending a session of MCP");
    }
  }

  async close(grace: number): Promise<void> {
    await Promise.all(Array.from(this.#sessions.values(), (session) => this.end(session, grace)));
  }
}
