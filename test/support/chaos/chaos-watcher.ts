import { setTimeout as delay } from "node:timers/promises";

import type { SeededRandom } from "../seeded-random.ts";
import { ChaosClient, type Surroundings } from "./chaos-client.ts";
import type { ChaosSession } from "./chaos-session.ts";

/** A second client of a session, which only looks on. */
export class ChaosWatcher implements Disposable {
  readonly session: ChaosSession;
  readonly client: ChaosClient;

  constructor(session: ChaosSession, around: Surroundings, random: SeededRandom) {
    this.session = session;
    this.client = new ChaosClient(around, random);
  }

  async watch(isOver: () => boolean): Promise<void> {
    while (this.session.id === "" && !isOver()) await delay(50);
    this.client.id = this.session.id;
    while (!isOver()) {
      const line = await this.client.joined();
      using _watch = this.client.leaveLater(line);
      while (line.isOpen && !isOver()) await delay(100);
    }
  }

  /** Waits until it has seen an event. */
  async until(event: number): Promise<void> {
    while (this.client.shown.last < event) {
      const line = await this.client.joined();
      using _watch = this.client.leaveLater(line);
      while (line.isOpen && this.client.shown.last < event) await delay(20);
    }
  }

  [Symbol.dispose](): void {
    this.client[Symbol.dispose]();
  }
}
