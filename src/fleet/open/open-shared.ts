import { setTimeout as delay } from "node:timers/promises";

import type { FleetConnection } from "../connection/connect.ts";
import type { NodeAddress } from "../connection/node-server.ts";
import { SharedAudit } from "../replication/shared-audit.ts";
import { SharedState } from "../replication/shared-state.ts";
import { openSharedStores, openTokens } from "../replication/shared-stores.ts";
import type { SharingStatus } from "../replication/shared-store.ts";
import type { AppContext } from "../../config/app-context.ts";
import { IdentityKind } from "./shared-identities.ts";

export interface OpenSharedOptions {
  readonly app: AppContext;
  readonly fleet: { readonly connection: FleetConnection; readonly self: NodeAddress };
  /** Of a worker, the tokens are not shared. */
  readonly role: "gateway" | "worker";
  readonly env?: NodeJS.ProcessEnv;
}

/** What this node shares with the others of its pool. */
export interface Shared extends AsyncDisposable {
  /** Undefined until the stores of the data folder are open. */
  readonly status:
    | {
        readonly state: SharingStatus;
        readonly audit: SharingStatus;
        /** Undefined at a worker. */
        readonly tokens: SharingStatus | undefined;
      }
    | undefined;
}

/** Milliseconds after which it is tried again to open what is shared. */
const TRY_AGAIN = 1_000;

/**
 * Shares tokens, permission rules, review threads, identities and the audit of a data folder with the
 * other nodes. It does not wait for NATS: what is here is used, and what is changed here is sent when
 * NATS can be reached. No other node uses the folder (see `Fleet.connect`).
 */
export function openShared(options: OpenSharedOptions): Shared {
  return new FolderShare(options);
}

interface OpenedShares {
  readonly state: SharedState;
  readonly audit: SharedAudit;
  readonly tokens: SharedState | undefined;
}

class FolderShare implements Shared {
  readonly #options: OpenSharedOptions;
  readonly #over = new AbortController();
  readonly #running: Promise<void>;
  #opened: OpenedShares | undefined;

  constructor(options: OpenSharedOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  get status(): Shared["status"] {
    if (this.#opened === undefined) return undefined;
    const { state, audit, tokens } = this.#opened;
    return { state: state.status, audit: audit.status, tokens: tokens?.status };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#over;
    const { report } = this.#options.app;
    while (!signal.aborted) {
      try {
        await this.#share(signal);
      } catch (error) {
        report("shared.failed", { error });
      }
      await delay(TRY_AGAIN, undefined, { signal }).catch(() => {});
    }
  }

  async #share(signal: AbortSignal): Promise<void> {
    const { app, fleet, role, env } = this.#options;
    const { config, report } = app;
    const { data } = config;
    const { connection, self } = fleet;
    await using opened = new AsyncDisposableStack();
    const identities = await IdentityKind.open(app, env);
    const stores = opened.use(await openSharedStores(data, role));
    const sharing = { connection, data, report };
    const kinds = [...stores.kinds, identities];
    const state = opened.use(await SharedState.open({ ...sharing, kinds }));
    const tokens = await openTokens(stores, sharing);
    if (tokens !== undefined) opened.use(tokens);
    const audit = opened.use(await SharedAudit.open({ ...sharing, name: self.name }));
    this.#opened = { state, audit, tokens };
    try {
      await new Promise((resolve) => {
        if (signal.aborted) resolve(undefined);
        signal.addEventListener("abort", resolve, { once: true });
      });
    } finally {
      this.#opened = undefined;
    }
  }
}
