import { keepNewest } from "../../../base/limit/eviction.ts";
import { mayUseAll, type Principal } from "../../../base/principal.ts";
import type { Member, QueuedRequests } from "../../../fleet/members/members.ts";
import { queueName } from "../../../fleet/members/job-queue.ts";
import type { EntryChange, SessionMirror } from "../../../fleet/store/session-mirror.ts";
import type { FleetMove, FleetNode, FleetState } from "../fleet-api.ts";
import type { FleetCounts } from "../../http/metrics.ts";
import { askNode } from "../../../fleet/connection/node-server.ts";
import type { ReadRun, RunFiles } from "./runs.ts";
import type { Fleet } from "../../../fleet/open/fleet.ts";

const MOST_MOVES = 100;
/** Milliseconds in which a worker compares the files of a run. */
const ANSWERED_WITHIN = 30_000;
/** Processes, also ended ones, whose names are known. */
const MOST_SEEN = 1_000;

export type FleetView = ReturnType<typeof fleetView>;

/** The fleet as a gateway sees it: for its dashboard and its metrics. */
export function fleetView(fleet: Pick<Fleet, "connection" | "members" | "self">) {
  const { connection, members, self } = fleet;
  const ends = new DisposableStack();
  /** By the id of the process. */
  const seen = new Map<string, { name: string; since: number; wasDraining: boolean }>();
  /** The process that a node ran last, by the id of the node. */
  const processes = new Map<string, string>();
  const moves: FleetMove[] = [];
  let moved = 0;
  let mirror: SessionMirror | undefined;
  ends.defer(members.onChange(({ member }) => see(member)));

  /** Asks the worker that had the session of a run last for what it has of the run. */
  const readRun: ReadRun = async (session, plan, setup) => {
    const last = mirror?.get(session)?.node;
    const workers = members.alive.filter(({ role }) => role === "worker");
    const asked = workers.map(async (worker) => {
      const told = await askNode(connection, worker, "run", { plan, setup }, ANSWERED_WITHIN);
      const { node, ...files } = told as RunFiles & { readonly node: string };
      if (node !== last) throw new Error("It may have an earlier state of the run.");
      return files;
    });
    const missing = "The worker that has the files of this run does not answer";
    const next = "Ask again when it is back, or fetch the branch that was pushed";
    return await Promise.any(asked).catch(() => ({ missing: `${missing}. ${next}.` }));
  };

  function see({ id, name, isDraining }: Member): void {
    const known = seen.get(id) ?? { name, since: Date.now(), wasDraining: false };
    known.wasDraining ||= isDraining;
    seen.set(id, known);
    keepNewest(seen, MOST_SEEN);
  }

  function changed({ id, before, now }: EntryChange): void {
    if (now?.holder === undefined) return;
    if (before !== undefined && before.node !== now.node) {
      const from = before.holder ?? processes.get(before.node) ?? "";
      const left = seen.get(from);
      const why =
        before.holder !== undefined ? "lost" : left?.wasDraining === true ? "drained" : "closed";
      const to = seen.get(now.holder)?.name;
      moved++;
      moves.push({
        session: id,
        from: left?.name ?? nameless(before.node),
        to: to ?? nameless(now.node),
        at: Date.now(),
        why,
      });
      if (moves.length > MOST_MOVES) moves.shift();
    }
    processes.set(now.node, now.holder);
    keepNewest(processes, MOST_SEEN);
  }

  function nodeOf(member: Member): FleetNode {
    const { warm: _warm, tools: _tools, waiting: _waiting, ...shown } = member;
    const { since = Date.now() } = seen.get(member.id) ?? {};
    return { ...shown, since, role: member.role === "worker" ? "worker" : "gateway" };
  }

  return {
    readRun,
    /** Notices the moves of these sessions, and counts them. */
    follow(followed: SessionMirror): void {
      mirror = followed;
      ends.defer(mirror.onChange(changed));
    },
    /** The name of the pool, for those who may see the fleet. */
    poolFor: (principal: Principal) =>
      mayUseAll(principal) ? connection.subjects.pool : undefined,
    /** See `FleetConnection.problem`. */
    problem: () => connection.problem(),
    get state(): FleetState {
      return {
        pool: connection.subjects.pool,
        self: self.name,
        isConnected: connection.isConnected,
        nodes: members.alive.map((member) => nodeOf(member)),
        waiting: waitingIn(members.alive),
        moves: moves.toReversed(),
      };
    },
    get counts(): FleetCounts {
      const workers = members.alive.filter(({ role }) => role === "worker");
      const sum = (numbers: readonly number[]): number =>
        numbers.reduce((one, two) => one + two, 0);
      const free = workers.map(({ slots, used, isDraining }) =>
        isDraining ? 0 : Math.max(0, slots - used),
      );
      const held = mirror?.held() ?? [];
      const running = held.filter(({ record }) => typeof record.notes.turn === "string").length;
      return {
        isConnected: connection.isConnected,
        nodes: { gateway: members.alive.length - workers.length, worker: workers.length },
        slots: { used: sum(workers.map(({ used }) => used)), free: sum(free) },
        waiting: sum(waitingIn(members.alive).map(({ count }) => count)),
        moves: moved,
        sessions: { running, idle: held.length - running },
      };
    },
    [Symbol.dispose]: () => ends.dispose(),
  };
}

/** The requests of all gateways, by the labels that they ask for. */
function waitingIn(members: readonly Member[]): QueuedRequests[] {
  const queues = new Map<string, QueuedRequests>();
  for (const { labels, count } of members.flatMap(({ waiting }) => waiting)) {
    const name = queueName(labels);
    queues.set(name, { labels, count: (queues.get(name)?.count ?? 0) + count });
  }
  return [...queues.values()];
}

/** A node that ended before this gateway heard of it. */
function nameless(node: string): string {
  return `node ${node.slice(0, 8)}`;
}
