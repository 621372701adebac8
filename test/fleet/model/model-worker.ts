import type { EventPublisher } from "../../../src/fleet/ownership/event-publisher.ts";
import type { Journal } from "../../../src/fleet/ownership/journal.ts";
import { type Claim, FencedError, Ownership } from "../../../src/fleet/ownership/ownership.ts";
import type { EntryRecord, Records } from "../../../src/fleet/ownership/session-entry.ts";
import { catchUp } from "../../../src/fleet/store/worker-store.ts";
import type { ModelDisk } from "./model-disk.ts";
import { type ModelServer, Violation } from "./model-server.ts";
import type { Network, Program } from "./network.ts";

export const SESSION = "s";

const RECORD: EntryRecord = {
  id: SESSION,
  cwd: "/",
  agent: "a",
  created: 0,
  updated: 0,
  notes: {},
};

export interface ModelWorkerOptions {
  readonly network: Network;
  readonly server: ModelServer;
  readonly disk: ModelDisk;
  /** Name of the process. */
  readonly name: string;
  readonly isAlive: (holder: string) => boolean;
  /** An event was acknowledged: its number and line. */
  readonly acknowledged: (worker: ModelWorker, number: number, line: string) => void;
  /** Something was found that must not happen. */
  readonly violated: (violation: Violation) => void;
}

/**
 * A process of a worker. It runs the real protocol (`Ownership`, `EventPublisher`, `catchUp`); only the
 * server, the network and the disk are models.
 */
export class ModelWorker implements Program {
  readonly name: string;
  isDead = false;
  isPaused = false;
  /** The session, while this worker believes that it holds it. */
  held: { claim: Claim; readonly publisher: EventPublisher } | undefined;
  isBusy = false;
  readonly #options: ModelWorkerOptions;
  readonly #ownership: Ownership;
  readonly #journal: Journal;
  #refusals = 0;
  #said = 0;

  constructor(options: ModelWorkerOptions) {
    this.#options = options;
    this.name = options.name;
    const { network, server, disk, name, isAlive } = options;
    const records: Records = {
      get: () => network.call(this, () => server.get()),
      put: (_id, entry, revision) => network.call(this, () => server.put(name, entry, revision)),
    };
    this.#journal = {
      publish: (_id, message, after) =>
        network.call(this, () => server.publish(name, message, after)),
      last: () => network.call(this, () => server.last()),
      read: (_id, from, to) => readLater(() => network.call(this, () => server.read(from, to))),
      purge: (_id, before) => network.call(this, () => server.purge(before)),
    };
    const pause = (): Promise<void> => network.wait(this);
    const { node } = disk;
    const others = (holder: string): boolean => isAlive(holder);
    this.#ownership = new Ownership({
      ...{ records, journal: this.#journal, holder: name, node, isAlive: others, pause },
    });
  }

  create(): void {
    this.#run(async () => this.#begin(await this.#ownership.create(RECORD), false));
  }

  /** As a gateway asks it to: takes the session if nobody alive seems to hold it. */
  open(): void {
    this.#run(async () => this.#begin(await this.#ownership.take(SESSION), false));
  }

  /** Appends an event to the local log, and publishes it. */
  append(isLarge: boolean): void {
    const { held } = this;
    if (held === undefined) return;
    const { disk, acknowledged } = this.#options;
    const line = `${held.claim.entry.born}/${this.name}/${++this.#said}${isLarge ? LARGE : ""}`;
    const number = disk.append(line);
    held.publisher.add({ first: number, last: number, lines: `${line}\n` }).then(
      () => acknowledged(this, number, line),
      () => {},
    );
  }

  describe(): void {
    const { held } = this;
    if (held === undefined) return;
    this.#run(async () => {
      const { bookmark = held.claim.entry.bookmark } = held.publisher;
      held.claim = await this.#ownership.write(held.claim, { record: RECORD, bookmark });
    });
  }

  release(): void {
    const { held } = this;
    if (held === undefined) return;
    this.#run(async () => {
      await held.publisher.drained();
      if (this.held !== held) return;
      this.held = undefined;
      await this.#ownership.write(held.claim, { holder: undefined });
    });
  }

  delete(): void {
    this.held?.publisher.stop(new Error("deleted"));
    this.held = undefined;
    this.#run(() => this.#ownership.delete(SESSION));
  }

  /** Takes the session once more if NATS has refused events. */
  retake(): void {
    if (this.#refusals === 0) return;
    this.#refusals = 0;
    this.#run(async () => this.#begin(await this.#ownership.take(SESSION), true));
  }

  async #begin(claim: Claim, isTailDropped: boolean): Promise<void> {
    const { disk, network, server } = this.#options;
    const publisher = await catchUp(
      {
        ...{ journal: this.#journal, replicas: disk, node: disk.node, claim, isTailDropped },
        mostBehind: 0,
        publishing: {
          mostBytes: 24,
          pause: () => network.wait(this),
          failed: (error) => this.#failed(error),
        },
      },
      0,
    );
    // Nobody else can have added events since, unless this worker was replaced meanwhile.
    const isCurrent = server.last()?.epoch === claim.epoch;
    // Earlier events than it has, it reads from the server.
    const opened = disk.lines.map((line, at) => line ?? server.events[at]);
    if (isCurrent && opened.join() !== server.events.join()) {
      const both = `${opened.join()} instead of ${server.events.join()}`;
      this.#options.violated(new Violation(`${this.name} has opened the session with ${both}`));
    }
    this.held = { claim, publisher };
  }

  #failed(error: Error): void {
    this.held = undefined;
    if (!(error instanceof FencedError)) this.#refusals++;
  }

  #run(work: () => Promise<void>): void {
    this.isBusy = true;
    work().then(
      () => (this.isBusy = false),
      (error: unknown) => {
        this.isBusy = false;
        if (error instanceof FencedError) this.held = undefined;
      },
    );
  }
}

/** Makes an event that fits into no message. */
const LARGE = "/large".repeat(6);

async function* readLater<T>(read: () => Promise<T[]>): AsyncGenerator<T> {
  yield* await read();
}
