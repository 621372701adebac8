import { limitsFor } from "../../base/limit/limits.ts";
import { JobQueue } from "../../fleet/members/job-queue.ts";
import {
  Placer,
  type PlacementRequest,
  type QueueListener,
  TAKE_OVER_WITHIN,
} from "../../fleet/members/placer.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import type { AppContext } from "../../config/app-context.ts";
import type {
  SessionSharing,
  SharedSessions,
  SharingOptions,
} from "../../session/open/session-sharing.ts";
import { connectFleet, type Fleet } from "../../fleet/open/fleet.ts";
import { FleetView } from "../../server/dashboard/view/fleet-view.ts";
import { type SharedParts, shareNode } from "./share-node.ts";
import { parseRemoteUrl } from "../../base/remote-url.ts";
import type { HomeParams } from "../../protocol/acp/door.ts";
import { ours } from "../../protocol/acp/methods.ts";
import { GatewayStore } from "../../fleet/store/gateway-store.ts";
import { isLabels } from "../../session/session-setup.ts";
import { SessionLog } from "../../store/session/session-log.ts";

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
    const { members } = fleet;
    const queue = ends.use(new JobQueue({ members, most: app.config.fleet.waiting }));
    fleet.tells(() => ({ url: this.#url, waiting: queue.waiting, ...shared.tools.state }));
    this.view = ends.use(new FleetView(fleet));
    // The refusal must arrive before the request itself times out.
    const { timeout } = limitsFor("session/new", app.config.limits.messages);
    const longestWait = timeout === undefined ? undefined : Math.max(timeout - ANSWERING, 0);
    const placer = new Placer({ members, queue, longestWait, log: app.log });
    this.sharing = new GatewaySharing(app, fleet, {
      place: async (request, signal, queued) => {
        return (await placer.place(request, signal, queued)).id;
      },
      opened: ({ mirror }) => this.view.follow(mirror),
    });
  }

  static async open(
    app: AppContext,
    { isTyped, offer }: { readonly isTyped: boolean; readonly offer: Offer },
  ): Promise<FleetGateway> {
    await using opening = new AsyncDisposableStack();
    const fleet = opening.use(await connectFleet(app, { role: "gateway", isTyped }));
    const shared = opening.use(await shareNode(app, fleet, { role: "gateway", offer }));
    return new FleetGateway(app, fleet, shared, opening.move());
  }

  /** Tells the pool that clients can connect at this address. */
  join(url: string): void {
    this.#url = url;
    this.fleet.members.join();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#ends.disposeAsync();
  }
}

/** Chooses the worker for a session, and resolves to its id. */
export type SessionPlacer = (
  request: PlacementRequest,
  signal: AbortSignal,
  queued?: QueueListener,
) => Promise<string>;

export interface GatewaySharingOptions {
  readonly place: SessionPlacer;
  /** Called when the sessions of the pool are known. */
  readonly opened: (store: GatewayStore) => void;
}

/** A gateway of a fleet has no session open itself: each is open in a worker. */
export class GatewaySharing implements SessionSharing {
  readonly #app: AppContext;
  readonly #fleet: Fleet;
  readonly #options: GatewaySharingOptions;
  #store: GatewayStore | undefined;

  constructor(app: AppContext, fleet: Fleet, options: GatewaySharingOptions) {
    this.#app = app;
    this.#fleet = fleet;
    this.#options = options;
  }

  get holders(): SessionSharing["holders"] {
    return {
      reach: this.#fleet.reach,
      home: (params, signal, queued) => this.#home(params, signal, queued),
      takeOverWithin: TAKE_OVER_WITHIN,
    };
  }

  async open({ log }: SharingOptions): Promise<SharedSessions> {
    const { connection, members, isAlive, self } = this.#fleet;
    await using opening = new AsyncDisposableStack();
    const store = opening.use(
      await GatewayStore.open({
        ...{ connection, isAlive },
        place: ({ id, notes }, lost, signal = NEVER, queued) =>
          this.#options.place({ ...requestOf(notes), session: id, lost }, signal, queued),
        log,
      }),
    );
    const local = opening.use(await SessionLog.open(this.#app.config.data));
    this.#store = store;
    this.#options.opened(store);
    const opened = opening.move();
    return {
      store,
      database: local.database,
      holder: self.id,
      holderOf: (id) => store.holderOf(id),
      openReader: () =>
        store.openReader((listener) =>
          members.onChange(({ kind }) => {
            if (kind !== "changed") listener();
          }),
        ),
      letIn: async () => ({ [Symbol.asyncDispose]: async () => {} }),
      [Symbol.asyncDispose]: () => opened.disposeAsync(),
    };
  }

  /** The worker that has the session open, or one that is to open it. */
  async #home(
    { sessionId, _meta }: HomeParams,
    signal: AbortSignal,
    queued: QueueListener,
  ): Promise<string | undefined> {
    if (sessionId === undefined)
      return await this.#options.place(requestOf({}, _meta), signal, queued);
    return await this.#store?.homeOf(sessionId, signal, queued);
  }
}

const NEVER = new AbortController().signal;

/** What a session asks of its worker: in the request that begins it, or in its notes. */
function requestOf(
  { run, labels: noted }: Readonly<Record<string, unknown>>,
  _meta?: unknown,
): PlacementRequest {
  const { remote } = (_meta ?? {}) as { readonly remote?: { readonly url?: unknown } | null };
  const { url } = (run ?? remote ?? {}) as { readonly url?: unknown };
  const repository = typeof url === "string" ? parseRemoteUrl(url).normal : undefined;
  const labels = ours(_meta).labels ?? noted;
  return {
    ...(repository === undefined ? {} : { repository }),
    ...(isLabels(labels) ? { labels } : {}),
  };
}
