import { background } from "../../base/background.ts";
import { Checkpoints } from "../../fleet/checkpoints.ts";
import { answerNodes } from "../../fleet/connection/node-server.ts";
import { JobServer } from "../../fleet/members/job-server.ts";
import { WorkerSlots } from "../../fleet/members/worker-slots.ts";
import { nodeIdOf } from "../../fleet/ownership/node-id.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import type { AppContext } from "../../config/app-context.ts";
import { LazyRuns } from "../../run/open/lazy-runs.ts";
import { LazySessions } from "../session/lazy-sessions.ts";
import { Fleet } from "../../fleet/open/fleet.ts";
import { shareNode } from "./share-node.ts";
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

  static async open(app: AppContext, { offer, isTyped }: WorkerOptions): Promise<Worker> {
    const { data, fleet: settings, remote } = app.config;
    await using opening = new AsyncDisposableStack();
    const fleet = opening.use(await Fleet.connect(app, { role: "worker", isTyped }));
    const { connection, members, self } = fleet;
    let isDraining = false;
    let isDrained = false;
    let isEnding = false;
    const slots: WorkerSlots = opening.use(
      new WorkerSlots({
        slots: settings.slots,
        changed: () => {
          members.tell();
          jobs.wake();
        },
      }),
    );
    const shared = opening.use(await shareNode(app, fleet, { role: "worker", offer }));
    const jobs = opening.use(
      new JobServer({
        connection,
        members,
        self,
        labels: settings.labels,
        slots,
        isDraining: () => isDraining,
        log: app.log,
      }),
    );
    const refuse = (): string | undefined => (isDraining ? "it is draining" : undefined);
    const sharing = new WorkerSharing(app, fleet, { slots, refuse });
    const { confirm } = sharing;
    const carried = new Checkpoints({ connection, node: await nodeIdOf(data), confirm });
    const runs = opening.use(new LazyRuns(app, remote.spares, carried));
    // Another worker may continue them, so that nobody asks this one for them again.
    await runs.sweep(data);
    const sessions = opening.use(
      new LazySessions(app, { offer: async () => offer, runs, sharing }),
    );
    await sessions.open();
    fleet.tells(() => ({
      used: slots.used,
      sessions: slots.open,
      warm: runs.repositories,
      isDraining,
      isDrained,
      ...shared.tools.state,
    }));
    const drained = Promise.withResolvers<void>();
    const asked = answerNodes(connection, self, "drain", () => {
      if (isDraining) return;
      isDraining = true;
      members.tell();
      const draining = sessions.drain().then(() => {
        // Its sessions are also gone when it was told to end.
        isDrained = !isEnding;
        return drained.resolve();
      });
      background(draining, "Draining");
    });
    opening.defer(() => {
      isEnding = true;
      asked.unsubscribe();
    });
    members.join();
    return new Worker(fleet, drained.promise, opening.move());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#ends.disposeAsync();
  }
}
