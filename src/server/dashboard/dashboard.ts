import { Semaphore } from "../../base/limit/semaphore.ts";
import { tooMany } from "../telemetry/audit-routes.ts";
import { type ApiCall, type ApiRoute, route } from "../../base/capability/api-route.ts";
import { background } from "../../base/background.ts";
import type { Capability } from "../../base/capability/capability.ts";
import { TrunklineError } from "../../base/errors.ts";
import {
  accessTokenOf,
  hasScope,
  mayControl,
  mayUseAll,
  type Principal,
  SCOPES,
} from "../../base/principal.ts";
import { maskText } from "../../base/text/mask.ts";
import { VERSION } from "../../base/version.ts";
import type { AcpConnection } from "../../protocol/acp/connection.ts";
import type { AcpDoor } from "../../protocol/acp/door.ts";
import type { PeerOptions } from "../../rpc/peer-options.ts";
import type { SessionReading } from "../../store/session/session-reader.ts";
import { AccessTokens } from "../../store/access/access-tokens.ts";
import { CAPABILITIES } from "../../config/capabilities.ts";
import { followConfig } from "../../config/follow-config.ts";
import type { AppContext } from "../../config/app-context.ts";
import { agentIdentityName } from "../../identity/open/open-identities.ts";
import type { CurrentPrincipal, Alert } from "./api.ts";
import { LiveRows } from "./live/live-rows.ts";
import { liveStream, placeOf, type Tail } from "./live/live-stream.ts";
import { type LiveSource, PolledRows } from "./live/polled-rows.ts";
import { sourcePoller } from "./live/source-poller.ts";
import { router } from "./router.ts";
import { sessionClients } from "./session/session-clients.ts";
import type { MoveContext } from "../http/move-routes.ts";
import { sessionRoutes } from "./session/session-routes.ts";
import { type SessionRows, sessionRowsOf } from "./session/session-rows.ts";
import { sessionSource } from "./session/session-source.ts";
import type { DashboardSources } from "./sources.ts";
import { startRoutes } from "./start/start-routes.ts";
import type { TrafficRing } from "./traffic/traffic-ring.ts";
import { agentRoutes } from "./view/agents.ts";
import { callStatistics } from "./view/call-statistics.ts";
import { identityRoutes } from "./view/identities.ts";
import { type OverviewOptions, readOverview } from "./view/overview.ts";
import { pageCalls } from "./view/page-calls.ts";
import { runRoutes, runsOn } from "./view/runs.ts";
import { serverRoutes } from "./view/server-routes.ts";
import { serviceParts } from "./view/services.ts";
import { openThreads } from "./view/threads.ts";
import { toolRoutes } from "./view/tools.ts";

import { defined } from "../../base/defined.ts";
export interface DashboardOptions {
  readonly app: AppContext;
  readonly door: AcpDoor;
  readonly peer: PeerOptions<AcpConnection>;
  /** The sessions, which end with the dashboard. */
  readonly reader: () => Promise<SessionReading>;
  /** The id under which this process holds sessions. */
  readonly holder: string;
  readonly sources: DashboardSources;
  /** The last messages of clients and agents. */
  readonly traffic: TrafficRing;
  /** The URL by which others reach the server. */
  readonly origin: () => string;
  /** The means to move sessions; throws if they cannot be moved. */
  readonly moving: () => Promise<MoveContext>;
  /** Assistants that are connected to /mcp now. */
  readonly assistants: () => number;
}

/** Live streams of one principal: some for each of its pages. */
const MOST_STREAMS = 32;

export type Dashboard = Awaited<ReturnType<typeof openDashboard>>;

