import { limitsFor } from "../../base/limit/limits.ts";
import { openJobQueue } from "../../fleet/members/job-queue.ts";
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
import { fleetView, type FleetView } from "../../server/dashboard/view/fleet-view.ts";
import { shareNode } from "./share-node.ts";
import { parseRemoteUrl } from "../../base/remote-url.ts";
import type { HomeParams } from "../../protocol/acp/door.ts";
import { ours } from "../../protocol/acp/methods.ts";
import { GatewayStore } from "../../fleet/store/gateway-store.ts";
import { isLabels } from "../../session/session-setup.ts";
import { SessionLog } from "../../store/session/session-log.ts";

/** Milliseconds. */
const ANSWERING = 1_000;

export type FleetGateway = Awaited<ReturnType<typeof openFleetGateway>>;

/** `trunkline serve --bus`: takes clients in, and lets the workers of its pool hold their sessions. */
export async function openFleetGateway(
  app: AppContext,
  { isTyped, offer }: { readonly isTyped: boolean; readonly offer: Offer },
) {
  await using opening = new AsyncDisposableStack();
  const fleet = opening.use(await connectFleet(app, { role: "gateway", isTyped }));
  const shared = opening.use(await shareNode(app, fleet, { role: "gateway", offer }));
  const { members } = fleet;
  const queue = opening.use(openJobQueue({ members, most: app.config.fleet.waiting }));
  let address: string | undefined;
  fleet.tells(() => ({ url: address, waiting: queue.waiting, ...shared.tools.state }));
  // What the dashboard and the metrics show.
  const view = opening.use(fleetView(fleet));
  // The refusal must arrive before the request itself times out.
  const { timeout } = limitsFor("session/new", app.config.limits.messages);
  const longestWait = timeout === undefined ? undefined : Math.max(timeout - ANSWERING, 0);
  const placer = new Placer({ members, queue, longestWait, log: app.log });
  const sharing = gatewaySharing(app, fleet, placer, view);
  const opened = opening.move();

  return {
    ...{ fleet, sharing, view },
    /** Tells the pool that clients can connect at this address. */
    join(url: string): void {
      address = url;
      members.join();
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** A gateway of a fleet has no session open itself: each is open in a worker. */
function gatewaySharing(
  app: AppContext,
  fleet: Fleet,
  placer: Placer,
  view: FleetView,
): SessionSharing {
  const { connection, members, isAlive, self, reach } = fleet;
  let store: GatewayStore | undefined;
  // The id of the worker for a session.
  const place = async (...wanted: Parameters<Placer["place"]>): Promise<string> =>
    (await placer.place(...wanted)).id;

  async function open({ log }: SharingOptions): Promise<SharedSessions> {
    await using opening = new AsyncDisposableStack();
    const opened = opening.use(
      await GatewayStore.open({
        ...{ connection, isAlive, log },
        place: ({ id, notes }, lost, signal = NEVER, queued) =>
          place({ ...requestOf(notes), session: id, lost }, signal, queued),
      }),
    );
    const local = opening.use(await SessionLog.open(app.config.data));
    store = opened;
    view.follow(opened.mirror);
    const ends = opening.move();
    return {
      store: opened,
      database: local.database,
      holder: self.id,
      holderOf: (id) => opened.holderOf(id),
      openReader: () =>
        opened.openReader((listener) =>
          members.onChange(({ kind }) => {
            if (kind !== "changed") listener();
          }),
        ),
      letIn: async () => ({ [Symbol.asyncDispose]: async () => {} }),
      [Symbol.asyncDispose]: () => ends.disposeAsync(),
    };
  }

  /** The worker that has the session open, or one that is to open it. */
  async function home(
    { sessionId, _meta }: HomeParams,
    signal: AbortSignal,
    queued: QueueListener,
  ): Promise<string | undefined> {
    if (sessionId === undefined) return await place(requestOf({}, _meta), signal, queued);
    return await store?.homeOf(sessionId, signal, queued);
  }

  return { holders: { reach, home, takeOverWithin: TAKE_OVER_WITHIN }, open };
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
