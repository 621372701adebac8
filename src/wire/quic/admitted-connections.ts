import { background } from "../../base/background.ts";
import { memoryReturn } from "../../base/process/give-back-memory.ts";
import type { ConnectionLimits, ListenOptions } from "./connection.ts";
import type { MultiplexedConnection } from "./stream/multiplexed-stream.ts";

/** The connections that a listener has let in, until they are closed. */
export class AdmittedConnections<C extends MultiplexedConnection> {
  readonly all = new Set<C>();
  readonly #mostOfPeer: ListenOptions["mostOfPeer"];
  readonly #sweep: NodeJS.Timeout;
  readonly #memory = memoryReturn();

  constructor({ mostOfPeer }: ListenOptions, { requestIdle }: ConnectionLimits) {
    this.#mostOfPeer = mostOfPeer;
    this.#sweep = setInterval(() => {
      for (const connection of this.all) connection.dropStale();
    }, requestIdle / 2).unref();
  }

  /** Why the peer may not have another connection; undefined if it may. */
  problemWith({ peer }: C): string | undefined {
    const most = peer && this.#mostOfPeer?.(peer);
    if (peer === undefined || most === undefined) return undefined;
    const others = [...this.all].filter((other) => other.peer?.name === peer.name);
    return others.length < most ? undefined : `'${peer.name}' has too many connections`;
  }

  add(connection: C): void {
    this.all.add(connection);
    background(
      connection.closed.then(() => {
        this.all.delete(connection);
        this.#memory.connectionEnded();
      }),
      "Forgetting a connection",
    );
  }

  /** No more connections will be added. */
  stop(): void {
    clearInterval(this.#sweep);
  }

  async close(): Promise<void> {
    this.stop();
    await Promise.all([...this.all].map((connection) => connection.close()));
  }
}