/** The server side of the dashboard: its JSON API and its live events. */
export async function openDashboard(options: DashboardOptions) {
  const { app, door, peer, sources, traffic, moving } = options;
  const { data, limits } = app.config;
  using opening = new DisposableStack();
  const reader = opening.use(await options.reader());
  const tokens = new AccessTokens(data);
  const rows = sessionRowsOf({
    reader,
    holder: () => options.holder,
    nameOf: (owner) => nameIn(tokens, owner),
    identityOf: (agent, cwd) => agentIdentityName(app, agent, cwd),
  });
  const threads = opening.use(await openThreads(data, rows));
  const capabilities: readonly Capability<AppContext>[] = CAPABILITIES;
  const others = await Promise.all(
    capabilities.map(async (capability) => (await capability.routes?.(app)) ?? []),
  );
  const live = new LiveRows();
  const streams = new Set<ReturnType<typeof liveStream>>();
  const shares = new Semaphore({
    ...{ runningEach: MOST_STREAMS, waitingEach: 0 },
    refusal: () => tooMany("live streams", MOST_STREAMS),
  });
  const runs = runRoutes(rows, sources.fleet?.readRun ?? runsOn(data));
  const source = sessionSource(rows, runs.row);
  const clients = sessionClients({ door, peer, changed: (session) => source.wake(session) });
  const sessions = sessionRoutes({
    ...{ rows, clients, data, traffic, moving, limits: limits.messages },
    failed: (session, { id }, error) =>
      tellTrouble(live, {
        ...{ id: `${id} ${session}`, session, what: "The last prompt failed", error },
        isFor: (principal) => principal.id === id,
      }),
  });
  const start = startRoutes({
    ...{ app, door, rows, sessions, clients, hasWorkers: sources.fleet !== undefined },
  });
  const parts = serverParts(options, rows, threads, opening);
  const watching = sourcePoller({
    rows: live,
    sources: [source, threads.source, ...parts.live],
    failed: (error) => tellTrouble(live, { ...BLIND, error }),
    recovered: () => tellTrouble(live, BLIND),
  });
  const own = [
    route("GET /api/me", "nothing", async ({ principal }) => me(principal)),
    route("GET /api/events", "nothing", stream),
  ];
  const parted = [sessions, runs, threads, parts].flatMap((part) => part.routes);
  const routes: readonly ApiRoute[] = [...own, ...start, ...parted, ...others.flat()];
  const opened = opening.move();

  function me(principal: Principal): CurrentPrincipal {
    const { id, name = id === "" ? "owner" : id } = principal;
    const { fleet, program } = sources;
    const pool = fleet?.poolFor(principal);
    return {
      name,
      // A token that is limited to a part is refused what belongs to all, whatever its scopes are.
      scopes: SCOPES.filter((scope) =>
        scope === "admin" ? mayUseAll(principal) : hasScope(principal, scope),
      ),
      observes: !mayControl(principal),
      version: VERSION,
      epoch: live.epoch,
      ...(pool === undefined ? {} : { fleet: pool }),
      ...(mayUseAll(principal) && program !== undefined ? { program } : {}),
    };
  }

  async function stream({ principal, request, response, query }: ApiCall): Promise<undefined> {
    const id = query.get("session");
    using ends = new DisposableStack();
    ends.use(await shares.enter({ key: principal.id }));
    const tail = id === null ? undefined : await tailOf(principal, id, ends);
    ends.use(await watching.enter());
    const options = { rows: live, principal, tail, place: placeOf(request, query) };
    const begun = liveStream(response, options);
    streams.add(begun);
    const kept = ends.move();
    const over = begun
      .run()
      .catch((error: unknown) => app.log.warn("dashboard.stream-failed", { error }));
    const ended = over.finally(() => {
      streams.delete(begun);
      kept.dispose();
    });
    background(ended, "Sending live events");
  }

  async function tailOf(principal: Principal, id: string, ends: DisposableStack): Promise<Tail> {
    const session = await rows.need(principal, id);
    // Joined, so that questions to clients arrive; looking at a session does not open it.
    if (session.holder !== undefined && hasScope(principal, "sessions")) {
      await clients.at(principal, session).catch(() => undefined);
      ends.use(clients.watch(principal, id));
    }
    const now = async () => (await reader.find(id)) ?? { ...session, holder: undefined };
    return {
      session: id,
      read: async (from) => sessions.read(await now(), from),
      asks: async () => sessions.asks(principal, await now()),
      listen: (listener) => source.listen(id, listener),
    };
  }

  return {
    routes,
    handle: router(routes, app.log),
    [Symbol.asyncDispose]: async (): Promise<void> => {
      for (const each of streams) each.end();
      watching[Symbol.dispose]();
      await clients[Symbol.asyncDispose]();
      opened.dispose();
    },
  };
}

/** The name of a token's bearer; the id for other principals. */
function nameIn(tokens: AccessTokens, owner: string): string {
  const id = accessTokenOf({ id: owner });
  return tokens.list().find((token) => token.id === id)?.name ?? owner;
}

/** The parts of the dashboard about the server itself: tools, servers, plugins, identities. */
function serverParts(
  options: DashboardOptions,
  sessions: SessionRows,
  threads: Awaited<ReturnType<typeof openThreads>>,
  ends: DisposableStack,
): { readonly routes: readonly ApiRoute[]; readonly live: readonly LiveSource[] } {
  const { app, sources } = options;
  const { data } = app.config;
  let { config } = app;
  ends.defer(
    followConfig(app.reloading, app.log, (changed) => {
      config = { ...config, ...changed };
    }),
  );
  const { fleet } = sources;
  const services = serviceParts(sources, () => config.mcpServers);
  const tools = toolRoutes(sources, callStatistics(data));
  const calls = ends.use(
    pageCalls({
      data,
      toolbox: () => sources.tools.offer.tools,
      profileFor: tools.profileFor,
    }),
  );
  const overview: OverviewOptions = {
    ...options,
    sessions,
    data,
    config: () => config,
    threads: (principal) => threads.count(principal),
    approvals: () => tools.approvals().length,
    down: services.down,
  };
  const routes = [
    route("GET /api/overview", "nothing", ({ principal }) => readOverview(overview, principal)),
    ...tools.routes,
    ...calls.routes,
    ...services.routes,
    ...agentRoutes(sources.input, app.log),
    ...serverRoutes(sources),
    ...(fleet === undefined ? [] : [route("GET /api/fleet", "admin", async () => fleet.state)]),
    ...identityRoutes(app, sessions.reader),
  ];
  const started = new PolledRows({
    event: "overview",
    every: 1_000,
    read: async () => [await readOverview(overview)],
    idOf: () => "",
  });
  return { routes, live: [started, ...tools.live, ...services.live] };
}

interface Failure {
  readonly id: string;
  readonly what: string;
  readonly session?: string;
  /** Undefined once it is over. */
  readonly error?: unknown;
  readonly isFor: (principal: Principal) => boolean;
}

const BLIND = { id: "changes", what: "The dashboard cannot see what changes", isFor: mayUseAll };

/** Shows a failure that belongs to no row on every page, until it is over. */
function tellTrouble(live: LiveRows, { id, what, session, error, isFor }: Failure): void {
  const why = error instanceof TrunklineError ? error.message : "see the log of the server.";
  const says = maskText(`${what}: ${why}`);
  const trouble = defined<Alert>({ id, at: Date.now(), level: "error", says, session });
  live.set("trouble", id, error === undefined ? null : trouble, isFor);
}
