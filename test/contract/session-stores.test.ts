import { jetstreamManager } from "@nats-io/jetstream";
import { after, describe } from "node:test";

import type { SessionStore } from "../../src/session/store.ts";
import { SessionLog } from "../../src/store/session/session-log.ts";
import { SampleFolder } from "../samples/sample-folder.ts";
import { DiskFaults } from "../support/disk-faults.ts";
import { FleetStores, type StoreWorker } from "../support/fleet-stores.ts";
import { HoldingProcess } from "../support/holding-process.ts";
import { NatsServer, noNats } from "../support/nats-server.ts";
import { sessionStoreContract, type SessionStoreRig } from "./session-store-contract.ts";

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

class WorkerRig implements SessionStoreRig {
  readonly #fleet: FleetStores;
  readonly #breaks: "disk" | "nats";
  #worker: StoreWorker;

  private constructor(fleet: FleetStores, worker: StoreWorker, breaks: "disk" | "nats") {
    this.#fleet = fleet;
    this.#worker = worker;
    this.#breaks = breaks;
  }

  static async open(breaks: "disk" | "nats"): Promise<WorkerRig> {
    server ??= NatsServer.start();
    const fleet = new FleetStores(await server);
    return new WorkerRig(fleet, await fleet.worker(), breaks);
  }

  get store(): SessionStore {
    return this.#worker.store;
  }

  get holder(): string {
    return this.#worker.store.holder;
  }

  async holdElsewhere(id: string): Promise<AsyncDisposable & { readonly holder: string }> {
    const other = await this.#fleet.worker();
    await other.store.hold(id);
    const { holder } = other.store;
    return { holder, [Symbol.asyncDispose]: () => this.#fleet.kill(other) };
  }

  async reopen(): Promise<SessionStore> {
    await this.#fleet.kill(this.#worker);
    this.#worker = await this.#fleet.worker(this.#worker.data);
    return this.#worker.store;
  }

  async breakStorage(): Promise<() => Promise<void>> {
    if (this.#breaks === "disk") return await breakDisk(this.#worker.data);
    const { streams } = await jetstreamManager(this.#worker.connection.nats);
    const { eventStreams } = this.#fleet.subjects;
    // Less than the headers of one message take.
    const room = async (max_bytes: number): Promise<void> => {
      for (const stream of eventStreams) {
        const { state } = await streams.info(stream);
        await streams.update(stream, {
          max_bytes: max_bytes === -1 ? -1 : state.bytes + max_bytes,
        });
      }
    };
    await room(1);
    return () => room(-1);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#fleet[Symbol.asyncDispose]();
  }
}

describe("stores of sessions", () => {
  after(async () => (await server)?.[Symbol.asyncDispose]());
  sessionStoreContract({ name: "SessionLog", skip: false, open: () => LogRig.open() });
  sessionStoreContract({
    name: "WorkerStore, whose NATS may refuse,",
    skip: noNats,
    open: () => WorkerRig.open("nats"),
  });
  sessionStoreContract({
    name: "WorkerStore, whose disk may fail,",
    skip: noNats,
    open: () => WorkerRig.open("disk"),
  });
});
