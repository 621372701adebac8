import { background } from "../../base/background.ts";
import type { Connection, ListenOptions } from "./connection.ts";

/** How many connections each peer has, by the name in its certificate. */
export class PeerCount {
  readonly #most: ListenOptions["mostOfPeer"];
  readonly #counts = new Map<string, number>();

  constructor(most: ListenOptions["mostOfPeer"]) {
    this.#most = most;
  }

  /** Counts a connection for as long as it lasts. False, and it does not count, if it is one too many. */
  add(connection: Connection): boolean {
    const { peer } = connection;
    const most = peer === undefined ? undefined : this.#most?.(peer);
    if (peer === undefined || most === undefined) return true;
    const { name } = peer;
    const count = this.#counts.get(name) ?? 0;
    if (count >= most) return false;
    this.#counts.set(name, count + 1);
    background(
      connection.closed.then(() => this.#remove(name)),
      "Counting connections",
    );
    return true;
  }

  #remove(name: string): void {
    const count = (this.#counts.get(name) ?? 1) - 1;
    if (count === 0) this.#counts.delete(name);
    else this.#counts.set(name, count);
  }
}
