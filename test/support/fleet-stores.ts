import { Log } from "../../src/base/log.ts";
import { FleetConnection } from "../../src/fleet/connection/connect.ts";
import { GatewayStore, type GatewayStoreOptions } from "../../src/fleet/store/gateway-store.ts";
import { WorkerStore } from "../../src/fleet/store/worker-store.ts";
import { subjectsOf } from "../../src/fleet/subjects.ts";
import { SampleFolder } from "../samples/sample-folder.ts";
import type { NatsServer } from "./nats-server.ts";

/** A worker of a test, in this process. */
export interface StoreWorker {
  readonly store: WorkerStore;
  readonly connection: FleetConnection;
  readonly data: string;
}

let pools = 0;

/** Stores of workers and gateways in one pool of a NATS server. Which ones are alive is known here. */
export class FleetStores implements AsyncDisposable {
  readonly subjects = subjectsOf(`pool${++pools}`);
  readonly server: NatsServer;
  readonly alive = new Set<string>();
  /** Sessions of which a worker was told that it has lost them. */
  readonly lost: string[] = [];
  /** Lines that the stores have logged. */
  readonly logged: string[] = [];
  readonly #log = new Log("warn", (line) => this.logged.push(line));
  readonly #ends = new AsyncDisposableStack();
  #names = 0;
  readonly #running = new Set<StoreWorker>();

  constructor(server: NatsServer) {
    this.server = server;
  }

  /** Starts a worker, on a data folder of its own if none is given. */
  async worker(data?: string): Promise<StoreWorker> {
    const connection = await this.connect();
    const folder = data ?? (await this.folder());
    const store = await WorkerStore.open({
      connection,
      data: folder,
      isAlive: (holder) => this.alive.has(holder),
      lost: (session) => this.lost.push(session),
      log: this.#log,
    });
    this.alive.add(store.holder);
    const worker = { store, connection, data: folder };
    this.#running.add(worker);
    return worker;
  }

  async gateway(place: GatewayStoreOptions["place"] = async () => "nobody"): Promise<GatewayStore> {
    const connection = await this.connect();
    const isAlive = (holder: string): boolean => this.alive.has(holder);
    const log = this.#log;
    const store = await GatewayStore.open({ connection, isAlive, place, log });
    return this.#ends.use(store);
  }

  /** Ends a worker as a crash does: it releases nothing. */
  async kill(worker: StoreWorker): Promise<void> {
    this.#running.delete(worker);
    this.alive.delete(worker.store.holder);
    await worker.connection.nats.close();
    await worker.store[Symbol.asyncDispose]();
  }

  async folder(): Promise<string> {
    return this.#ends.use(await SampleFolder.create()).path;
  }

  async connect(): Promise<FleetConnection> {
    const { server, subjects } = this;
    const name = `node${++this.#names}`;
    return this.#ends.use(await FleetConnection.open({ url: server.url, subjects, name }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { store } of this.#running) await store[Symbol.asyncDispose]();
    await this.#ends.disposeAsync();
  }
}
