import { jetstreamManager } from "@nats-io/jetstream";
import { type NatsConnection } from "@nats-io/nats-core";
import { connect } from "@nats-io/transport-node";
import { after } from "node:test";

import { Log } from "../../src/base/log.ts";
import { WorkerStore } from "../../src/fleet/store/worker-store.ts";
import { Subjects } from "../../src/fleet/subjects.ts";
import type { SessionStore } from "../../src/session/store.ts";
import { SessionLog } from "../../src/store/session/session-log.ts";
import { SampleFolder } from "../samples/sample-folder.ts";
import { DiskFaults } from "../support/disk-faults.ts";
import { HoldingProcess } from "../support/holding-process.ts";
import { NatsServer, noNats } from "../support/nats-server.ts";
import { sessionStoreContract, type SessionStoreRig } from "./session-store-contract.ts";

const QUIET = new Log("error", () => {});

/** A data folder whose disk can be made to fail. */
async function breakDisk(path: string): Promise<() => Promise<void>> {
  const disk = new DiskFaults(path);
  disk.decide = ({ operation }) => (operation === "COMMIT" ? "ENOSPC" : undefined);
  return async () => disk[Symbol.dispose]();
}

class LogRig implements SessionStoreRig {
  readonly #folder: SampleFolder;
  #log: SessionLog;

  private constructor(folder: SampleFolder, log: SessionLog) {
    this.#folder = folder;
    this.#log = log;
  }

  static async open(): Promise<LogRig> {
    const folder = await SampleFolder.create();
    return new LogRig(folder, await SessionLog.open(folder.path));
  }

  get store(): SessionStore {
    return this.#log;
  }

  get holder(): string {
    return this.#log.holder;
  }

  async holdElsewhere(id: string): Promise<AsyncDisposable & { readonly holder: undefined }> {
    const other = await HoldingProcess.start(this.#folder.path, id);
    return { holder: undefined, [Symbol.asyncDispose]: () => other[Symbol.asyncDispose]() };
  }

  async reopen(): Promise<SessionStore> {
    await this.#log[Symbol.asyncDispose]();
    this.#log = await SessionLog.open(this.#folder.path);
    return this.#log;
  }

  breakStorage(): Promise<() => Promise<void>> {
    return breakDisk(this.#folder.path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#log[Symbol.asyncDispose]();
    await this.#folder[Symbol.asyncDispose]();
  }
}

let server: Promise<NatsServer> | undefined;
let pools = 0;
after(async () => (await server)?.[Symbol.asyncDispose]());

interface Worker {
  readonly store: WorkerStore;
  readonly connection: NatsConnection;
}

class FleetRig implements SessionStoreRig {
  readonly #subjects = new Subjects(`pool${++pools}`);
  readonly #folder: SampleFolder;
  readonly #alive = new Set<string>();
  readonly #breaks: "disk" | "nats";
  #worker: Worker | undefined;

  private constructor(folder: SampleFolder, breaks: "disk" | "nats") {
    this.#folder = folder;
    this.#breaks = breaks;
  }

  static async open(breaks: "disk" | "nats"): Promise<FleetRig> {
    const rig = new FleetRig(await SampleFolder.create(), breaks);
    rig.#worker = await rig.#start(rig.#folder.path);
    return rig;
  }

  get store(): WorkerStore {
    return this.#running.store;
  }

  get holder(): string {
    return this.store.holder;
  }

  get #running(): Worker {
    if (this.#worker === undefined) throw new Error("There is no worker");
    return this.#worker;
  }

  async holdElsewhere(id: string): Promise<AsyncDisposable & { readonly holder: string }> {
    const folder = await SampleFolder.create();
    const other = await this.#start(folder.path);
    await other.store.hold(id);
    const { holder } = other.store;
    return {
      holder,
      [Symbol.asyncDispose]: async () => {
        await this.#kill(other);
        await folder[Symbol.asyncDispose]();
      },
    };
  }

  async reopen(): Promise<WorkerStore> {
    await this.#kill(this.#running);
    this.#worker = await this.#start(this.#folder.path);
    return this.#worker.store;
  }

  async breakStorage(): Promise<() => Promise<void>> {
    if (this.#breaks === "disk") return await breakDisk(this.#folder.path);
    const { streams } = await jetstreamManager(this.#running.connection);
    const { state } = await streams.info(this.#subjects.events);
    await streams.update(this.#subjects.events, { max_msgs: state.messages });
    return async () => {
      await streams.update(this.#subjects.events, { max_msgs: -1 });
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { store, connection } = this.#running;
    await store[Symbol.asyncDispose]();
    await connection.close();
    await this.#folder[Symbol.asyncDispose]();
  }

  async #start(data: string): Promise<Worker> {
    server ??= NatsServer.start();
    const connection = await connect({ servers: (await server).url });
    const store = await WorkerStore.open({
      connection,
      subjects: this.#subjects,
      data,
      isAlive: (holder) => this.#alive.has(holder),
      lost: () => {},
      log: QUIET,
    });
    this.#alive.add(store.holder);
    return { store, connection };
  }

  /** Ends a worker as a crash does: it releases nothing. */
  async #kill({ store, connection }: Worker): Promise<void> {
    this.#alive.delete(store.holder);
    await connection.close();
    await store[Symbol.asyncDispose]();
  }
}

sessionStoreContract({ name: "SessionLog", skip: false, open: () => LogRig.open() });
sessionStoreContract({
  name: "WorkerStore, whose NATS may refuse,",
  skip: noNats,
  open: () => FleetRig.open("nats"),
});
sessionStoreContract({
  name: "WorkerStore, whose disk may fail,",
  skip: noNats,
  open: () => FleetRig.open("disk"),
});
