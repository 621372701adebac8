import { TrunklineError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import type { Agent } from "../session/agent.ts";
import { resolveSessionLimits } from "../session/limits.ts";
import { Sessions } from "../session/sessions.ts";
import { AuditLog } from "../store/audit-log.ts";
import { SessionLog } from "../store/session-log.ts";
import { SessionRules } from "../store/session-rules.ts";
import { agentIdentity } from "./agent-identity.ts";
import type { House } from "./house.ts";

export interface OpenSessionsOptions {
  /** Makes the agent that needs no configuration. */
  readonly builtIn?: (() => Promise<Agent>) | undefined;
}

/** Sessions, with all that they stand on. */
export interface OpenedSessions extends AsyncDisposable {
  readonly sessions: Sessions;
  readonly log: SessionLog;
  readonly rules: SessionRules;
}

/** Opens the sessions of the data folder. Agents are started when a session first needs them. */
export async function openSessions(
  house: House,
  options: OpenSessionsOptions = {},
): Promise<OpenedSessions> {
  const { data, limits } = house.config;
  await using opening = new AsyncDisposableStack();
  const log = opening.use(await SessionLog.open(data));
  const rules = new SessionRules(log.database);
  const report = (event: string, fields: Record<string, unknown>): void => {
    house.log.warn(event, fields);
  };
  const audit = opening.use(new AuditLog(data, { report }));
  const agents = opening.use(new Agents(house, options.builtIn));
  const sessions = opening.use(
    new Sessions({
      store: log,
      rules,
      agent: (name) => agents.get(name),
      limits: resolveSessionLimits(limits.messages),
      log: house.log,
      audit: (entry) => audit.record(entry),
    }),
  );
  const open = opening.move();
  return { sessions, log, rules, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

const BUILT_IN = "trunkline";

/** Whoever can work in sessions, by name. */
class Agents implements AsyncDisposable {
  readonly #house: House;
  readonly #builtIn: (() => Promise<Agent>) | undefined;
  readonly #made = new Map<string, Promise<Agent>>();

  constructor(house: House, builtIn: (() => Promise<Agent>) | undefined) {
    this.#house = house;
    this.#builtIn = builtIn;
  }

  get(name?: string): Promise<Agent> {
    const wanted = name ?? this.#usual();
    const known = this.#made.get(wanted);
    if (known !== undefined) return known;
    const made = this.#make(wanted);
    this.#made.set(wanted, made);
    made.catch(() => this.#made.delete(wanted));
    return made;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const made of this.#made.values()) {
      const agent = (await made.catch(() => undefined)) as Partial<AsyncDisposable> | undefined;
      await agent?.[Symbol.asyncDispose]?.();
    }
  }

  #usual(): string {
    const [only] = Object.keys(this.#house.config.agents);
    return this.#builtIn === undefined && only !== undefined ? only : BUILT_IN;
  }

  async #make(name: string): Promise<Agent> {
    const { config, log } = this.#house;
    const settings = Object.hasOwn(config.agents, name) ? config.agents[name] : undefined;
    if (settings !== undefined) {
      const { ExternalAgent } = await import("../agent/external-agent.ts");
      const actsAs = agentIdentity(this.#house, settings.identity);
      return new ExternalAgent({ name, ...settings, actsAs, limits: config.limits.messages, log });
    }
    if (name === BUILT_IN && this.#builtIn !== undefined) return this.#builtIn();
    throw unknownAgent(name, Object.keys(config.agents), this.#builtIn !== undefined);
  }
}

function unknownAgent(name: string, configured: readonly string[], hasBuiltIn: boolean): Error {
  const names = hasBuiltIn ? [BUILT_IN, ...configured] : configured;
  const [near] = suggest(name, names);
  const hint = near === undefined ? "" : ` Did you mean '${near}'?`;
  const list =
    names.length === 0
      ? "None is configured: name one under `agents`."
      : `There are: ${names.join(", ")}.`;
  return new TrunklineError("not-found", `Cannot find agent '${name}'.${hint} ${list}`);
}
