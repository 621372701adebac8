import { atMost } from "../../base/abort.ts";
import { TrunklineError } from "../../base/errors.ts";
import { mayControl, OWNER, type Principal } from "../../base/principal.ts";
import type { Agent, ForeignPage, ForeignQuery } from "../agent.ts";
import { SessionError } from "../session-error.ts";
import type { SessionStore } from "../store.ts";
import { parsedJson } from "../../base/check.ts";

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

/** A session that an agent has begun itself, as it is listed, with our id by which it can be loaded. */
export type ListedForeign = ForeignPage["sessions"][number] & {
  readonly agent: string;
  /** The agent's id of it. */
  readonly theirs: string;
};

interface ForeignListQuery extends Pick<ForeignQuery, "cwd"> {
  /** Names of agents; all if left out. */
  readonly agents?: readonly string[] | undefined;
  readonly principal: Principal;
}

/** Milliseconds until an agent that does not answer is left out. Some need ten seconds to start. */
const PATIENCE = 30_000;
/** The most pages of a list: an agent may never end its list. */
const MOST_PAGES = 50;

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
      const why = "so it cannot use sessions that agents began themselves";
      throw new SessionError("permission-denied", `This token only observes, ${why}.`);
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

  /**
   * The lists of all agents that are asked, which answer at the same time, and why some of them gave none.
   */
  async list({ agents, cwd, principal }: ForeignListQuery) {
    this.check(principal);
    const known = await this.#known();
    const lists = await Promise.all(
      (agents ?? this.#options.names).map(async (agent) => {
        try {
          return { agent, found: await this.#all(agent, principal, cwd) };
        } catch (error) {
          return { agent, message: error instanceof Error ? error.message : String(error) };
        }
      }),
    );
    const sessions = lists.flatMap(({ agent, found = [] }) =>
      found.flatMap(({ id: theirs, ...session }): ListedForeign[] => {
        const id = foreignId({ agent, id: theirs });
        const isNew = id !== undefined && !known.has(`${agent}\n${theirs}`);
        return isNew ? [{ id, agent, theirs, ...session }] : [];
      }),
    );
    const problems = lists.flatMap(({ agent, message }) => {
      return message === undefined ? [] : [{ agent, message }];
    });
    return { sessions, problems };
  }

  async #all(name: string, principal: Principal, cwd?: string): Promise<ForeignPage["sessions"]> {
    const agent = await this.#options.agent(name, principal);
    return await atMost(PATIENCE, pagesOf(agent, { owner: principal.id, cwd }), () => {
      const says = `It did not answer within ${PATIENCE / 1000} seconds.`;
      return new TrunklineError("timeout", says);
    });
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

async function pagesOf(agent: Agent, query: ForeignQuery): Promise<ForeignPage["sessions"]> {
  const found: ForeignPage["sessions"][number][] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page++) {
    const list = await agent.list?.({ ...query, cursor });
    found.push(...(list?.sessions ?? []));
    cursor = list?.nextCursor;
    if (cursor === undefined) break;
  }
  return found;
}
