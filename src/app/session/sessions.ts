import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { Journal } from "../../agent/files/journal.ts";
import { background } from "../../base/background.ts";
import { Backoff } from "../../base/limit/backoff.ts";
import { TurnRecorder } from "../../authorship/record-turns.ts";
import { KnownAgents } from "../../agent/known-agents.ts";
import { TrunklineError } from "../../base/errors.ts";
import { OWNER, scopeRefusal } from "../../base/principal.ts";
import { suggest } from "../../base/text/suggest.ts";
import { BUILT_IN } from "../../config/config.ts";
import { answerAt } from "../../protocol/acp/attach.ts";
import { AcpDoor } from "../../protocol/acp/door.ts";
import { AcpConversation } from "../../protocol/acp/serve.ts";
import type { TrafficRing } from "../../server/dashboard/traffic/traffic-ring.ts";
import type { AppContext } from "../../config/app-context.ts";
import { agentIdentity } from "../../identity/open/open-identities.ts";
import type { LazyRuns } from "../../run/open/lazy-runs.ts";
import { drainSessions, type ServedClient } from "../../session/open/drain-sessions.ts";
import { lazySandbox } from "../../sandbox/open/lazy-sandbox.ts";
import type { OpenBuiltInOptions } from "../../agent/open/built-in-agent.ts";
import { forgetDeleted } from "../../session/open/forget-deleted.ts";
import type { SessionSharing, SharedSessions } from "../../session/open/session-sharing.ts";
import { SessionWorktrees } from "../../session/open/session-worktrees.ts";
import { LazyTools } from "../tool/lazy-tools.ts";
import { gatewayAt } from "../../server/http/gateway-url.ts";
import { openNotifier } from "../../server/notify/open-notifier.ts";
import { repositoryAddresses } from "../../git/repository-addresses.ts";
import { openAudit } from "../tool/toolbox-parts.ts";
import { agentLogin } from "../door/agent-login.ts";
import type { AnswerParams, InitializeResult } from "../../protocol/acp/schema.gen.ts";
import type { Agent, SessionSettings } from "../../session/agent.ts";
import { Budgets } from "../../session/budget/budgets.ts";
import { resolveSessionLimits } from "../../session/limits.ts";
import { SessionError } from "../../session/session-error.ts";
import { isVisitor } from "../../session/workplace.ts";
import { Sessions } from "../../session/sessions.ts";
import { SessionRules } from "../../store/session/session-rules.ts";
import { SessionUsage } from "../../store/session/session-usage.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import { tapped } from "../../wire/channel/tapped.ts";

export interface OpenSessionsOptions {
  readonly sharing: SessionSharing;
  /** The offer for the built-in agent, if it is already open; otherwise one is opened. */
  readonly offer?: (() => Promise<Offer>) | undefined;
  /** Remote runs, if this process has them. */
  readonly runs?: LazyRuns | undefined;
  /** Sees the messages of clients and agents. */
  readonly traffic?: TrafficRing | undefined;
}

/** Sessions with their stores and agents, which end with them. */
export interface OpenedSessions extends AsyncDisposable {
  readonly sessions: Sessions;
  /** The id under which this process holds them. */
  readonly holder: string;
  /** Rejects if their store cannot be written. */
  readonly check: () => Promise<void>;
  /** See `SharedSessions.openReader`. */
  readonly openReader: SharedSessions["openReader"];
  /**
   * Answers a permission request for the owner, in whatever process the session is open. Throws
   * "unavailable" if that process cannot be reached, and otherwise if the answer does not count.
   */
  readonly answer: (answer: AnswerParams, by: string) => Promise<void>;
  /** Closes all sessions, each when its turn has ended, so that other processes can open them. */
  readonly drain: () => Promise<void>;
}

