import { limitsFor } from "../../base/limit/limits.ts";
import type { Log } from "../../base/log.ts";
import { JobQueue } from "../../fleet/members/job-queue.ts";
import { Placer } from "../../fleet/members/placer.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import type { AppContext } from "../../config/app-context.ts";
import type { SessionSharing } from "../../session/open/session-sharing.ts";
import { Fleet } from "../../fleet/open/fleet.ts";
import { FleetView } from "../../server/dashboard/view/fleet-view.ts";
import { GatewaySharing } from "./gateway-sharing.ts";
import { type SharedParts, shareNode } from "./share-node.ts";

/** Milliseconds. */
const ANSWERING = 1_000;

/** `trunkline serve --bus`: takes clients in, and lets the workers of its pool hold their sessions. */
export class FleetGateway implements AsyncDisposable {
  readonly fleet: Fleet;
  readonly sharing: SessionSharing;
  /** What the dashboard and the metrics show. */
  readonly view: FleetView;
  readonly #ends: AsyncDisposableStack;
  #url: string | undefined;

  private constructor(
    app: AppContext,
    fleet: Fleet,
    shared: SharedParts,
    ends: AsyncDisposableStack,
  ) {
    this.fleet = fleet;
    this.#ends = ends;
    const { connection, members, self } = fleet;
    const most = app.config.fleet.waiting;
    const changed = (): void => members.tell();
    const queue = ends.use(new JobQueue({ connection, self, members, most, changed }));
    fleet.tells(() => ({ url: this.#url, waiting: queue.waiting, ...shared.tools.state }));
    this.view = ends.use(new FleetView(fleet));
    // The words of a refusal come before the time of the request is over.
    const { timeout } = limitsFor("session/new", app.config.limits.messages);
    const longestWait = timeout === undefined ? undefined : Math.max(timeout - ANSWERING, 0);
    const placer = new Placer({ connection, members, queue, longestWait, log: app.log });
    this.sharing = new GatewaySharing(app, fleet, {
      place: async (request, signal, queued) => {
        const { id } = await placer.place(request, signal, queued);
        return id;
      },
      opened: ({ mirror }) => this.view.follow(mirror),
    });
  }

  static async open(
    app: AppContext,
    { isTyped, offer }: { readonly isTyped: boolean; readonly offer: Offer },
  ): Promise<FleetGateway> {
    await using opening = new AsyncDisposableStack();
    const fleet = opening.use(await Fleet.connect(app, { role: "gateway", isTyped }));
    const shared = opening.use(await shareNode(app, fleet, { role: "gateway", offer }));
    return new FleetGateway(app, fleet, shared, opening.move());
  }

  /** Tells the pool that clients can connect at this address. */
  join(url: string): void {
    this.#url = url;
    this.fleet.members.join();
  }

  /** See `Fleet.untilRefused`. */
  untilRefused(log: Log): Promise<never> {
    return this.fleet.untilRefused(log);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#ends.disposeAsync();
  }
}
