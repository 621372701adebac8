import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { type ObjectInfo, Objm, type ObjectStore } from "@nats-io/obj";

import type { FleetConnection } from "./connection/connect.ts";
import { ensureStream } from "./ensure-stream.ts";
import { checkpointStream } from "./store/streams.ts";

/** A remote run: the name of its workspace, and its session. */
export interface CarriedRun {
  readonly workspace: string;
  readonly session: string;
}

export interface CheckpointsOptions {
  readonly connection: FleetConnection;
  /** The stable id of this node. */
  readonly node: string;
  /** Throws if this node does not hold the session any more. */
  readonly confirm: (session: string) => Promise<void>;
}

/** Checkpoints of remote runs in the object store of the pool, for the worker that continues a run. */
export class Checkpoints {
  readonly #options: CheckpointsOptions;
  #store: Promise<ObjectStore> | undefined;

  constructor(options: CheckpointsOptions) {
    this.#options = options;
  }

  async save({ workspace, session }: CarriedRun, packed: Buffer): Promise<void> {
    const { node, confirm } = this.#options;
    await confirm(session);
    const store = await this.#open();
    await store.putBlob({ name: workspace, metadata: { node } }, packed);
  }

  /** Undefined if there is none, and if this node stored the last one and still has the workspace. */
  async load({ workspace }: CarriedRun, hasOwn: boolean): Promise<Buffer | undefined> {
    const store = await this.#open();
    const info = await store.info(workspace);
    if (info === null || info.deleted) return undefined;
    if (hasOwn && nodeOf(info) === this.#options.node) return undefined;
    const packed = await store.getBlob(workspace);
    return packed === null ? undefined : Buffer.from(packed);
  }

  async remove(workspace: string): Promise<void> {
    const store = await this.#open();
    const info = await store.info(workspace);
    if (info !== null && !info.deleted) await store.delete(workspace);
  }

  #open(): Promise<ObjectStore> {
    this.#store ??= this.#create();
    this.#store.catch(() => (this.#store = undefined));
    return this.#store;
  }

  async #create(): Promise<ObjectStore> {
    const { nats, subjects } = this.#options.connection;
    const manager = await jetstreamManager(nats, { checkAPI: false });
    await ensureStream(manager, checkpointStream(subjects));
    return await new Objm(jetstream(nats)).open(subjects.checkpoints);
  }
}

function nodeOf({ metadata }: ObjectInfo): string | undefined {
  return metadata?.node;
}
