import { createHash } from "node:crypto";

import {
  DeliverPolicy,
  jetstream,
  type JetStreamClient,
  jetstreamManager,
  type JetStreamManager,
} from "@nats-io/jetstream";
import { headers, nuid } from "@nats-io/nats-core";
import { type ObjectInfo, Objm, type ObjectStore } from "@nats-io/obj";

import { TrunklineError } from "../base/errors.ts";
import { Lazy } from "../base/lazy.ts";
import type { FleetConnection } from "./connection/connect.ts";
import { ensureStream, openReader } from "./stream-reader.ts";
import { checkpointStream } from "./store/session-streams.ts";

/** Bytes that are fetched ahead. */
const AHEAD = 1024 * 1024;
/** Milliseconds without a message until no more are expected. */
const LONGEST_WAIT = 5_000;
/** Milliseconds until it is checked whether another checkpoint was stored, which removes the messages of this one. */
const LOOK_AFTER = 200;
/** Bytes of a message. */
const CHUNK = 128 * 1024;
/** Messages that are sent before an acknowledgement is waited for. */
const TOGETHER = 8;

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

interface OpenedStore {
  readonly manager: JetStreamManager;
  readonly stream: JetStreamClient;
  readonly store: ObjectStore;
}

/** Checkpoints of remote runs in the object store of the pool, for the worker that continues a run. */
export class Checkpoints {
  readonly #options: CheckpointsOptions;
  readonly #store = new Lazy(() => this.#create());

  constructor(options: CheckpointsOptions) {
    this.#options = options;
  }

  /**
   * The library's own way names chunks by chance, so those of a process that was killed stay for ever. These
   * are named for the workspace too, and go with its next checkpoint, or with the workspace.
   */
  async save({ workspace, session }: CarriedRun, packed: Buffer): Promise<void> {
    const { node, confirm } = this.#options;
    const { stream, store } = await this.#store.get();
    // A node that was paused after the check must not replace what the next holder has stored.
    const after = (await store.info(workspace))?.revision ?? 0;
    await confirm(session);
    const bucket = this.#options.connection.subjects.checkpoints;
    const own = `${workspace}.${nuid.next()}`;
    const chunks = Math.ceil(packed.length / CHUNK);
    let first = Infinity;
    for (let sent = 0; sent < chunks; sent += TOGETHER) {
      const some = Array.from({ length: Math.min(TOGETHER, chunks - sent) }, (_, n) => {
        const from = (sent + n) * CHUNK;
        return stream.publish(`$O.${bucket}.C.${own}`, packed.subarray(from, from + CHUNK));
      });
      for (const { seq } of await Promise.all(some)) first = Math.min(first, seq);
    }
    const content = { size: packed.length, chunks, digest: digestOf(packed) };
    const info: Omit<ObjectInfo, "revision" | "isLink"> = {
      ...{ name: workspace, bucket, nuid: own, ...content, metadata: { node } },
      ...{ deleted: false, mtime: "", options: { max_chunk_size: CHUNK } },
    };
    const instead = headers();
    instead.set("Nats-Rollup", "sub");
    const subject = `$O.${bucket}.M.${paddedBase64Url(Buffer.from(workspace))}`;
    const expect = { lastSubjectSequence: after };
    await stream.publish(subject, JSON.stringify(info), { headers: instead, expect });
    await this.#purge(workspace, first);
  }

  /** Undefined if there is none, and if this node stored the last one and still has the workspace. */
  async load({ workspace }: CarriedRun, hasOwn: boolean): Promise<Buffer | undefined> {
    const { store } = await this.#store.get();
    for (let tried = ""; ;) {
      const info = await store.info(workspace);
      if (info === null || info.deleted) return undefined;
      if (hasOwn && info.metadata?.node === this.#options.node) return undefined;
      const packed = await this.#read(info, store);
      if (info.digest === digestOf(packed)) return packed;
      if (info.nuid === tried) {
        const why = `NATS has ${packed.length} of its ${info.size} bytes, or others than were stored`;
        throw new TrunklineError("unavailable", `Cannot read checkpoint '${workspace}': ${why}.`);
      }
      // A newer checkpoint may have been stored, which removed the one that was being read.
      tried = info.nuid;
    }
  }

  /** The chunks of a checkpoint. The library's own way leaves a reader in the server for five minutes. */
  async #read({ name, nuid }: ObjectInfo, store: ObjectStore): Promise<Buffer> {
    const { nats, subjects } = this.#options.connection;
    const reading = {
      deliver_policy: DeliverPolicy.All,
      filter_subject: `$O.${subjects.checkpoints}.C.${nuid}`,
    };
    const stream = `OBJ_${subjects.checkpoints}`;
    await using reader = await openReader(nats, stream, reading, { max_bytes: AHEAD });
    const chunks: Uint8Array[] = [];
    if (reader.pending === 0) return Buffer.alloc(0);
    const stopIfReplaced = async (): Promise<void> => {
      if ((await store.info(name))?.nuid !== nuid) reader.stop();
    };
    let waited = 0;
    using looking = setInterval(() => {
      waited += LOOK_AFTER;
      if (waited > LONGEST_WAIT) reader.stop();
      // Without an answer it waits on.
      else stopIfReplaced().catch(() => {});
    }, LOOK_AFTER).unref();
    for await (const { data } of reader) {
      waited = 0;
      looking.refresh();
      if (chunks.push(data) === reader.pending) break;
    }
    return Buffer.concat(chunks);
  }

  async remove(workspace: string): Promise<void> {
    const { store } = await this.#store.get();
    const info = await store.info(workspace);
    if (info !== null && !info.deleted) await store.delete(workspace);
    await this.#purge(workspace);
  }

  /** Removes the chunks of a workspace that come before a message; by default all. */
  async #purge(workspace: string, before = Infinity): Promise<void> {
    // NATS reads sequence 1 as "no limit", and would remove everything.
    if (before === 1) return;
    const { manager } = await this.#store.get();
    const bucket = this.#options.connection.subjects.checkpoints;
    const filter = `$O.${bucket}.C.${workspace}.>`;
    const which = before === Infinity ? { filter } : { filter, seq: before };
    await manager.streams.purge(`OBJ_${bucket}`, which);
  }

  async #create(): Promise<OpenedStore> {
    const { nats, subjects } = this.#options.connection;
    const manager = await jetstreamManager(nats, { checkAPI: false });
    await ensureStream(manager, checkpointStream(subjects));
    const stream = jetstream(nats);
    return { manager, stream, store: await new Objm(stream).open(subjects.checkpoints) };
  }
}

function digestOf(packed: Buffer): string {
  return `SHA-256=${paddedBase64Url(createHash("sha256").update(packed).digest())}`;
}

/** As object stores of NATS have it. */
function paddedBase64Url(bytes: Buffer): string {
  return bytes.toString("base64").replaceAll("+", "-").replaceAll("/", "_");
}
