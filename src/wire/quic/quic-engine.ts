import { background } from "../../base/background.ts";
import type { ConnectionLimits } from "./connection.ts";
import { EngineProcess } from "./engine-process.ts";
import { EngineSession, type ListenerEvents } from "./engine-session.ts";
import type { HeldBytes } from "./stream/held-bytes.ts";
import type { QuicConnection } from "./quic-connection.ts";
import type { DialSettings, ListenSettings } from "./settings.ts";

/**
 * The program's QUIC engine: started with the first connection or listener, ended after the last,
 * and started anew when it is needed after a crash.
 */
export class QuicEngine {
  #starting: Promise<EngineSession> | undefined;
  #current: EngineSession | undefined;

  /** The process that runs native code, if there is one. */
  async pid(): Promise<number | undefined> {
    return (await this.#starting)?.pid;
  }

  async dial(
    settings: DialSettings,
    address: string,
    limits: ConnectionLimits,
    held?: HeldBytes,
  ): Promise<QuicConnection> {
    const session = await this.#session();
    return session.dial(settings, address, limits, held);
  }

  /** Returns the engine's run and the listener's number in it. */
  async listen(
    settings: ListenSettings,
    listener: ListenerEvents,
  ): Promise<readonly [EngineSession, number]> {
    const session = await this.#session();
    return [session, session.listen(settings, listener)];
  }

  async #session(): Promise<EngineSession> {
    for (;;) {
      const starting = (this.#starting ??= this.#start());
      const session = await starting;
      if (!session.isOver) return session;
      if (this.#starting === starting) this.#starting = this.#current = undefined;
    }
  }

  async #start(): Promise<EngineSession> {
    try {
      this.#current = new EngineSession(await EngineProcess.start(), (session) => {
        if (this.#current === session) this.#starting = this.#current = undefined;
        background(session.end(), "Ending a session of QUIC");
      });
      return this.#current;
    } catch (error) {
      this.#starting = undefined;
      throw error;
    }
  }
}

/** The one that serves the whole program. */
export const sharedEngine = new QuicEngine();
