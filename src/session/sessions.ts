import { TaskQueue } from "../base/limit/task-queue.ts";
import { belongingTo } from "../base/background.ts";
import { defined } from "../base/defined.ts";
import { isDiskFull, TrunklineError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { limitRefusal, mayControl, mayUseAgent, OWNER, type Principal } from "../base/principal.ts";
import { agentOptions } from "./agent-options.ts";
import type { Agent, AgentOpenOptions, AgentSession, SessionSettings } from "./agent.ts";
import type { Budgets } from "./budget/budgets.ts";
import type { SessionClient } from "./client/client.ts";
import {
  type ForeignName,
  type ForeignOptions,
  ForeignSessions,
  readForeignId,
} from "./foreign/foreign-sessions.ts";
import {
  movedAway,
  notHeld,
  SessionError,
  stopping,
  unknownSession,
  withoutSystemPrompt,
} from "./session-error.ts";
import { firstNotes, type Notes } from "./session-notes.ts";
import type { SessionSetup } from "./session-setup.ts";
import { expired, Session, type SharedOptions } from "./session.ts";
import type { HeldSession, ListedSession, SessionRecord, SessionStore } from "./store.ts";
import { endOfPrompt, type EndOfTurn, type SentPrompt } from "./turn/end-of-prompt.ts";
import { recover } from "./turn/recover.ts";
import { giveWorkplace, workplaceOf, type Workplaces } from "./workplace.ts";

interface SessionsOptions extends SharedOptions {
  /**
   * Finds an agent by name, or the default agent. `run` is the one of the session's setup, or its `Visitor`.
   */
  readonly agent: (name: string | undefined, run: unknown) => Agent | Promise<Agent>;
  /** Which agents have sessions of their own, and who may use those. */
  readonly foreign?: Pick<ForeignOptions, "names" | "allows">;
  /** Creates the work trees of sessions that have one. */
  readonly workplaces?: Workplaces;
  /**
   * Removes what other parts store of a session that is deleted. Returns the branch on which its work is
   * kept, if there is one.
   */
  readonly forget?: (id: string, run: unknown) => Promise<string | undefined>;
  /** A new session in a folder has begun, and its agent offers these settings. */
  readonly begun?: (agent: string, settings: SessionSettings) => void;
}

/** A page of the list of sessions, the last used first. */
interface SessionPage {
  readonly sessions: SessionRecord[];
  readonly nextCursor?: string;
}

/** ACP session-list: whether sessions are listed that were archived. */
type ArchiveFilter = "exclude" | "include" | "only";

const PAGE = 100;

export async function readPage(
  store: Pick<SessionStore, "list">,
  { cwd, cursor, owner }: Readonly<Record<"cwd" | "cursor" | "owner", string | undefined>>,
): Promise<SessionPage> {
  const after = cursor === undefined ? undefined : readCursor(cursor);
  const listed = await store.list({ limit: PAGE + 1, after, cwd, owner });
  const sessions = listed.slice(0, PAGE);
  const last = sessions.at(-1);
  if (listed.length <= PAGE || last === undefined) return { sessions };
  return { sessions, nextCursor: `${last.updated}.${last.id}` };
}

/**
 * A cursor names the last session of a page instead of a count: sessions that were used since have moved to
 * the front.
 */
function readCursor(cursor: string): ListedSession {
  const [, updated, id] = /^(\d{1,15})\.([0-9a-f-]{36})$/.exec(cursor) ?? [];
  if (updated !== undefined && id !== undefined) return { updated: Number(updated), id };
  const given = cursor.slice(0, 64);
  throw new TrunklineError("usage", `'params.cursor' is not a cursor of this list: '${given}'`);
}

/** Removes what a session has beside its record, such as a workspace. */
type Cleanup = () => Promise<unknown>;

/** Sessions whose agent did not start, and which are still to be deleted with all that belongs to them. */
export class UnstartedSessions {
  readonly #store: SessionStore;
  readonly #log: Log;
  readonly #forgets = new Map<string, Cleanup>();

  constructor(store: SessionStore, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  get ids(): readonly string[] {
    return [...this.#forgets.keys()];
  }

  has(id: string): boolean {
    return this.#forgets.has(id);
  }

  async delete(id: string, forget: Cleanup): Promise<void> {
    this.#forgets.set(id, forget);
    await this.deleteAll();
  }

  /**
   * Deletes them. Failures are retried with the next call. The record is deleted last, so that the rest is
   * found if we are killed.
   */
  async deleteAll(): Promise<void> {
    for (const [id, forget] of this.#forgets) {
      try {
        await forget();
        await this.#store.delete(id);
        this.#forgets.delete(id);
      } catch (error) {
        this.#log.warn("session.not-deleted", { session: id, error });
      }
    }
  }
}

interface SessionRoomOptions {
  /** Sessions that a principal may have open at once; undefined where there is no limit. */
  readonly limitOf: (principal: Principal) => number | undefined;
  /** Ids of a principal's sessions that any process has open. */
  readonly openOf: (owner: string) => Promise<readonly string[]>;
  /** Runs the work while no other process opens a session of the owner. */
  readonly alone?: Budgets["alone"];
  /** Sessions that are open in this process. */
  readonly open: ReadonlyMap<string, Session>;
  /** Closes a session, which can be opened again. */
  readonly putAway: (session: Session) => Promise<void>;
}

/** Milliseconds without a client after which a session may be put away: a new one has none yet. */
const IDLE = 1_000;

/** Holds each principal to the number of sessions that it may have open. */
export class SessionRoom {
  readonly #options: SessionRoomOptions;
  /** Openings of a principal come one after another, so that two do not take the last place. */
  readonly #queue = new TaskQueue();

  constructor(options: SessionRoomOptions) {
    this.#options = options;
  }

  /**
   * Runs `hold`, which opens a session, if the principal may have one more. A session that nobody is
   * attached to and that has no running turn gives up its place.
   */
  async take<T>(principal: Principal, hold: () => Promise<T>): Promise<T> {
    const limit = this.#options.limitOf(principal);
    if (limit === undefined) return await hold();
    const open = async (): Promise<T> => {
      await this.#makeRoom(principal, limit);
      return await hold();
    };
    const { alone = (_, work) => work() } = this.#options;
    return await this.#queue.run(() => alone(principal.id, open), principal.id);
  }

  async #makeRoom(principal: Principal, limit: number): Promise<void> {
    const { openOf, open, putAway } = this.#options;
    for (;;) {
      const ids = await openOf(principal.id);
      if (ids.length < limit) return;
      const [idlest] = ids
        .flatMap((id) => open.get(id) ?? [])
        .filter((session) => session.idleFor > IDLE)
        .toSorted((one, other) => other.idleFor - one.idleFor);
      if (idlest === undefined) throw full(principal, ids.length, limit);
      await putAway(idlest);
    }
  }
}

function full(principal: Principal, count: number, limit: number): TrunklineError {
  const setting =
    principal.limits?.concurrent === undefined
      ? "`sessions.concurrent` raises the limit"
      : "the limit is that of the access token (--concurrent)";
  const open = count === 1 ? "1 session is open" : `${count} sessions are open`;
  const why = `${open}, and ${limit} may be. Close one; ${setting}`;
  return new TrunklineError("limit", `Cannot open another session: ${why}.`);
}

/** All sessions: those that are open here, and those in the store. */
export class Sessions implements AsyncDisposable {
  readonly #options: SessionsOptions;
  readonly #open = new Map<string, Session>();
  /** Sessions whose agent is being started. */
  readonly #beginning = new Map<Session, Promise<AgentSession>>();
  readonly #opening = new Map<string, Promise<Session>>();
  /** Sessions that are being closed; they can be opened again once that is done. */
  readonly #closing = new Map<string, Promise<unknown>>();
  /** Sessions that agents have begun themselves. */
  readonly foreign: ForeignSessions;
  readonly #unstarted: UnstartedSessions;
  readonly #room: SessionRoom;
  readonly #sweeper: NodeJS.Timeout;
  #isClosed = false;

  constructor(options: SessionsOptions) {
    this.#options = options;
    const { store, log, budgets } = options;
    const { idle } = options.limits;
    this.foreign = new ForeignSessions({
      ...(options.foreign ?? { names: [], allows: "off" }),
      store,
      agent: (name, principal) => this.agentFor(name, principal, undefined),
    });
    this.#unstarted = new UnstartedSessions(store, log);
    this.#room = new SessionRoom({
      limitOf: (principal) => budgets?.concurrentFor(principal),
      openOf: (owner) => store.openOf(owner),
      alone: budgets?.alone,
      open: this.#open,
      putAway: (session) => this.#closeOpen(session.id, session),
    });
    this.#sweeper = setInterval(() => this.#sweep(idle), Math.max(1_000, idle / 10)).unref();
  }

  get size(): number {
    return this.#open.size;
  }

  /** The sessions that are open in this process. */
  get all(): Session[] {
    return [...this.#open.values()];
  }

  async create(setup: SessionSetup, agentName?: string, principal = OWNER): Promise<Session> {
    const { run } = setup;
    const agent = await this.agentFor(agentName, principal, run);
    const notes = run === undefined ? {} : { run };
    return await this.#create(crypto.randomUUID(), agent, setup, principal, notes);
  }

  async #create(
    id: string,
    agent: Agent,
    setup: SessionSetup,
    principal: Principal,
    more: object,
  ): Promise<Session> {
    const notes = { ...firstNotes(setup, principal), ...more };
    const created = { id, cwd: setup.cwd, agent: agent.name, notes };
    const held = await this.#room.take(principal, () => this.#options.store.create(created));
    return await this.#beginNew(held, agent, setup, false);
  }

  /** A session that is open in this process. */
  get(id: string): Session | undefined {
    return this.#open.get(id);
  }

  /** The open session, unless another process has taken it; for a client that was shown `seen` events. */
  async current(id: string, seen: number): Promise<Session | undefined> {
    const open = this.#open.get(id);
    if (open !== undefined) await this.#options.store.confirm?.(id, seen > open.last);
    return this.#open.get(id);
  }

  /** The open session, or throws why it cannot be used. */
  async need(id: string): Promise<Session> {
    const session = this.#open.get(id);
    if (session !== undefined) return session;
    const opening = this.#opening.get(id);
    if (opening !== undefined) return opening;
    const { store } = this.#options;
    if ((await store.find(id)) === undefined) throw unknownSession(id);
    await store.refuseMoved?.(id).catch((error: unknown) => {
      throw notHeld(id, error);
    });
    throw expired(id);
  }

  /** Whether this principal owns the session. A deleted one has no owner, so anyone may ask for it. */
  async isOf(id: string, owner: string): Promise<boolean> {
    const session = this.#open.get(id);
    if (session !== undefined) return (session.notes.owner ?? "") === owner;
    const record = await this.#options.store.find(id);
    if (record === undefined) return this.foreign.isOpenToAll(id);
    return record.isDeleted || (record.notes.owner ?? "") === owner;
  }

  /** The stored setup of a session if the client has no choice: of a remote run, and for who only watches. */
  async fixedSetup(id: string, principal: Principal): Promise<SessionSetup | undefined> {
    const record = await this.#options.store.find(id);
    if (record === undefined) return undefined;
    const { cwd, notes } = record;
    if (notes.run === undefined && mayControl(principal)) return undefined;
    return { cwd, additionalDirectories: [], mcpServers: [], run: notes.run };
  }

  /** How the turn of a prompt ended that was sent after an event; undefined if it never began. */
  endOfPrompt(id: string, prompt: SentPrompt, after: number): Promise<EndOfTurn | undefined> {
    return endOfPrompt(this.#options.store, id, prompt, after);
  }

  /** Opens a stored session, or returns the one that is open. */
  async open(id: string, setup: SessionSetup, principal = OWNER): Promise<Session> {
    const session = this.#open.get(id);
    if (session !== undefined) return session;
    const opening = this.#opening.get(id) ?? this.#reopen(id, setup, principal);
    this.#opening.set(id, opening);
    return await opening.finally(() => this.#opening.delete(id));
  }

  /** Creates a session with a copy of another's events, up to `upTo`. */
  async fork(
    from: string,
    setup: SessionSetup,
    upTo?: number,
    principal = OWNER,
  ): Promise<Session> {
    const record = await this.#options.store.find(from);
    if (record === undefined || record.isDeleted) throw unknownSession(from);
    if ((record.notes.run ?? record.notes.visitor) !== undefined) {
      const says = "A remote run, or a session that has moved here, cannot be forked.";
      throw new TrunklineError("usage", `${says} Begin another one.`);
    }
    const agent = await this.agentFor(record.agent, principal, undefined);
    const { chosen, labels } = record.notes;
    const parent = workplaceOf(record.notes);
    const worktree = setup.worktree ?? (parent && { base: parent.branch });
    const forked = {
      id: crypto.randomUUID(),
      cwd: setup.cwd,
      agent: agent.name,
      parent: from,
      ...(record.title === undefined ? {} : { title: record.title }),
      notes: { ...firstNotes(setup, principal), ...defined({ chosen, labels }) },
    };
    const { store } = this.#options;
    const held = await this.#room.take(principal, () => store.fork(from, forked, upTo));
    return this.#beginNew(held, agent, { ...setup, worktree }, true);
  }

  /** A page of the list of sessions, the last used first. */
  async list(
    cwd?: string,
    cursor?: string,
    owner?: string,
    archived: ArchiveFilter = "exclude",
  ): Promise<SessionPage> {
    // A session may be deleted while the list that contains it is read.
    const unstarted = new Set(this.#unstarted.ids);
    this.#unstarted.deleteAll().catch(() => {});
    const page = await readPage(this.#options.store, { cwd, cursor, owner });
    const sessions = page.sessions.filter(
      ({ id, notes }) =>
        !unstarted.has(id) &&
        !this.#unstarted.has(id) &&
        (archived === "include" || (archived === "only") === (notes.archived === true)),
    );
    return { ...page, sessions };
  }

  async close(id: string): Promise<void> {
    await this.#closeOpen(id, await this.need(id));
  }

  /** Returns the branch on which the work of a session with a work tree is kept. */
  async delete(id: string): Promise<string | undefined> {
    const session = this.#open.get(id);
    if (session !== undefined) await this.#closeOpen(id, session);
    const { store, forget } = this.#options;
    const isOurs = await this.#holdBriefly(id);
    const { run, visitor } = (await store.find(id))?.notes ?? {};
    const branch = await forget?.(id, run ?? visitor);
    // Deleting has freed some space on a full disk.
    if (!isOurs) await this.#holdBriefly(id);
    await store.delete(id);
    return branch;
  }

  /** Gives a session a title that its agent does not replace. */
  async setTitle(id: string, title: string): Promise<void> {
    const session = this.#open.get(id);
    if (session !== undefined) return await session.setTitle(title);
    await this.#describe(id, { isTitled: true }, title);
  }

  /** Leaves a session out of the list, or puts it back. It is closed if it is open. */
  async archive(id: string, isArchived: boolean): Promise<void> {
    const session = this.#open.get(id);
    if (session !== undefined && isArchived) await this.#closeOpen(id, session);
    if (session !== undefined && !isArchived) return await session.keep({ archived: undefined });
    await this.#describe(id, { archived: isArchived ? true : undefined });
  }

  /** Whether some process has the session open. */
  async isOpen(id: string): Promise<boolean> {
    if (this.#open.has(id)) return true;
    const record = await this.#options.store.find(id);
    if (record === undefined || record.isDeleted) throw unknownSession(id);
    return record.isHeld;
  }

  async #describe(id: string, notes: Partial<Notes>, title?: string): Promise<void> {
    const { store } = this.#options;
    const { key, record } = await this.#hold(id);
    await using ends = new AsyncDisposableStack();
    ends.defer(() => store.release(key));
    const all = { ...record.notes, ...notes };
    await store.describe(key, { notes: all, ...(title === undefined ? {} : { title }) });
  }

  /** Detaches a client that has disconnected. Its turns continue. */
  forget(client: SessionClient): void {
    for (const session of this.#open.values()) session.detach(client);
  }

  /** Takes a session from a process that does not answer, so that it can be opened here. */
  async depose(id: string, holder: string): Promise<void> {
    await this.#options.store.depose?.(id, holder).catch((error: unknown) => {
      throw notHeld(id, error);
    });
  }

  /** Leaves a session that another process has taken over. Its turn and its agent end here. */
  async abandon(id: string): Promise<void> {
    const beginning = this.#beginning.keys().find((session) => session.id === id);
    const session = this.#open.get(id) ?? beginning;
    if (session !== undefined) await this.#closeOpen(id, session, "lost");
  }

  /**
   * Ends the sessions and turns of a principal whose access was revoked, and the processes that were
   * started for them. The stored events stay.
   */
  async endOf(owner: string): Promise<void> {
    const ends: Promise<void>[] = [];
    for (const session of this.#beginning.keys()) {
      if (session.owner === owner) ends.push(session.close("revoked"));
    }
    for (const [id, session] of this.#open) {
      if (session.owner === owner) ends.push(this.#closeOpen(id, session, "revoked"));
      else session.cancelFor(owner);
    }
    await Promise.allSettled(ends);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#sweeper);
    const stop = (sessions: Iterable<Session>): Promise<unknown> =>
      Promise.allSettled(Array.from(sessions, (session) => session.close("stopping")));
    // A session that is still beginning ends its agent's process, which may serve other sessions: those come
    // first.
    await stop(this.#open.values());
    await stop(this.#beginning.keys());
    await Promise.allSettled([
      ...this.#opening.values(),
      ...this.#closing.values(),
      ...this.#beginning.values(),
    ]);
    await stop(this.#open.values());
    this.#open.clear();
    await this.#unstarted.deleteAll();
  }

  async #closeOpen(
    id: string,
    session: Session,
    how: "wanted" | "revoked" | "lost" = "wanted",
  ): Promise<void> {
    const closing = session.close(how);
    this.#open.delete(id);
    this.#closing.set(id, closing);
    await closing.finally(() => this.#closing.delete(id));
  }

  /** Finds an agent. Throws if the principal may not use it. */
  async agentFor(name: string | undefined, principal: Principal, run?: unknown): Promise<Agent> {
    const agent = await this.#options.agent(name, run);
    if (mayUseAgent(principal, agent.name)) return agent;
    const why = limitRefusal(principal, `the agent '${agent.name}'`, `--agent ${agent.name}`);
    throw new SessionError("permission-denied", why);
  }

  async #reopen(id: string, setup: SessionSetup, principal: Principal): Promise<Session> {
    await this.#closing.get(id)?.catch(() => {});
    const foreign = readForeignId(id);
    if (foreign !== undefined && (await this.#options.store.find(id))?.isDeleted !== false) {
      return await this.#import(id, foreign, setup, principal);
    }
    const held = await this.#room.take(principal, () => this.#hold(id));
    try {
      const { agent: name, notes } = held.record;
      const agent = await this.agentFor(name, principal, notes.run ?? notes.visitor);
      return await this.#begin(held, agent, setup, true);
    } catch (error) {
      // If this fails, the store retries it. The first error says more.
      await this.#options.store.release(held.key).catch(() => {});
      throw error;
    }
  }

  /** Makes a session of ours from one that an agent has begun itself. */
  async #import(
    id: string,
    { agent: name, id: sessionId }: ForeignName,
    setup: SessionSetup,
    principal: Principal,
  ): Promise<Session> {
    this.foreign.check(principal);
    const agent = await this.agentFor(name, principal, undefined);
    const origin = { agent: name, sessionId, imported: new Date().toISOString() };
    return await this.#create(id, agent, setup, principal, { origin });
  }

  /** Throws if another process has the session open. False if nobody has, and the disk is full. */
  async #holdBriefly(id: string): Promise<boolean> {
    const { store } = this.#options;
    try {
      const { key } = await this.#hold(id);
      await store.release(key);
      return true;
    } catch (error) {
      if (isDiskFull(error) && (await store.find(id))?.isHeld === false) return false;
      throw error;
    }
  }

  async #hold(id: string): Promise<HeldSession> {
    return await this.#options.store.hold(id).catch((error: unknown) => {
      throw notHeld(id, error);
    });
  }

  /** ACP message specification § Session State Consistency: a session that cannot start is deleted again. */
  async #beginNew(
    held: HeldSession,
    agent: Agent,
    setup: SessionSetup,
    isOld: boolean,
  ): Promise<Session> {
    try {
      const placed = await giveWorkplace(this.#options, held, setup);
      const session = await this.#begin(placed, agent, setup, isOld);
      if (setup.run === undefined) this.#options.begun?.(agent.name, session.settings);
      return session;
    } catch (error) {
      const { id, notes } = held.record;
      await this.#unstarted.delete(id, async () => this.#options.forget?.(id, notes.run));
      throw error;
    }
  }

  async #begin(
    held: HeldSession,
    agent: Agent,
    setup: SessionSetup,
    isOld: boolean,
  ): Promise<Session> {
    if (this.#isClosed) throw stopping();
    if (setup.systemPrompt !== undefined && agent.takesSystemPrompt !== true) {
      throw withoutSystemPrompt(agent);
    }
    const { store, log } = this.#options;
    const { cwd } = setup;
    const session = new Session({ ...this.#options, held, cwd });
    const unanswered = await recover(store, session);
    const place = session.workplace;
    if (place !== undefined) await this.#options.workplaces?.open(session.id, place);
    const own = log.with({ session: session.id, agent: agent.name });
    const options = agentOptions(session, setup, agent, { store, log: own, isOld });
    const worker = await this.#openAgent(session, agent, options);
    session.begin(worker);
    if (unanswered !== undefined) session.askAgain(unanswered);
    this.#open.set(session.id, session);
    return session;
  }

  /** Starts the agent. It is disposed of again where nobody can use it any more. */
  async #openAgent(
    session: Session,
    agent: Agent,
    options: AgentOpenOptions,
  ): Promise<AgentSession> {
    // Disposal ends the agents that are starting by then, and waits for no later one.
    if (this.#isClosed) throw stopping();
    const opening = (async () => {
      const worker = await belongingTo({ session: session.id }, () => agent.open(options));
      if (!session.isOver && !this.#isClosed) return worker;
      await worker[Symbol.asyncDispose]();
      if (this.#isClosed) throw stopping();
      throw session.revoked.aborted ? expired(session.id) : movedAway(session.id);
    })();
    this.#beginning.set(session, opening);
    return await opening.finally(() => this.#beginning.delete(session));
  }

  #sweep(idle: number): void {
    this.#unstarted.deleteAll().catch(() => {});
    for (const [id, session] of this.#open) {
      if (session.idleFor < idle) continue;
      this.#closeOpen(id, session).catch((error: unknown) => {
        this.#options.log.warn("session.not-put-away", { session: id, error });
      });
    }
  }
}
