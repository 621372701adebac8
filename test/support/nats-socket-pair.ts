import { randomUUID } from "node:crypto";

import type { FleetConnection } from "../../src/fleet/connection/connect.ts";
import { NatsSocket } from "../../src/fleet/connection/nats-socket.ts";

/** The two ends of a connection. */
export class NatsSocketPair implements Disposable {
  readonly near: NatsSocket;
  readonly far: NatsSocket;
  /** The subject on which the far end receives. */
  readonly toFar: string;
  /** What each end failed with. */
  readonly errors: { near?: Error; far?: Error } = {};

  private constructor(near: FleetConnection, far: FleetConnection, tick?: number) {
    const id = randomUUID();
    this.toFar = near.subjects.connection(id, "server");
    const toNear = near.subjects.connection(id, "client");
    this.far = new NatsSocket(far, { incoming: this.toFar, outgoing: toNear }, tick);
    this.near = new NatsSocket(near, { incoming: toNear, outgoing: this.toFar }, tick);
    this.near.on("error", (error: Error) => (this.errors.near = error));
    this.far.on("error", (error: Error) => (this.errors.far = error));
  }

  static async open(
    near: FleetConnection,
    far: FleetConnection,
    tick?: number,
  ): Promise<NatsSocketPair> {
    const pair = new NatsSocketPair(near, far, tick);
    // Now the server knows both subscriptions.
    await Promise.all([near.nats.flush(), far.nats.flush()]);
    return pair;
  }

  /** Waits until both ends are closed. */
  async closed(): Promise<void> {
    await Promise.all([this.near, this.far].map(untilClosed));
  }

  [Symbol.dispose](): void {
    this.near.destroy();
    this.far.destroy();
  }
}

async function untilClosed(socket: NatsSocket): Promise<void> {
  if (!socket.closed) await new Promise((resolve) => socket.on("close", resolve));
}
