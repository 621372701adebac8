import type { Choices } from "./choices.ts";
import { ModelDisk } from "./model-disk.ts";
import { ModelServer, type Omission, Violation } from "./model-server.ts";
import { ModelWorker } from "./model-worker.ts";
import { Network } from "./network.ts";

/** What may happen in a run beside the fates of messages and timers. */
export interface Plan {
  readonly workers: number;
  readonly steps: number;
  /** Workers crash, are paused, and are taken for dead. */
  readonly faults: boolean;
  /** Sessions are deleted and created again, and NATS is full at times. */
  readonly lives: boolean;
  /** What workers do, in this order. By chance where it is left out. */
  readonly script?: readonly Act[];
}

export type Act = readonly [
  worker: number,
  act: "append" | "open" | "pause" | "wake" | "crash" | "release",
];

/** Turns of the microtask queue after each step: enough for most code to get to its next wait. */
const TURNS = 12;

const DONE = Promise.resolve();

/** One run of the model: workers, a gateway that sends sessions to them, and NATS between them. */
export class World {
  readonly #choices: Choices;
  readonly #plan: Plan;
  readonly #script: Act[] | undefined;
  readonly #network: Network;
  readonly #server: ModelServer;
  readonly #disks: ModelDisk[];
  readonly #workers: ModelWorker[] = [];
  /** Lines of acknowledged events, by number. */
  #acknowledged: (string | undefined)[] = [];
  #born = 0;
  #seen: readonly string[] = [];
  #processes = 0;
  #isCalm = false;
  #violation: Violation | undefined;
  acknowledgements = 0;

