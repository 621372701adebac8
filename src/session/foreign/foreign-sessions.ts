import { setTimeout as delay } from "node:timers/promises";

import { TrunklineError } from "../../base/errors.ts";
import { mayControl, OWNER, type Principal } from "../../base/principal.ts";
import type { Agent, ForeignPage } from "../agent.ts";
import { SessionError } from "../session-error.ts";
import type { SessionStore } from "../store.ts";
import { objectIn, parsedJson } from "../../base/check.ts";

/** A session that an agent has begun itself, by that agent's name and id. */
export interface ForeignName {
  readonly agent: string;
  readonly id: string;
}

const FORM = /^agent\.([A-Za-z0-9_-]+)$/;
/** Characters. Ids become names of files. */
const LONGEST = 120;

/**
 * Our id of a session that an agent has begun itself. It says which session it is, so that every process
 * understands it, also after a restart. Undefined for an agent's id that is too long.
 */
export function foreignId({ agent, id }: ForeignName): string | undefined {
  if (agent.length + id.length > LONGEST || id === "") return undefined;
  const text = Buffer.from(JSON.stringify([agent, id])).toString("base64url");
  return `agent.${text}`;
}

/** Undefined for every other id. */
export function readForeignId(text: string): ForeignName | undefined {
  const [, encoded] = text.length > 1_000 ? [] : (FORM.exec(text) ?? []);
  if (encoded === undefined) return undefined;
  const value = parsedJson(Buffer.from(encoded, "base64url").toString("utf8"));
  const [agent, id] = Array.isArray(value) ? (value as readonly unknown[]) : [];
  const isName = typeof agent === "string" && typeof id === "string" && id !== "";
  return isName ? { agent, id } : undefined;
}

export interface ForeignOptions {
  readonly store: Pick<SessionStore, "list">;
  /** Finds an agent, and throws if the principal may not use it. */
  readonly agent: (name: string, principal: Principal) => Promise<Agent>;
  /** Names of the agents that may have sessions of their own. */
  readonly names: readonly string[];
  /** Who may see and continue them. */
  readonly allows: "owner" | "all" | "off";
}

/** A session that an agent has begun itself, as it is listed. */
export interface ListedForeign {
  /** Our id of it, by which it can be loaded. */
  readonly id: string;
  readonly agent: string;
  /** The agent's id of it. */
  readonly theirs: string;
  readonly cwd: string;
  readonly title?: string | undefined;
  readonly updatedAt?: string | undefined;
}

interface ForeignList {
  readonly sessions: readonly ListedForeign[];
  readonly nextCursor?: string | undefined;
  /** Agents that gave no list, and why. */
  readonly problems: readonly { readonly agent: string; readonly message: string }[];
}

interface ForeignQuery {
  /** Names of agents; all if left out. */
  readonly agents?: readonly string[] | undefined;
  readonly cwd?: string | undefined;
  readonly cursor?: string | undefined;
  readonly principal: Principal;
}

/** Milliseconds until an agent that does not answer is left out. Some need ten seconds to start. */
const PATIENCE = 30_000;
/** Cursors of agents, by their names; an agent without one is asked no more. */
type Cursors = Readonly<Record<string, string>>;

/** The sessions that agents have begun themselves, in a terminal for example. The agents list them. */
export class ForeignSessions {
  readonly #options: ForeignOptions;

  constructor(options: ForeignOptions) {
    this.#options = options;
  }

  /** Throws if the principal may not use sessions that other agents began. */
  check(principal: Principal): void {
    const { allows } = this.#options;
    // Taking one over starts the agent, and may write to its files.
    if (!mayControl(principal)) {
      const says =
        "This token only observes, so it cannot use sessions that agents began themselves.";
      throw new SessionError("permission-denied", says);
    }
    if (allows === "all" || (allows === "owner" && principal.id === OWNER.id)) return;
    const setting = "`sessions.foreign` in the configuration";
    const says = `Sessions that agents began themselves are ${allows === "off" ? "off" : "only for the owner"} (${setting}).`;
    throw new SessionError("permission-denied", says);
  }

  /** Whether such a session may be asked for by somebody who is not the owner. */
  isOpenToAll(id: string): boolean {
    return this.#options.allows === "all" && readForeignId(id) !== undefined;
  }

  /** A page of the lists of all agents that are asked, which answer at the same time. */
  async list({ agents, cwd, cursor, principal }: ForeignQuery): Promise<ForeignList> {
    this.check(principal);
    const cursors = cursor === undefined ? undefined : readCursor(cursor);
    const names = cursors ? Object.keys(cursors) : (agents ?? this.#options.names);
    const known = await this.#known();
    const pages = await Promise.all(
      names.map(async (agent) => {
        try {
          const page = await this.#page(agent, { cwd, cursor: cursors?.[agent], principal });
          return { agent, page };
        } catch (error) {
          return { agent, message: error instanceof Error ? error.message : String(error) };
        }
      }),
    );
    const sessions: ListedForeign[] = [];
    const next: Record<string, string> = {};
    for (const { agent, page } of pages) {
      if (page?.nextCursor !== undefined) next[agent] = page.nextCursor;
      for (const { id: theirs, ...session } of page?.sessions ?? []) {
        if (known.has(`${agent}\n${theirs}`)) continue;
        const id = foreignId({ agent, id: theirs });
        if (id !== undefined) sessions.push({ id, agent, theirs, ...session });
      }
    }
    return {
      sessions,
      nextCursor: Object.keys(next).length === 0 ? undefined : writeCursor(next),
      problems: pages.flatMap(({ agent, message }) => {
        return message === undefined ? [] : [{ agent, message }];
      }),
    };
  }

  async #page(name: string, query: Omit<ForeignQuery, "agents">): Promise<ForeignPage | undefined> {
    const { principal, cwd, cursor } = query;
    const agent = await this.#options.agent(name, principal);
    if (agent.list === undefined) return undefined;
    const late = delay(PATIENCE, undefined, { ref: false }).then(() => {
      const says = `It did not answer within ${PATIENCE / 1000} seconds.`;
      throw new TrunklineError("timeout", says);
    });
    return await Promise.race([agent.list({ owner: principal.id, cwd, cursor }), late]);
  }

  /** Sessions of agents that are ours already: we began or have taken over them. */
  async #known(): Promise<Set<string>> {
    const records = await this.#options.store.list();
    return new Set(
      records.map(({ agent, notes }) => {
        const { sessionId } = (notes.memory ?? {}) as { readonly sessionId?: unknown };
        return `${agent}\n${String(sessionId)}`;
      }),
    );
  }
}

/** Agents choose their cursors, so ours holds theirs. */
function writeCursor(cursors: Cursors): string {
  return `agents.${Buffer.from(JSON.stringify(cursors)).toString("base64url")}`;
}

/** Whether a cursor is one of these, and not one of our own list. */
export function isForeignCursor(cursor: string): boolean {
  return cursor.startsWith("agents.");
}

function readCursor(cursor: string): Cursors {
  const text = Buffer.from(cursor.slice("agents.".length), "base64url").toString("utf8");
  const value = objectIn(text);
  if (value !== undefined && Object.values(value).every(isText)) return value as Cursors;
  const given = cursor.slice(0, 64);
  throw new TrunklineError("usage", `'params.cursor' is not a cursor of this list: '${given}'`);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
