import { TrunklineError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { limitRefusal, OWNER, type Principal, mayUseAgent } from "../base/principal.ts";
import type {
  Agent,
  AgentOpenOptions,
  AgentSession,
  HistoryEntry,
  McpServer,
  Meta,
} from "./agent.ts";
import type { SessionClient } from "./client/client.ts";
import type { SessionLimits } from "./limits.ts";
import { recoverTurn } from "./turn/recover.ts";
import { historyOf } from "./turn/replay.ts";
import { expired, Session } from "./session.ts";
import { SessionError } from "./session-error.ts";
import type {
  HeldSession,
  ListedSession,
  RuleStore,
  SessionRecord,
  SessionStore,
} from "./store.ts";

export interface SessionsOptions {
  readonly store: SessionStore;
  readonly rules?: RuleStore;
  /**
   * Who works in sessions: by name, and whoever is meant when none is given. `run` is what the
   * session was placed with.
   */
  readonly agent: (name: string | undefined, run: unknown) => Agent | Promise<Agent>;
  readonly limits: SessionLimits;
  readonly log: Log;
  readonly audit?: (entry: object) => void;
  /** Removes what is kept elsewhere of a session that is deleted. */
  readonly forget?: (id: string, run: unknown) => Promise<void>;
}

/** Where a session works, and with what. */
export interface SessionSetup {
  readonly cwd: string;
  readonly additionalDirectories: readonly string[];
  readonly mcpServers: readonly McpServer[];
  readonly meta?: Meta | undefined;
  /** Of a remote run: what it runs on. It is kept with the session, and fits into JSON. */
  readonly run?: unknown;
}

const PAGE = 100;

/** All sessions of a house: those that are open, and those that are on disk. */
export class Sessions implements AsyncDisposable {
  readonly #options: SessionsOptions;
  readonly #open = new Map<string, Session>();
  /** Those whose agent is not there yet. */
  readonly #beginning = new Set<Session>();
  readonly #opening = new Map<string, Promise<Session>>();
  /** Those that are being put away: they cannot be opened before that is done. */
  readonly #closing = new Map<string, Promise<unknown>>();
  /** Those that could not be begun, and are to be deleted. */
  readonly #stillborn = new Set<string>();
  readonly #sweeper: NodeJS.Timeout;
  #isClosed = false;

  constructor(options: SessionsOptions) {
    this.#options = options;
    const { idle } = options.limits;
    this.#sweeper = setInterval(() => this.#sweep(idle), Math.max(1_000, idle / 10)).unref();
  }

  get size(): number {
    return this.#open.size;
  }

  async create(setup: SessionSetup, agentName?: string, principal = OWNER): Promise<Session> {
    const { run } = setup;
    const agent = await this.#agentFor(agentName, principal, run);
    const id = crypto.randomUUID();
    const held = await this.#options.store.create({
      id,
      cwd: setup.cwd,
      agent: agent.name,
      notes: {
        directories: setup.additionalDirectories,
        ...ownedBy(principal),
        ...(run === undefined ? {} : { run }),
      },
    });
    return this.#beginNew(held, agent, setup, false);
  }

  /** A session that is open here. */
  get(id: string): Session | undefined {
    return this.#open.get(id);
  }

  /** The same, or why it cannot be used. */
  async need(id: string): Promise<Session> {
    const session = this.#open.get(id);
    if (session !== undefined) return session;
    const opening = this.#opening.get(id);
    if (opening !== undefined) return opening;
    const record = await this.#options.store.find(id);
    throw record === undefined ? unknownSession(id) : expired(id);
  }

  /** Whether that is who began it. Of one that was deleted nobody knows. */
  async isOf(id: string, owner: string): Promise<boolean> {
    const session = this.#open.get(id);
    if (session !== undefined) return (session.notes.owner ?? "") === owner;
    const record = await this.#options.store.find(id);
    return record !== undefined && (record.isDeleted || (record.notes.owner ?? "") === owner);
  }

  /** Where a remote run works, whatever its client says; undefined of any other session. */
  async setupOfRun(id: string): Promise<SessionSetup | undefined> {
    const record = await this.#options.store.find(id);
    if (record?.notes.run === undefined) return undefined;
    const { cwd, notes } = record;
    return { cwd, additionalDirectories: [], mcpServers: [], run: notes.run };
  }

  /** Opens a session again, or gives the one that is open. */
  async open(id: string, setup: SessionSetup, principal = OWNER): Promise<Session> {
    const session = this.#open.get(id);
    if (session !== undefined) return session;
    const opening = this.#opening.get(id) ?? this.#reopen(id, setup, principal);
    this.#opening.set(id, opening);
    try {
      return await opening;
    } finally {
      this.#opening.delete(id);
    }
  }

  /** Begins a session with all that was said in another, up to an event. */
  async fork(
    from: string,
    setup: SessionSetup,
    upTo?: number,
    principal = OWNER,
  ): Promise<Session> {
    const record = await this.#options.store.find(from);
    if (record === undefined || record.isDeleted) throw unknownSession(from);
    if (record.notes.run !== undefined) {
      throw new TrunklineError("usage", "A remote run cannot be forked. Begin another one.");
    }
    const agent = await this.#agentFor(record.agent, principal, undefined);
    const { chosen } = record.notes;
    const forked = {
      id: crypto.randomUUID(),
      cwd: setup.cwd,
      agent: agent.name,
      parent: from,
      ...(record.title === undefined ? {} : { title: record.title }),
      notes: {
        directories: setup.additionalDirectories,
        ...(chosen ? { chosen } : {}),
        ...ownedBy(principal),
      },
    };
    const held = await this.#options.store.fork(from, forked, upTo);
    return this.#beginNew(held, agent, setup, true);
  }

  /** A page of what there is, the last used first. */
  async list(
    cwd?: string,
    cursor?: string,
    owner?: string,
  ): Promise<{ sessions: SessionRecord[]; nextCursor?: string }> {
    // One may be deleted while the list is read that has it.
    const stillborn = new Set(this.#stillborn);
    this.#discard().catch(() => {});
    const listed = await this.#options.store.list({
      limit: PAGE + 1,
      ...(cursor === undefined ? {} : { after: readCursor(cursor) }),
      ...(cwd === undefined ? {} : { cwd }),
      ...(owner === undefined ? {} : { owner }),
    });
    const page = listed.slice(0, PAGE);
    const sessions = page.filter(({ id }) => !stillborn.has(id) && !this.#stillborn.has(id));
    const last = page.at(-1);
    if (listed.length <= PAGE || last === undefined) return { sessions };
    return { sessions, nextCursor: `${last.updated}.${last.id}` };
  }

  async close(id: string): Promise<void> {
    await this.#putAway(id, await this.need(id));
  }

  async delete(id: string): Promise<void> {
    const session = this.#open.get(id);
    if (session === undefined) {
      // One that another process works in stays.
      const { key } = await this.#hold(id);
      await this.#options.store.release(key);
    } else {
      await this.#putAway(id, session);
    }
    const { run } = (await this.#options.store.find(id))?.notes ?? {};
    await this.#options.forget?.(id, run);
    await this.#options.store.delete(id);
  }

  /** The client is gone. Turns go on. */
  forget(client: SessionClient): void {
    for (const session of this.#open.values()) session.detach(client);
  }

  /**
   * Ends what somebody began who is no longer let in: sessions, turns, and whatever processes were
   * started for them. What was said stays.
   */
  async endOf(owner: string): Promise<void> {
    const ends: Promise<void>[] = [];
    for (const session of this.#beginning) {
      if (session.owner === owner) ends.push(session.close("revoked"));
    }
    for (const [id, session] of this.#open) {
      if (session.owner === owner) ends.push(this.#putAway(id, session, "revoked"));
      else session.cancelFor(owner);
    }
    await Promise.allSettled(ends);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#sweeper);
    await Promise.allSettled([...this.#opening.values(), ...this.#closing.values()]);
    await Promise.allSettled(Array.from(this.#open.values(), (it) => it.close("stopping")));
    this.#open.clear();
    await this.#discard();
  }

  async #putAway(
    id: string,
    session: Session,
    how: "wanted" | "revoked" = "wanted",
  ): Promise<void> {
    const closing = session.close(how);
    this.#open.delete(id);
    this.#closing.set(id, closing);
    try {
      await closing;
    } finally {
      this.#closing.delete(id);
    }
  }

  /** Throws where the principal may not use that agent. */
  async #agentFor(name: string | undefined, principal: Principal, run: unknown): Promise<Agent> {
    const agent = await this.#options.agent(name, run);
    if (mayUseAgent(principal, agent.name)) return agent;
    const why = limitRefusal(principal, `the agent '${agent.name}'`, `--agent ${agent.name}`);
    throw new SessionError("permission-denied", why);
  }

  async #reopen(id: string, setup: SessionSetup, principal: Principal): Promise<Session> {
    await this.#closing.get(id)?.catch(() => {});
    const held = await this.#hold(id);
    try {
      const { agent: name, notes } = held.record;
      const agent = await this.#agentFor(name, principal, notes.run);
      return await this.#begin(held, agent, setup, true);
    } catch (error) {
      // Where that fails the store goes on trying; why it could not be opened says more.
      await this.#options.store.release(held.key).catch(() => {});
      throw error;
    }
  }

  async #hold(id: string): Promise<HeldSession> {
    try {
      return await this.#options.store.hold(id);
    } catch (error) {
      if (!(error instanceof TrunklineError)) throw error;
      if (error.code === "not-found") throw unknownSession(id);
      const problem = error.code === "conflict" ? "session-locked" : "session-expired";
      if (error.code !== "conflict" && error.code !== "closed") throw error;
      throw new SessionError(problem, error.message, {}, { cause: error });
    }
  }

  /** Nothing was said in a session that cannot be begun: it is as if it had never been. */
  async #beginNew(
    held: HeldSession,
    agent: Agent,
    setup: SessionSetup,
    isOld: boolean,
  ): Promise<Session> {
    try {
      return await this.#begin(held, agent, setup, isOld);
    } catch (error) {
      const { id, notes } = held.record;
      await this.#options.forget?.(id, notes.run).catch((cause: unknown) => {
        this.#options.log.warn("session.not-forgotten", { session: id, error: cause });
      });
      this.#stillborn.add(id);
      await this.#discard();
      throw error;
    }
  }

  /** A store that fails is tried again when there is the next occasion. */
  async #discard(): Promise<void> {
    for (const id of [...this.#stillborn]) {
      try {
        await this.#options.store.delete(id);
        this.#stillborn.delete(id);
      } catch (error) {
        this.#options.log.warn("session.not-deleted", { session: id, error });
        return;
      }
    }
  }

  async #begin(
    held: HeldSession,
    agent: Agent,
    setup: SessionSetup,
    isOld: boolean,
  ): Promise<Session> {
    if (this.#isClosed) throw new TrunklineError("closed", "Trunkline is stopping");
    const { store, rules, limits, log, audit = () => {} } = this.#options;
    const { cwd, additionalDirectories, mcpServers, meta } = setup;
    const session = new Session({ store, rules, limits, log, held, cwd, audit });
    const { notes } = held.record;
    if (typeof notes.turn === "string") await recoverTurn(store, session, notes.turn);
    const worker = await this.#openAgent(session, agent, {
      sessionId: session.id,
      cwd,
      owner: session.owner,
      revoked: session.revoked,
      additionalDirectories,
      mcpServers,
      history: isOld ? pastOf(store, session) : undefined,
      chosen: notes.chosen ?? {},
      memory: notes.memory,
      remember: (memory) => session.remember(memory),
      log: log.with({ session: session.id, agent: agent.name }),
      ...(meta === undefined ? {} : { _meta: meta }),
      update: session.update,
    });
    session.begin(worker);
    this.#open.set(session.id, session);
    return session;
  }

  /** Its owner may be shut out while the agent starts, which then has nobody to work for. */
  async #openAgent(
    session: Session,
    agent: Agent,
    options: AgentOpenOptions,
  ): Promise<AgentSession> {
    this.#beginning.add(session);
    try {
      const worker = await agent.open(options);
      if (!session.revoked.signal.aborted) return worker;
      await worker[Symbol.asyncDispose]();
      throw expired(session.id);
    } finally {
      this.#beginning.delete(session);
    }
  }

  #sweep(idle: number): void {
    this.#discard().catch(() => {});
    for (const [id, session] of this.#open) {
      if (session.idleFor < idle) continue;
      this.#putAway(id, session).catch((error: unknown) => {
        this.#options.log.warn("session.not-put-away", { session: id, error });
      });
    }
  }
}

/** All that was said so far. It can be read again, where reading it fails. */
function pastOf(store: SessionStore, { id, last }: Session): AsyncIterable<HistoryEntry> {
  return { [Symbol.asyncIterator]: () => historyOf(store.read(id), last) };
}

/** Names the last session of a page, not a count: sessions used since then have moved to the front. */
function readCursor(cursor: string): ListedSession {
  const [, updated, id] = /^(\d{1,15})\.([0-9a-f-]{36})$/.exec(cursor) ?? [];
  if (updated !== undefined && id !== undefined) return { updated: Number(updated), id };
  const given = cursor.slice(0, 64);
  throw new TrunklineError("usage", `'params.cursor' is not one that was given: '${given}'`);
}

function ownedBy({ id }: Principal): { owner?: string } {
  return id === OWNER.id ? {} : { owner: id };
}

export function unknownSession(id: string): SessionError {
  return new SessionError("session-not-found", `There is no session '${id.slice(0, 64)}'.`);
}