  constructor(choices: Choices, plan: Plan, omission: Omission) {
    this.#choices = choices;
    this.#plan = plan;
    this.#script = plan.script && [...plan.script];
    this.#network = new Network(choices);
    this.#server = new ModelServer(omission);
    this.#disks = Array.from({ length: plan.workers }, (_, at) => new ModelDisk(`n${at}`));
    for (const disk of this.#disks) this.#workers.push(this.#start(disk));
  }

  /** Returns what went wrong; undefined if nothing did. */
  async run(): Promise<Violation | undefined> {
    this.#workers[0]?.create();
    await this.#settle(40);
    for (let step = 0; step < this.#plan.steps && this.#violation === undefined; step++) {
      this.#step();
      await turns();
      this.#watch();
    }
    if (this.#violation === undefined) await this.#end();
    return this.#violation;
  }

  #step(): void {
    const choices = this.#choices;
    if (choices.weighted(2, 1) === 0 && this.#network.step(false)) return;
    if (this.#script !== undefined) {
      const [at, act] = this.#script.shift() ?? [];
      if (at !== undefined && act !== undefined) this.#act(at, act);
      else this.#network.step(false);
      return;
    }
    const at = choices.below(this.#workers.length);
    const worker = this.#workers[at] as ModelWorker;
    if (worker.isPaused) {
      if (choices.weighted(3, 1) === 1) worker.isPaused = false;
      return;
    }
    const act = choices.weighted(5, 3, 1, 1, 1, this.#plan.lives ? 3 : 1);
    if (act === 0) worker.append(choices.weighted(5, 1) === 1);
    else if (act === 4 && this.#plan.faults) this.#fault(at);
    else if (worker.isBusy) return;
    else if (act === 1) this.#act(at, "open");
    else if (act === 2) worker.describe();
    else if (act === 3) worker.release();
    else if (act === 5 && this.#plan.lives) this.#live(worker);
  }

  #act(at: number, act: Act[1]): void {
    const worker = this.#workers[at] as ModelWorker;
    if (act === "append") worker.append(false);
    else if (act === "open" && worker.held === undefined && !worker.isBusy) worker.open();
    else if (act === "pause") worker.isPaused = true;
    else if (act === "wake") worker.isPaused = false;
    else if (act === "release" && !worker.isBusy) worker.release();
    else if (act === "crash") {
      this.#crash(worker);
      this.#workers[at] = this.#start(this.#disks[at] as ModelDisk);
    }
  }

  #fault(at: number): void {
    const fault = this.#choices.below(3);
    if (fault === 0) this.#act(at, "crash");
    else if (fault === 1) this.#act(at, "pause");
    else this.#server.forget();
  }

  #live(worker: ModelWorker): void {
    const act = this.#choices.weighted(1, 2, 1, 2);
    if (act === 0) worker.delete();
    else if (act === 1) this.#server.isFull = !this.#server.isFull;
    else if (act === 2 && worker.held === undefined) worker.create();
    else if (act === 3) worker.retake();
  }

  #crash(worker: ModelWorker): void {
    worker.isDead = true;
    worker.held = undefined;
    this.#network.forget(worker);
  }

  #start(disk: ModelDisk): ModelWorker {
    return new ModelWorker({
      network: this.#network,
      server: this.#server,
      disk,
      name: `${disk.node}.${++this.#processes}`,
      isAlive: (holder) => this.#seemsAlive(holder),
      acknowledged: (worker, number, line) => this.#acknowledge(worker, number, line),
      violated: (violation) => (this.#violation ??= violation),
    });
  }

  /** Others are judged by their beats, and may be misjudged. */
  #seemsAlive(holder: string): boolean {
    const worker = this.#workers.find(({ name }) => name === holder);
    if (this.#isCalm) return false;
    if (this.#script !== undefined) return false;
    const isSilent = worker === undefined || worker.isPaused;
    return this.#choices.weighted(isSilent ? 3 : 1, isSilent ? 1 : 3) === 1;
  }

  #acknowledge(worker: ModelWorker, number: number, line: string): void {
    this.acknowledgements++;
    const { born = 0, deleted } = this.#server.entry ?? {};
    // The acknowledgement of an event of a session that was deleted meanwhile.
    if (deleted !== undefined || !line.startsWith(`${born}/`)) return;
    if (this.#server.events[number - 1] !== line) {
      const stored = this.#server.events[number - 1] ?? "nothing";
      const says = `Event ${number} of ${worker.name} is acknowledged as ${line}, and stored is ${stored}`;
      this.#violation ??= new Violation(says);
    }
    this.#acknowledged[number] = line;
  }

  /** A client of any gateway reads all the time: what it has seen stays. */
  #watch(): void {
    const { entry, events, violation } = this.#server;
    this.#violation ??= violation;
    const { born = 0 } = entry ?? {};
    if (born !== this.#born || entry?.deleted !== undefined) {
      this.#born = born;
      this.#acknowledged = [];
      this.#seen = [];
      return;
    }
    // Until the first message of the new epoch, the events are those of the deleted session.
    if ((this.#server.last()?.epoch ?? born) < born) return;
    for (const [at, line] of this.#seen.entries()) {
      if (events[at] !== line) {
        const now = events[at] ?? "nothing";
        this.#violation ??= new Violation(`Event ${at + 1} was ${line}, and is ${now}`);
      }
    }
    for (const line of events.slice(this.#seen.length)) {
      if (line.startsWith(`${born}/`)) continue;
      this.#violation ??= new Violation(`Event ${line} is not of the session born in ${born}`);
    }
    this.#seen = [...events];
  }

  /** Lets everything arrive, and opens the session once more. */
  async #end(): Promise<void> {
    this.#isCalm = true;
    this.#server.isFull = false;
    for (const worker of this.#workers) worker.isPaused = false;
    await this.#settle(5_000);
    if (this.#server.entry?.deleted !== undefined) return;
    this.#watch();
    const disk = this.#disks[0] as ModelDisk;
    for (const worker of this.#workers) this.#crash(worker);
    const last = this.#start(disk);
    this.#workers[0] = last;
    last.open();
    await this.#settle(5_000);
    last.append(false);
    const before = this.acknowledgements;
    await this.#settle(5_000);
    this.#watch();
    if (this.#violation !== undefined) return;
    if (this.acknowledgements === before)
      this.#violation = new Violation("The session cannot be used");
    for (const [number, line] of this.#acknowledged.entries()) {
      const stored = disk.lines[number - 1] ?? this.#server.events[number - 1];
      if (line === undefined || stored === line) continue;
      this.#violation ??= new Violation(`The acknowledged event ${number}, ${line}, is lost`);
    }
  }

  async #settle(most: number): Promise<void> {
    for (let step = 0; step < most && this.#violation === undefined; step++) {
      await turns();
      if (this.#network.step(true)) continue;
      // To read many messages takes more turns.
      const isBusy = this.#workers.some((worker) => worker.isBusy);
      for (let more = 0; more < (isBusy ? 100 : 3) && this.#network.isQuiet; more++) await turns();
      if (this.#network.isQuiet) return;
    }
  }
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await DONE;
}
