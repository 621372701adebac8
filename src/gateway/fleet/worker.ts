import { background } from "../../base/background.ts";
import { Checkpoints } from "../../fleet/checkpoints.ts";
import { answerNodes } from "../../fleet/connection/node-request.ts";
import { WorkerSlots } from "../../fleet/members/worker-slots.ts";
import { nodeIdOf } from "../../fleet/ownership/node-id.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import type { House } from "../house.ts";
import { LazyRuns } from "../runs/lazy-runs.ts";
import { LazySessions } from "../session/lazy-sessions.ts";
import { Fleet } from "./fleet.ts";
import { WorkerSharing } from "./worker-sharing.ts";

export interface WorkerOptions {
  readonly offer: Offer;
  readonly isTyped: boolean;
}

/** `trunkline worker`: holds sessions for the gateways of a pool. */
export class Worker implements AsyncDisposable {
  readonly fleet: Fleet;
  /** Resolves when it was asked to drain, and has no session left. */
  readonly drained: Promise<void>;
  readonly #ends: AsyncDisposableStack;

  private constructor(fleet: Fleet, drained: Promise<void>, ends: AsyncDisposableStack) {
    this.fleet = fleet;
    this.drained = drained;
    this.#ends = ends;
  }

  static async open(house: House, { offer, isTyped }: WorkerOptions): Promise<Worker> {
    const { data, fleet: settings, remote } = house.config;
    await using opening = new AsyncDisposableStack();
    const slots: WorkerSlots = opening.use(
      new WorkerSlots({ slots: settings.slots, changed: () => fleet?.members.tell() }),
    );
    let fleet: Fleet | undefined;
    let isDraining = false;
    fleet = opening.use(
      await Fleet.join(house, {
        role: "worker",
        isTyped,
        state: () => ({ used: slots.used, sessions: slots.open, isDraining }),
      }),
    );
    const { connection } = fleet;
    const refuse = (): string | undefined => (isDraining ? "it is draining" : undefined);
    const sharing = new WorkerSharing(house, fleet, { slots, refuse });
    const { confirm } = sharing;
    const carried = new Checkpoints({ connection, node: await nodeIdOf(data), confirm });
    const runs = opening.use(new LazyRuns(house, remote.spares, carried));
    const sessions = opening.use(
      new LazySessions(house, { offer: async () => offer, runs, sharing }),
    );
    await sessions.open();
    const drained = Promise.withResolvers<void>();
    const { members, self } = fleet;
    const asked = answerNodes(connection, self, "drain", () => {
      if (isDraining) return;
      isDraining = true;
      members.tell();
      background(sessions.drain().then(drained.resolve), "Draining");
    });
    opening.defer(() => asked.unsubscribe());
    return new Worker(fleet, drained.promise, opening.move());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#ends.disposeAsync();
  }
}
