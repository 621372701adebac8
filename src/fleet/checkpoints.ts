import { createHash } from "node:crypto";

import { DeliverPolicy, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { type ObjectInfo, Objm, type ObjectStore } from "@nats-io/obj";

import { TrunklineError } from "../base/errors.ts";
import type { FleetConnection } from "./connection/connect.ts";
import { ensureStream } from "./ensure-stream.ts";
import { checkpointStream } from "./store/streams.ts";
import { StreamReader } from "./stream-reader.ts";

/** Bytes that are fetched ahead. */
const AHEAD = 1024 * 1024;
/** Milliseconds without a message until no more are expected. */
const LONGEST_WAIT = 5_000;

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
    for (let tried = ""; ;) {
      const info = await store.info(workspace);
      if (info === null || info.deleted) return undefined;
      if (hasOwn && nodeOf(info) === this.#options.node) return undefined;
      const packed = await this.#read(info);
      if (isWhole(packed, info)) return packed;
      if (info.nuid === tried) {
        const why = `NATS has ${packed.length} of its ${info.size} bytes, or others than were stored`;
        throw new TrunklineError("unavailable", `Cannot read checkpoint '${workspace}': ${why}.`);
      }
      // Another one may have been stored, which removed what was being read.
      tried = info.nuid;
    }
  }

  /** What is there of a checkpoint. The library's own way leaves a reader in the server for five minutes. */
  async #read({ nuid }: ObjectInfo): Promise<Buffer> {
    const { nats, subjects } = this.#options.connection;
    const reading = {
      deliver_policy: DeliverPolicy.All,
      filter_subject: `$O.${subjects.checkpoints}.C.${nuid}`,
    };
    const stream = `OBJ_${subjects.checkpoints}`;
    await using reader = await StreamReader.open(nats, stream, reading, { max_bytes: AHEAD });
    const chunks: Uint8Array[] = [];
    if (reader.pending === 0) return Buffer.alloc(0);
    // Chunks that are removed now are not sent any more.
    const late = setTimeout(() => reader.stop(), LONGEST_WAIT).unref();
    try {
      for await (const { data } of reader) {
        late.refresh();
        if (chunks.push(data) === reader.pending) break;
      }
    } finally {
      clearTimeout(late);
    }
    return Buffer.concat(chunks);
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

function isWhole(packed: Buffer, { digest }: ObjectInfo): boolean {
  const hash = createHash("sha256").update(packed).digest("base64url");
  return digest.replace(/=+$/, "") === `SHA-256=${hash}`;
}

function nodeOf({ metadata }: ObjectInfo): string | undefined {
  return metadata?.node;
}