/** Opens the sessions of the data folder. Agents are started when a session first needs them. */
export async function openSessions(
  app: AppContext,
  options: OpenSessionsOptions,
): Promise<OpenedSessions> {
  const { data, limits, sessions: settings } = app.config;
  await using opening = new AsyncDisposableStack();
  const { sharing } = options;
  const shared = opening.use(
    await sharing.open({
      limits,
      log: app.log,
      lost: (id) => {
        app.log.warn("session.taken-over", { session: id });
        background(sessions.abandon(id), "Leaving a session that was taken over");
      },
    }),
  );
  const { store, database, holder } = shared;
  const audit = opening.use(openAudit(app));
  opening.defer(() => app.observers?.flush());
  const { offer = opening.use(new LazyTools(app)).offer } = options;
  const agents = opening.use(openAgents(app, { offer, audit }, holder, options.traffic));
  const notices = await openNotifier(app, process.env);
  if (notices !== undefined) opening.use(notices);
  const worktrees = new SessionWorktrees(app.config);
  const forget = async (id: string, run: unknown): Promise<string | undefined> => {
    const { kept } = await worktrees.remove(id);
    await new Journal(data, id).remove();
    if (run !== undefined) await options.runs?.remove(run);
    return kept;
  };
  const sessions: Sessions = opening.use(
    new Sessions({
      store,
      rules: new SessionRules(database),
      agent: (name, run) => {
        const isFree = isVisitor(run) && app.config.remote.sandbox === "unsafe-off";
        if (run === undefined || isFree) return agents.get(name);
        return needRuns(options).agent(agents.nameOf(name), run);
      },
      budgets: new Budgets({
        store: new SessionUsage(database),
        pool: shared.pool,
        session: settings.budget ?? {},
        day: settings.dailyBudget ?? {},
        concurrent: settings.concurrent,
        log: app.log,
      }),
      limits: resolveSessionLimits(limits.messages, { idle: settings.idle * 1000 }),
      log: app.log,
      audit: (entry) => audit.record(entry),
      foreign: { names: Object.keys(app.config.agents), allows: settings.foreign },
      workplaces: worktrees,
      permissions: settings.permissions,
      observer: app.observers?.turns,
      recorder: new TurnRecorder(data, app.log),
      notices,
      forget,
      begun: (name, offered) => agents.offered(name, offered),
    }),
  );
  const { deletedElsewhere: deleted } = shared;
  if (deleted !== undefined) opening.use(forgetDeleted({ deleted, forget, log: app.log }));
  const served = new Set<ServedClient>();
  opening.use(await letOthersIn(app, shared, { sessions, served }, options));
  if (store.refuseMoved !== undefined) opening.use(goOnMoving(app));
  const sweeping = worktrees.sweep(store, app.log);
  background(sweeping, "Putting away work trees of killed processes");
  // It uses the store.
  opening.defer(() => sweeping.catch(() => {}));
  const open = opening.move();
  return {
    sessions,
    holder,
    check: () => database.change(() => {}),
    openReader: () => shared.openReader(),
    answer: (answer, by) => answerAnywhere(answer, by, { sharing, sessions, shared }),
    drain: () => drainSessions(sessions, served),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** Goes on with moves that a kill has interrupted, until all are where they belong or the program stops. */
function goOnMoving({ config, log }: AppContext): AsyncDisposable {
  const stop = new AbortController();
  const go = async (): Promise<void> => {
    if (!existsSync(join(config.data, "moves"))) return;
    const [{ Mover }, { goOn }] = await Promise.all([
      import("../../session/open/move/mover.ts"),
      import("../../session/open/move/other-side.ts"),
    ]);
    const backoff = new Backoff(MOVE_AGAIN);
    for (let isLeft = true; isLeft && !stop.signal.aborted;) {
      {
        await using mover = await Mover.open(config, process.env);
        isLeft = await goOn(mover, gatewayAt);
      }
      if (isLeft) await delay(backoff.failed(), undefined, { ref: false, signal: stop.signal });
    }
  };
  const going = go().catch((error: unknown) => {
    if (!stop.signal.aborted) log.warn("session.not-moved", { error });
  });
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await going;
    },
  };
}

const MOVE_AGAIN = {
  firstWait: 5_000,
  longestWait: 600_000,
  mostFailures: Infinity,
  rest: 600_000,
};

interface SessionSources {
  readonly sharing: SessionSharing;
  readonly shared: SharedSessions;
  readonly sessions: Sessions;
}

async function answerAnywhere(
  answer: AnswerParams,
  by: string,
  { sharing, sessions, shared }: SessionSources,
): Promise<void> {
  const { sessionId, requestId, optionId } = answer;
  const session = sessions.get(sessionId);
  const who = { name: by, principal: OWNER };
  if (session !== undefined) return session.answer(requestId, optionId, who);
  const holder = await shared.holderOf(sessionId);
  if (holder === undefined || holder === shared.holder) {
    const why = "its session is no longer open";
    throw new SessionError("session-expired", `Cannot answer the permission request: ${why}.`);
  }
  return await answerAt(await sharing.holders.reach(holder, OWNER), answer, by);
}

