import { background } from "../../../base/background.ts";
import type { Principal } from "../../../base/principal.ts";
import type { AcpConnection } from "../../../protocol/acp/connection.ts";
import type { AcpDoor } from "../../../protocol/acp/door.ts";
import type { PeerOptions } from "../../../rpc/peer-options.ts";
import type { ReadSession } from "../../../store/session/session-reader.ts";
import { SessionClient } from "./session-client.ts";

export interface SessionClientsOptions {
  readonly door: AcpDoor;
  readonly peer: PeerOptions<AcpConnection>;
  /** What is asked in a session has changed. */
  readonly changed: (sessionId: string) => void;
  /** Milliseconds without use after which a client leaves its session. */
  readonly idle?: number;
}

interface ClientEntry {
  readonly opening: Promise<SessionClient>;
  /** Streams that show the session. */
  watchers: number;
  usedAt: number;
}

const IDLE = 30_000;

/** The dashboard's clients of sessions, one for each principal and session. */
export class SessionClients implements AsyncDisposable {
  readonly #options: SessionClientsOptions;
  readonly #clients = new Map<string, ClientEntry>();
  #sweeper: NodeJS.Timeout | undefined;

  constructor(options: SessionClientsOptions) {
    this.#options = options;
  }

  /** A client that is attached to the session. Opens the session where no process has it open. */
  async at(principal: Principal, session: Pick<ReadSession, "id" | "cwd">): Promise<SessionClient> {
    const key = keyOf(principal, session.id);
    const known = this.#clients.get(key);
    if (known !== undefined) {
      known.usedAt = performance.now();
      const client = await known.opening;
      if (!client.hasEnded) return client;
      if (this.#clients.get(key) === known) this.#clients.delete(key);
      return this.at(principal, session);
    }
    const { door, peer, changed } = this.#options;
    const { id: sessionId, cwd } = session;
    const opening = SessionClient.open({
      door,
      peer,
      principal,
      sessionId,
      cwd,
      changed: () => changed(sessionId),
    });
    const used: ClientEntry = { opening, watchers: 0, usedAt: performance.now() };
    this.#clients.set(key, used);
    this.#sweep();
    opening.catch(() => {
      if (this.#clients.get(key) === used) this.#clients.delete(key);
    });
    return opening;
  }

  /** The client, if it is attached already. */
  async known(principal: Principal, sessionId: string): Promise<SessionClient | undefined> {
    return await this.#clients.get(keyOf(principal, sessionId))?.opening.catch(() => undefined);
  }

  /** Keeps a client attached for as long as somebody looks at the session. */
  watch(principal: Principal, sessionId: string): Disposable {
    const used = this.#clients.get(keyOf(principal, sessionId));
    if (used !== undefined) used.watchers++;
    return {
      [Symbol.dispose]: () => {
        if (used === undefined) return;
        used.watchers--;
        used.usedAt = performance.now();
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#sweeper);
    const clients = [...this.#clients.values()];
    this.#clients.clear();
    for (const { opening } of clients) {
      await (await opening.catch(() => undefined))?.[Symbol.asyncDispose]();
    }
  }

  #sweep(): void {
    const { idle = IDLE } = this.#options;
    this.#sweeper ??= setInterval(() => {
      for (const [key, used] of this.#clients) {
        if (used.watchers > 0 || performance.now() - used.usedAt < idle) continue;
        background(this.#closeIdle(key, used), "Leaving a session");
      }
    }, idle / 3).unref();
  }

  async #closeIdle(key: string, used: ClientEntry): Promise<void> {
    const client = await used.opening.catch(() => undefined);
    if (client?.isBusy === true || this.#clients.get(key) !== used) return;
    this.#clients.delete(key);
    await client?.[Symbol.asyncDispose]();
  }
}

function keyOf({ id }: Principal, sessionId: string): string {
  return `${sessionId} ${id}`;
}
