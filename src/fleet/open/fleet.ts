import { hostname } from "node:os";
import { join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Principal } from "../../base/principal.ts";
import { VERSION } from "../../base/version.ts";
import { FleetConnection } from "../connection/connect.ts";
import { type NodeAddress, reachNode } from "../connection/node-server.ts";
import { Members, type NodeState, type Role } from "../members/members.ts";
import { nodeIdOf } from "../ownership/node-id.ts";
import { subjectsOf } from "../subjects.ts";
import { FileLock } from "../../store/file-lock.ts";
import { Holder, HOLDERS } from "../../store/holder.ts";
import type { Channel } from "../../wire/channel.ts";
import type { AppContext } from "../../config/app-context.ts";

/** Milliseconds until a data folder counts as that of another node. */
const LONGEST_WAIT = 2_000;

export interface ConnectOptions {
  readonly role: Role;
  /** The address of NATS was typed on the command line. */
  readonly isTyped: boolean;
}

/** This process as a node of a fleet: its connection to NATS, and which other nodes are alive. */
export class Fleet implements AsyncDisposable {
  readonly connection: FleetConnection;
  readonly members: Members;
  /** Its id is the one under which this process holds sessions. */
  readonly self: NodeAddress;
  readonly #ends: AsyncDisposableStack;
  #state: () => Partial<NodeState> = () => ({});

  private constructor(
    connection: FleetConnection,
    self: NodeAddress,
    state: NodeState,
    ends: AsyncDisposableStack,
  ) {
    this.connection = connection;
    this.self = self;
    this.#ends = ends;
    const told = (): NodeState => ({ ...state, ...this.#state() });
    const asks = state.role === "gateway";
    this.members = ends.use(new Members({ connection, self, state: told, asks }));
  }

  /** Connects to NATS as configured. The pool knows of this node once `members.join` is called. */
  static async connect({ config }: AppContext, options: ConnectOptions): Promise<Fleet> {
    const { url, pool, credentials, tls, slots, labels, replicas } = config.fleet;
    if (url === undefined) {
      const next = "Name it with --bus, or as `fleet.url` in the configuration";
      throw new TrunklineError("usage", `No NATS server is configured. ${next}.`);
    }
    await using opening = new AsyncDisposableStack();
    if (options.role !== "observer") opening.use(await lockFolder(config.data));
    const holder = opening.use(Holder.at(join(config.data, HOLDERS)));
    const name = config.fleet.name ?? (await defaultName(config.data));
    const self = { id: holder.id, name };
    const connection = opening.use(
      await FleetConnection.open({
        url,
        isTyped: options.isTyped,
        credentials,
        tls,
        subjects: subjectsOf(pool),
        name,
        ...(options.role === "gateway" ? { replicas } : {}),
      }),
    );
    const isWorker = options.role === "worker";
    const state: NodeState = {
      role: options.role,
      version: VERSION,
      slots: isWorker ? slots : 0,
      used: 0,
      labels: isWorker ? labels : {},
      warm: [],
      isDraining: false,
      sessions: 0,
      waiting: [],
    };
    return new Fleet(connection, self, state, opening.move());
  }

  /** Sets what the node tells about itself beyond what the configuration says. */
  tells(state: () => Partial<NodeState>): void {
    this.#state = state;
  }

  /**
   * Rejects if another node has the name of this one and was there before: what both tell would count as
   * one node's, so that the audit of one is lost, and its tools.
   */
  async untilRefused(log: Log): Promise<never> {
    const { member, wasFirst } = await this.members.twin;
    const { pool } = this.connection.subjects;
    const what = `another ${member.role} of pool '${pool}' has that name`;
    if (!wasFirst) {
      log.error("fleet.same-name", { name: member.name, what });
      return await new Promise<never>(() => {});
    }
    // At once: closing takes time, and until then the other node would receive heartbeats of this one.
    this.members[Symbol.dispose]();
    const next = "Give each node a name of its own with --name or `fleet.name`";
    throw new TrunklineError("conflict", `Cannot be node '${member.name}': ${what}. ${next}.`);
  }

  /** Whether a process that holds sessions seems alive. */
  readonly isAlive = (holder: string): boolean => this.members.mayLive(holder);

  /** Connects to the worker that holds a session. */
  readonly reach = async (holder: string, principal: Principal): Promise<Channel<string>> => {
    const member = await this.members.find(holder);
    if (member !== undefined) {
      const gone = this.members.untilGone(holder);
      return await reachNode(this.connection, member, principal, { gone });
    }
    throw new TrunklineError("unavailable", "The worker that has the session open is gone.");
  };

  [Symbol.asyncDispose](): Promise<void> {
    return this.#ends.disposeAsync();
  }
}

/**
 * Two nodes must not share a data folder: each takes the events there that NATS has not acknowledged for
 * its own. Waits a little for a process that is ending.
 */
async function lockFolder(data: string): Promise<FileLock> {
  const path = join(data, "node.lock");
  try {
    return await FileLock.take(path, LONGEST_WAIT);
  } catch (error) {
    if (!FileLock.isTaken(path)) throw error;
    const why = "another gateway or worker of a fleet uses it";
    const next = "Give each node a folder of its own with --data";
    const says = `Cannot use the data folder '${data}': ${why}. ${next}.`;
    throw new TrunklineError("unavailable", says, { cause: error });
  }
}

/** The name of the machine, and a part of the node's id, since a machine may have several nodes. */
async function defaultName(data: string): Promise<string> {
  const machine = hostname()
    .split(".")[0]
    ?.replaceAll(/[^A-Za-z0-9_-]/g, "-");
  return `${(machine ?? "node").slice(0, 59)}-${(await nodeIdOf(data)).slice(0, 4)}`;
}