/** Serves the open sessions to other processes. */
async function letOthersIn(
  app: AppContext,
  shared: SharedSessions,
  { sessions, served }: { sessions: Sessions; served: Set<ServedClient> },
  { sharing, runs, traffic }: OpenSessionsOptions,
): Promise<AsyncDisposable> {
  const { limits } = app.config;
  const door = new AcpDoor({
    sessions: async () => sessions,
    limits: limits.messages,
    ...agentLogin(app),
    reach: sharing.holders.reach,
    takeOverWithin: sharing.holders.takeOverWithin,
    addressesOf: repositoryAddresses,
    ...(runs === undefined
      ? {}
      : { setUpSession: (params, principal) => runs.place(params, principal) }),
  });
  const peer = app.withLimits(door.peerOptions);
  try {
    return await shared.letIn(async (own, principal) => {
      // Each door asks for the scope. A process that lets in whom its door would refuse is not believed.
      const refusal = scopeRefusal(principal, "sessions", "ACP");
      if (refusal !== undefined) throw new TrunklineError("untrusted", refusal);
      const tap = traffic?.connection("client", "client");
      const channel = tap === undefined ? own : tapped(own, tap);
      const conversation = new AcpConversation(door, channel, { peer, principal });
      const { client } = conversation;
      const one = { client, leave: () => channel.abort(new Error("Its sessions move elsewhere")) };
      served.add(one);
      await conversation.ended;
      served.delete(one);
      await conversation.close(0);
    });
  } catch (error) {
    // Sessions work without it, but other processes cannot join them.
    app.log.warn("session.not-reachable", { error });
    return { [Symbol.asyncDispose]: async () => {} };
  }
}

/** The agents that can work in sessions, by name, opened on first use. */
function openAgents(
  app: AppContext,
  builtIn: OpenBuiltInOptions,
  serves: string,
  traffic: TrafficRing | undefined,
) {
  const { config, log } = app;
  const known = new KnownAgents(config.data);
  const made = new Map<string, Promise<Agent>>();
  // What was kept last, by agent, and the last writing of it.
  const kept = new Map<string, string>();
  let keeping = Promise.resolve();

  /** Throws if there is none of that name. */
  function nameOf(name: string = config.agent.name): string {
    if (name === BUILT_IN || Object.hasOwn(config.agents, name)) return name;
    throw unknownAgent(name, [BUILT_IN, ...Object.keys(config.agents)]);
  }

  function get(name: string = config.agent.name): Promise<Agent> {
    return made.getOrInsertComputed(name, () => {
      const making = make(name);
      making.catch(() => made.delete(name));
      return making;
    });
  }

  /** Keeps what an agent offers to choose from. It works without that. */
  function offered(name: string, settings: SessionSettings): void {
    const text = JSON.stringify(settings);
    if (kept.get(name) === text) return;
    kept.set(name, text);
    keeping = keeping
      .then(() => known.keepSettings(name, config.agents[name], settings))
      .catch((error: unknown) => log.warn("agent.not-noted", { name, error }));
  }

  async function make(name: string): Promise<Agent> {
    const settings = Object.hasOwn(config.agents, name) ? config.agents[name] : undefined;
    if (settings !== undefined) {
      const { ExternalAgent } = await import("../../agent/external-agent.ts");
      const actsAs = agentIdentity(app, { agent: name, identity: settings.identity });
      // The agent itself needs its keys and its network. The commands that it lets us run do not.
      const sandbox = config.agent.sandbox === "on" ? lazySandbox(app) : undefined;
      const limits = config.limits.messages;
      const tap = (agent: string) => traffic?.connection("agent", agent);
      // The agent works without it. Editors are then told what it could do before.
      const greeted = (hello: InitializeResult): Promise<void> =>
        known
          .keep(name, settings, hello)
          .catch((error: unknown) => log.warn("agent.not-noted", { name, error }));
      const options = { actsAs, sandbox, limits, log, tap, serves, greeted };
      return new ExternalAgent({ name, ...settings, ...options });
    }
    if (name !== BUILT_IN) throw unknownAgent(name, [BUILT_IN, ...Object.keys(config.agents)]);
    const { openBuiltInAgent } = await import("../../agent/open/built-in-agent.ts");
    return openBuiltInAgent(app, builtIn);
  }

  return {
    ...{ nameOf, get, offered },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await keeping;
      for (const one of made.values()) {
        const agent = (await one.catch(() => undefined)) as Partial<AsyncDisposable> | undefined;
        await agent?.[Symbol.asyncDispose]?.();
      }
    },
  };
}

function needRuns({ runs }: OpenSessionsOptions): LazyRuns {
  if (runs !== undefined) return runs;
  const next = "Open it on the server that runs it: connect to `trunkline serve`";
  throw new TrunklineError("usage", `This session works in a sandbox of its server. ${next}.`);
}

function unknownAgent(name: string, names: readonly string[]): Error {
  const [near] = suggest(name, names);
  const hint = near === undefined ? "" : ` Did you mean '${near}'?`;
  const says = `Cannot find agent '${name.slice(0, 100)}'.${hint} Configured: ${names.join(", ")}.`;
  return new TrunklineError("not-found", says);
}
