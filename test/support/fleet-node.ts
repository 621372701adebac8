import { randomUUID } from "node:crypto";

import { jetstreamManager } from "@nats-io/jetstream";

import { Log } from "../../src/base/log.ts";
import { FleetConnection } from "../../src/fleet/connection/connect.ts";
import type { NodeAddress } from "../../src/fleet/connection/node-server.ts";
import { type MemberChange, Members, type NodeState } from "../../src/fleet/members/members.ts";
import { type JobQueue, openJobQueue } from "../../src/fleet/members/job-queue.ts";
import { type JobServer, serveJobs, WorkerSlots } from "../../src/fleet/members/job-server.ts";
import { Placer } from "../../src/fleet/members/placer.ts";
import { subjectsOf } from "../../src/fleet/subjects.ts";

const SILENT = new Log("error", () => {});
export const FAST_BEATS = 50;

export const STATE: NodeState = {
  role: "worker",
  version: "1.2.3",
  slots: 0,
  used: 0,
  labels: {},
  warm: [],
  isDraining: false,
  sessions: 0,
  waiting: [],
};

/** A node with a connection of its own, in this process. It beats fast. */
export class FleetNode implements AsyncDisposable {
  readonly self: NodeAddress;
  readonly connection: FleetConnection;
  readonly members: Members;
  readonly changes: MemberChange[] = [];
  protected readonly ends = new AsyncDisposableStack();

  constructor(
    connection: FleetConnection,
    name: string,
    state: () => NodeState = () => STATE,
    beatEvery = FAST_BEATS,
    asks = false,
  ) {
    this.self = { id: `1-${randomUUID()}`, name };
    this.connection = this.ends.use(connection);
    const options = { connection, self: this.self, state, beatEvery, asks };
    this.members = this.ends.use(new Members(options));
    this.members.onChange((change) => this.changes.push(change));
  }

  static async open(
    url: string,
    name: string,
    state?: () => NodeState,
    beatEvery?: number,
  ): Promise<FleetNode> {
    const node = new FleetNode(await connectTo(url, name), name, state, beatEvery);
    node.members.join();
    return node;
  }

  /** The names of those that are alive. */
  get alive(): string[] {
    return this.members.alive.map(({ name }) => name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.ends[Symbol.asyncDispose]();
  }
}

export async function connectTo(url: string, name: string, pool = "p"): Promise<FleetConnection> {
  return await FleetConnection.open({ url, subjects: subjectsOf(pool), name });
}

export interface WorkerOptions {
  readonly slots: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly isDraining?: () => boolean;
  readonly version?: string;
}

export interface GatewayOptions {
  readonly most?: number;
  readonly longestWait?: number;
  readonly takeOverWithin?: number;
  readonly version?: string;
}

/** A worker that gives slots away, and opens no session in them. */
export class WorkerNode extends FleetNode {
  readonly slots: WorkerSlots;
  readonly jobs: JobServer;

  constructor(
    connection: FleetConnection,
    name: string,
    { slots: count, labels = {}, isDraining = () => false, version = STATE.version }: WorkerOptions,
  ) {
    const slots = new WorkerSlots({ slots: count, kept: 60_000, changed: () => this.#changed() });
    super(connection, name, () => ({
      ...STATE,
      slots: count,
      used: slots.used,
      labels,
      version,
      isDraining: isDraining(),
    }));
    const { members } = this;
    this.slots = this.ends.use(slots);
    this.jobs = this.ends.use(serveJobs({ members, slots, log: SILENT }));
    members.join();
  }

  static async start(url: string, name: string, options: WorkerOptions): Promise<WorkerNode> {
    return new WorkerNode(await connectTo(url, name), name, options);
  }

  #changed(): void {
    this.members.tell();
    this.jobs.wake();
  }
}

/** A gateway that places sessions. */
export class GatewayNode extends FleetNode {
  readonly queue: JobQueue;
  readonly placer: Placer;
  /** What it logs. */
  readonly lines: string[] = [];

  constructor(
    connection: FleetConnection,
    name: string,
    { most = 100, longestWait, takeOverWithin, version = STATE.version }: GatewayOptions,
  ) {
    super(connection, name, () => ({
      ...STATE,
      role: "gateway",
      version,
      waiting: this.queue.waiting,
    }));
    const { members, lines } = this;
    const log = new Log("info", (line) => lines.push(line));
    const queue = openJobQueue({ members, most, checkEvery: 100 });
    this.queue = this.ends.use(queue);
    this.placer = new Placer({ members, queue, longestWait, takeOverWithin, log });
    members.join();
  }

  static async start(
    url: string,
    name: string,
    options: GatewayOptions = {},
  ): Promise<GatewayNode> {
    return new GatewayNode(await connectTo(url, name), name, options);
  }
}

/** Requests in the stream. */
export async function queued({ connection }: FleetNode): Promise<number> {
  const manager = await jetstreamManager(connection.nats);
  return (await manager.streams.info(connection.subjects.jobs)).state.messages;
}

/** Takes all slots of a worker for sessions. */
export function fill({ slots }: WorkerNode): void {
  while (slots.open < slots.slots) slots.opened();
}
