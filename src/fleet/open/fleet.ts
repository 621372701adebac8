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

export type Fleet = Awaited<ReturnType<typeof connectFleet>>;

/**
 * Connects this process to NATS as configured, as a node of a fleet that sees which others are alive.
 * The pool knows of it once `members.join` is called.
 */
export async function connectFleet({ config }: AppContext, { role, isTyped }: ConnectOptions) {
  const { url, pool, credentials, tls, slots, labels, replicas } = config.fleet;
  if (url === undefined) {
    const next = "Name it with --bus, or as `fleet.url` in the configuration";
    throw new TrunklineError("usage", `No NATS server is configured. ${next}.`);
  }
  await using opening = new AsyncDisposableStack();
  if (role !== "observer") opening.use(await lockFolder(config.data));
  const holder = opening.use(Holder.at(join(config.data, HOLDERS)));
  const name = config.fleet.name ?? (await defaultName(config.data));
  const self: NodeAddress = { id: holder.id, name };
  const connection = opening.use(
    await FleetConnection.open({
      ...{ url, isTyped, credentials, tls, name },
      subjects: subjectsOf(pool),
      ...(role === "gateway" ? { replicas } : {}),
    }),
  );
  const isWorker = role === "worker";
  let more: () => Partial<NodeState> = () => ({});
  const state = (): NodeState => ({
    ...{ role, version: VERSION, slots: isWorker ? slots : 0, used: 0 },
    ...{ labels: isWorker ? labels : {}, warm: [], isDraining: false, sessions: 0, waiting: [] },
    ...more(),
  });
  const members = opening.use(new Members({ connection, self, state, asks: role === "gateway" }));
  const ends = opening.move();
  return {
    connection,
    members,
    /** Its id is the one under which this process holds sessions. */
    self,
    /** Sets the parts of the node's state that the configuration does not have. */
    tells: (told: () => Partial<NodeState>): void => {
      more = told;
    },
    /**
     * Rejects if another node has this node's name and was there before: the reports of both would count as
     * one node's, and one of them would lose its audit and tools.
     */
    untilRefused: async (log: Log): Promise<never> => {
      const { member, wasFirst } = await members.twin;
      const what = `another ${member.role} of pool '${pool}' has that name`;
      if (!wasFirst) {
        log.error("fleet.same-name", { name: member.name, what });
        return await new Promise<never>(() => {});
      }
      // At once: closing takes time, and until then the other node would receive heartbeats of this one.
      members[Symbol.dispose]();
      const next = "Give each node a name of its own with --name or `fleet.name`";
      throw new TrunklineError("conflict", `Cannot be node '${member.name}': ${what}. ${next}.`);
    },
    /** Whether a process that holds sessions seems alive. */
    isAlive: (id: string): boolean => members.mayLive(id),
    /** Connects to the worker that holds a session. */
    reach: async (id: string, principal: Principal): Promise<Channel<string>> => {
      const member = await members.find(id);
      if (member !== undefined) {
        return await reachNode(connection, member, principal, { gone: members.untilGone(id) });
      }
      throw new TrunklineError("unavailable", "The worker that has the session open is gone.");
    },
    [Symbol.asyncDispose]: () => ends.disposeAsync(),
  };
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
