import { parseRemoteUrl } from "../../base/remote-url.ts";
import type { HomeParams } from "../../protocol/acp/door.ts";
import { ours } from "../../protocol/acp/methods.ts";
import type { PlacementRequest } from "../../fleet/members/placement.ts";
import { type Queued, TAKE_OVER_WITHIN } from "../../fleet/members/placer.ts";
import { GatewayStore } from "../../fleet/store/gateway-store.ts";
import { isLabels } from "../../session/session-setup.ts";
import { SessionLog } from "../../store/session/session-log.ts";
import type {
  SessionSharing,
  SharedSessions,
  SharingOptions,
} from "../../session/open/session-sharing.ts";
import type { House } from "../../config/house.ts";
import type { Fleet } from "../../fleet/open/fleet.ts";

/** Chooses the worker for a session, and resolves to its id. */
export type Place = (
  request: PlacementRequest,
  signal: AbortSignal,
  queued?: Queued,
) => Promise<string>;

export interface GatewaySharingOptions {
  readonly place: Place;
  /** Called when the sessions of the pool are known. */
  readonly opened: (store: GatewayStore) => void;
}

/** A gateway of a fleet has no session open itself: each is open in a worker. */
export class GatewaySharing implements SessionSharing {
  readonly #house: House;
  readonly #fleet: Fleet;
  readonly #place: Place;
  readonly #opened: GatewaySharingOptions["opened"];
  #store: GatewayStore | undefined;

  constructor(house: House, fleet: Fleet, { place, opened }: GatewaySharingOptions) {
    this.#house = house;
    this.#fleet = fleet;
    this.#place = place;
    this.#opened = opened;
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
        connection: connection.nats,
        subjects: connection.subjects,
        replicas: connection.replicas,
        isAlive,
        place: ({ id, notes }, lost, signal = NEVER, queued) =>
          this.#place({ ...requestOf(notes), session: id, lost }, signal, queued),
        log,
      }),
    );
    const local = opening.use(await SessionLog.open(this.#house.config.data));
    this.#store = store;
    this.#opened(store);
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
    queued: Queued,
  ): Promise<string | undefined> {
    if (sessionId === undefined) return await this.#place(requestOf({}, _meta), signal, queued);
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
