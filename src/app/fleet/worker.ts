import { background } from "../../base/background.ts";
import { Checkpoints } from "../../fleet/checkpoints.ts";
import { FleetBudgets } from "../../fleet/fleet-budgets.ts";
import { answerNodes, serveNode } from "../../fleet/connection/node-server.ts";
import { serveJobs, WorkerSlots } from "../../fleet/members/job-server.ts";
import { nodeIdOf } from "../../fleet/ownership/node-id.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import type { AppContext } from "../../config/app-context.ts";
import { isPlan } from "../../run/run-plan.ts";
import { runsOn } from "../../server/dashboard/view/runs.ts";
import { LazyRuns } from "../../run/open/lazy-runs.ts";
import { LazySessions } from "../session/lazy-sessions.ts";
import { connectFleet, type Fleet } from "../../fleet/open/fleet.ts";
import { shareNode } from "./share-node.ts";
import { TrunklineError } from "../../base/errors.ts";
import { deletedElsewhere } from "../../fleet/store/deleted-elsewhere.ts";
import { WorkerStore } from "../../fleet/store/worker-store.ts";
import type { HeldSession, SessionStore } from "../../session/store.ts";
import { SessionReader } from "../../store/session/session-reader.ts";
import type {
  DeletedSession,
  SharedSessions,
  SharingOptions,
} from "../../session/open/session-sharing.ts";
import { TAKE_OVER_WITHIN } from "../../fleet/members/placer.ts";

/** Bytes of an answer's envelope. */
const ROOM = 4_096;

export interface WorkerOptions {
  readonly offer: Offer;
  readonly isTyped: boolean;
}

/** `trunkline worker`: holds sessions for the gateways of a pool. */
export async function openWorker(app: AppContext, { offer, isTyped }: WorkerOptions) {
  const { data, fleet: settings } = app.config;
  await using opening = new AsyncDisposableStack();
  const fleet = opening.use(await connectFleet(app, { role: "worker", isTyped }));
  const { connection, members, self } = fleet;
  let isDraining = false;
  let isDrained = false;
  let isEnding = false;
  const slots: WorkerSlots = opening.use(
    new WorkerSlots({
      slots: settings.slots,
      changed: () => {
        members.tell();
        jobs.wake();
      },
    }),
  );
  const shared = opening.use(await shareNode(app, fleet, { role: "worker", offer }));
  const jobs = opening.use(serveJobs({ members, slots, log: app.log }));
  const refuse = (): string | undefined => (isDraining ? "it is draining" : undefined);
  const sharing = workerSharing(app, fleet, slots, refuse);
  const { confirm } = sharing;
  const node = await nodeIdOf(data);
  const carried = new Checkpoints({ connection, node, confirm });
  const readRun = runsOn(data);
  const told = answerNodes(connection, self, "run", async (question) => {
    const { plan, setup } = question as { plan?: unknown; setup?: string };
    if (!isPlan(plan)) throw new Error("it is no plan of a run");
    const files = { ...(await readRun("", plan, setup)), node };
    const size = Buffer.byteLength(JSON.stringify(files));
    if (size < connection.maxPayload - ROOM) return files;
    const missing = `What it has changed is too large to be shown: ${size} bytes. Fetch its branch.`;
    return { node, missing };
  });
  opening.defer(() => told.unsubscribe());
  const runs = opening.use(new LazyRuns(app, carried));
  // Another worker may continue these runs, so nobody would ask this one to remove them.
  await runs.sweep(data);
  const sessions = opening.use(new LazySessions(app, { offer: async () => offer, runs, sharing }));
  await sessions.open();
  fleet.tells(() => ({
    used: slots.used,
    sessions: slots.open,
    warm: runs.repositories,
    isDraining,
    isDrained,
    ...shared.tools.state,
  }));
  const drained = Promise.withResolvers<void>();
  const asked = answerNodes(connection, self, "drain", () => {
    if (isDraining) return;
    isDraining = true;
    members.tell();
    const draining = sessions.opened().then(async (open) => {
      await open?.drain();
      // When the worker ends, its sessions are gone, too, but it was not drained.
      isDrained = !isEnding;
      return drained.resolve();
    });
    background(draining, "Draining");
  });
  opening.defer(() => {
    isEnding = true;
    asked.unsubscribe();
  });
  members.join();
  const opened = opening.move();
  return {
    fleet,
    /** Resolves once it was drained. */
    drained: drained.promise,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** A worker of a fleet has sessions open, and serves them to the gateways of its pool. */
function workerSharing(
  app: AppContext,
  fleet: Fleet,
  slots: WorkerSlots,
  refuse: () => string | undefined,
) {
  const { connection, isAlive, self, reach } = fleet;
  const { data } = app.config;
  let store: WorkerStore | undefined;

  async function open({ log, limits, lost }: SharingOptions): Promise<SharedSessions> {
    const opened = await WorkerStore.open({ connection, data, isAlive, lost, log });
    store = opened;
    const process = { connection, isAlive, holder: opened.holder, node: await nodeIdOf(data) };
    return {
      pool: new FleetBudgets(process),
      store: counted(opened, slots),
      database: opened.log.database,
      holder: opened.holder,
      holderOf: (id) => opened.holderOf(id),
      deletedElsewhere: () => deletedFrom(opened),
      openReader: () => SessionReader.open(data),
      letIn: async (serve) => {
        const server = serveNode({ connection, node: self, limits, log, serve, refuse });
        return { [Symbol.asyncDispose]: async () => server[Symbol.dispose]() };
      },
      [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
    };
  }

  return {
    holders: { reach, takeOverWithin: TAKE_OVER_WITHIN },
    open,
    confirm: async (sessionId: string): Promise<void> => store?.confirm(sessionId),
  };
}

async function* deletedFrom(store: WorkerStore): AsyncGenerator<DeletedSession> {
  for await (const { id, notes } of deletedElsewhere(store.log, store)) {
    yield { id, run: notes.run, drop: () => store.log.delete(id) };
  }
}

/** The store, where each session that is open takes a slot. */
function counted(store: WorkerStore, slots: WorkerSlots): SessionStore {
  const open = new Map<number, string>();
  const begun = async (holding: Promise<HeldSession>): Promise<HeldSession> => {
    const held = await holding;
    const { id } = held.record;
    if (!open.has(held.key)) slots.opened(id);
    open.set(held.key, id);
    return held;
  };
  return {
    create: (session) => begun(store.create(session)),
    fork: (from, session, upTo) => begun(store.fork(from, session, upTo)),
    hold: async (id) => {
      try {
        return await begun(store.hold(id));
      } catch (error) {
        slots.failed(id);
        throw error;
      }
    },
    release: async (key) => {
      const id = open.get(key);
      if (open.delete(key)) slots.closed(id);
      await store.release(key);
    },
    async confirm(id, isBehind) {
      try {
        await store.confirm(id);
      } catch (error) {
        // The session was told already that it is lost.
        if (error instanceof TrunklineError && error.code === "closed") return;
        // Without NATS this cannot be known, so this worker counts as the holder.
        if (!isBehind) return;
        const why = `Cannot find out whether session '${id}' is still open here.`;
        throw new TrunklineError("unavailable", `${why} Resume it again.`, { cause: error });
      }
    },
    append: (key, direction, text) => store.append(key, direction, text),
    describe: (key, change) => store.describe(key, change),
    find: (id) => store.find(id),
    list: (options) => store.list(options),
    openOf: (owner) => store.openOf(owner),
    read: (id, after) => store.read(id, after),
    delete: (id) => store.delete(id),
  };
}
