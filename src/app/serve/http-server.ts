import { existsSync } from "node:fs";
import { join } from "node:path";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Entry, openAdmission } from "../../server/access/admission.ts";
import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { Lazy } from "../../base/lazy.ts";
import { OWNER, type Principal } from "../../base/principal.ts";
import { VERSION } from "../../base/version.ts";
import type { AccessRefusal } from "../../server/access/access.ts";
import { COMEBACK_PATH, LOGINS_PAGE, LOGINS_PATH } from "../../server/access/login-page.ts";
import { serverLoginRoutes } from "../../server/access/server-login-routes.ts";
import { agentLogin } from "../door/agent-login.ts";
import { isForPerson, loginPages, WELCOME } from "../../server/access/login.ts";
import { isPage, OPEN_AGAIN } from "../../server/access/open-page.ts";
import {
  answerPreflight,
  type OwnAddress,
  refuseForeign,
} from "../../server/access/refuse-foreign.ts";
import { clearTextWarning, resolveServing } from "../../server/access/serving.ts";
import { lazyDashboard } from "../../server/dashboard/lazy-dashboard.ts";
import type { DashboardSources } from "../../server/dashboard/sources.ts";
import { TrafficRing } from "../../server/dashboard/traffic/traffic-ring.ts";
import { AppContext } from "../../config/app-context.ts";
import { loadConfig } from "../../config/load.ts";
import {
  fail,
  failWith,
  type HandleRequest,
  refuseMethod,
  refuseUpgrade,
  send,
  sendJson,
} from "../../server/http/http-answers.ts";
import { createListener, listen } from "../../server/http/listener.ts";
import { type MoveContext, MOVES_PATH, moveStep } from "../../server/http/move-routes.ts";
import { Metrics } from "../../server/http/metrics.ts";
import { readinessOf } from "../../server/http/readiness.ts";
import { notifyRoutes } from "../../server/notify/notify-routes.ts";
import { LazyRuns } from "../../run/open/lazy-runs.ts";
import { LazySessions } from "../session/lazy-sessions.ts";
import { betweenCalls } from "../../session/open/move/let-go.ts";
import type { SessionSharing } from "../../session/open/session-sharing.ts";
import { instructionsFor } from "../tool/instructions.ts";
import { lazyTasks } from "../tool/lazy-tools.ts";
import { repositoryAddresses } from "../../git/repository-addresses.ts";
import { AcpDoor } from "../../protocol/acp/door.ts";
import { AcpHttp } from "../../protocol/acp/http/acp-http.ts";
import { AcpConversation } from "../../protocol/acp/serve.ts";
import { McpDoor } from "../../protocol/mcp/serve/door.ts";
import { McpHttp } from "../../protocol/mcp/serve/http/mcp-http.ts";
import type { McpHttpOptions } from "../../protocol/mcp/serve/http/options.ts";
import { refuse, transportError } from "../../protocol/mcp/serve/http/reply.ts";
import type { Channel } from "../../wire/channel.ts";
import { tapped } from "../../wire/channel/tapped.ts";
import { webSocketAcceptor } from "../../wire/channel/websocket-acceptor.ts";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

export interface HttpServerOptions {
  /** `--no-auth`: programs on this machine need no token. */
  readonly noAuth?: boolean;
  /** Observes the program already. */
  readonly metrics?: Metrics;
  /** How sessions are shared, where that is not by the data folder. */
  readonly sharing?: SessionSharing | undefined;
  /** What is offered on /mcp, and what the dashboard shows beside sessions. */
  readonly sources: DashboardSources;
  /** How /mcp is served. */
  readonly mcp?: Omit<
    McpHttpOptions,
    "door" | "withLimits" | "channelLimits" | "onSession" | "authorize" | "resourceMetadata"
  >;
}

export type HttpServer = Awaited<ReturnType<typeof openHttpServer>>;

/** `trunkline serve`: the doors on HTTP and WebSocket, the state page, health and metrics. */
export async function openHttpServer(app: AppContext, options: HttpServerOptions) {
  const { limits, data } = app.config;
  const { metrics = new Metrics(), sharing, sources } = options;
  const { fleet, tools } = sources;
  const { offer } = tools;
  const serving = resolveServing(app.config, options);
  const clients = new Set<AcpConversation>();
  const traffic = new TrafficRing();
  const admission = openAdmission(app, { serving, own: () => own, ended: end });
  const login = loginPages(admission);
  const { resourceMetadata } = admission;
  const tasks = lazyTasks(app);
  // Serves MCP, also to clients that do not come by HTTP.
  const mcpDoor = new McpDoor({
    offer,
    instructions: (profile, person) => instructionsFor(offer, profile, person),
    rootsTimeout: app.rootsTimeout,
    tasks: { store: () => tasks.get(), report: app.report },
  });
  const mcp = new McpHttp({
    ...options.mcp,
    door: mcpDoor,
    channelLimits: limits,
    withLimits: (door) => app.withLimits(door),
    authorize: (request, response) => admission.admit(request, response, TOOLS),
    ...(resourceMetadata === undefined ? {} : { resourceMetadata }),
    onSession: (change) => metrics.connection("mcp", change),
  });
  const runs = new LazyRuns(app);
  const sessions = new LazySessions(app, {
    ...{ runs, traffic, offer: async () => offer },
    ...(sharing === undefined ? {} : { sharing }),
  });
  const readiness = readinessOf({
    data,
    checkStore: async () => (await sessions.get()).check(),
    natsProblem: async () => fleet?.problem(),
    log: app.log,
  });
  const serverLogins = serverLoginRoutes({
    ...{ serving, offer, admission, own: () => own, log: app.log },
    app: async () => new AppContext((await loadConfig(sources.input)).config),
  });
  offer.loginPage = (name) => `${browserUrl()}${LOGINS_PATH}#${encodeURIComponent(name)}`;
  const notify = notifyRoutes(app, admission, async (answer, by) =>
    (await sessions.get()).answer(answer, by),
  );
  const mover = new Lazy(async () => {
    const { Mover } = await import("../../session/open/move/mover.ts");
    return await Mover.open(app.config, process.env);
  });
  const acp = new AcpDoor({
    sessions: sessions.open,
    limits: limits.messages,
    addressesOf: repositoryAddresses,
    ...sessions.sharing.holders,
    relayed: app.observers?.relayed,
    // The terminals of its clients are elsewhere.
    known: agentLogin(app).known,
    setUpSession: (params, principal) => runs.place(params, principal),
  });
  const peer = app.withLimits(acp.peerOptions);
  const acpHttp = new AcpHttp({
    door: acp,
    peerOptions: peer,
    channelLimits: limits,
    onChange: (change) => metrics.connection("acp", change),
  });
  const dashboard = lazyDashboard({
    ...{ app, door: acp, peer, sources, traffic, holder, moving, origin: browserUrl },
    reader: async () => (await sessions.get()).openReader(),
    assistants: () => mcp.size,
  });
  const sockets = webSocketAcceptor(limits);
  const route: HandleRequest = (path, request, response, principal) => {
    if (path === "/acp") return acpHttp.handle(request, response, principal);
    if (path.startsWith(MOVES_PATH)) {
      const done = moving().then((moving) =>
        moveStep(moving, path, principal, { request, response }),
      );
      const failed = (error: unknown) => failWith(response, error, path, app.log);
      return background(done.catch(failed), "Moving a session");
    }
    if (dashboard.has(path)) {
      return dashboard.handle(path, request, response, principal);
    }
    switch (`${request.method} ${path}`) {
      case "GET /healthz":
        return sendJson(response, health());
      case "GET /readyz":
        return background(readiness.answer(response), "Sending the readiness");
      case "GET /metrics":
        return background(sendMetrics(response), "Sending the metrics");
      default:
        return unknown(path, response);
    }
  };

  const { server, scheme } = createListener(serving, app.log, handle);
  // The address by which it is reached; the port is known once it listens.
  let own: OwnAddress = { scheme, port: serving.port };
  server.on("upgrade", upgrade);
  try {
    const replaced = await admission.prepare();
    if (replaced !== undefined) app.log.warn("access.owner-token", { says: replaced });
    await listen(server, serving, data);
    own = { scheme, port: (server.address() as AddressInfo).port };
    background(dashboard.prepare(), "Reading the files of the dashboard");
    // A move that was killed goes on.
    if (sharing === undefined && existsSync(join(data, "moves")))
      background(sessions.get(), "Opening the sessions");
  } catch (error) {
    await close(0);
    throw error;
  }

  /** The URL of the address it listens on, without a path. */
  function origin(): string {
    const { address, family, port } = server.address() as AddressInfo;
    return `${scheme}://${family === "IPv6" ? `[${address}]` : address}:${port}`;
  }

  /** The URL for a browser: the public one if it is configured, otherwise the one on this machine. */
  function browserUrl(): string {
    return serving.publicUrl ?? localUrl();
  }

  /** The URL for programs on this machine, without a path. */
  function localUrl(): string {
    const { address } = server.address() as AddressInfo;
    const { port } = own;
    if (address === "0.0.0.0") return `${scheme}://127.0.0.1:${port}`;
    return address === "::" ? `${scheme}://[::1]:${port}` : origin();
  }

  /** The id under which it holds sessions, by which other processes reach it. */
  async function holder(): Promise<string> {
    return (await sessions.get()).holder;
  }

  /** A login link for a browser, which works once. */
  async function loginLink(): Promise<string> {
    return `${browserUrl()}/login#${await admission.codes.create()}`;
  }

  /** Stops accepting requests, waits at most `grace` milliseconds for those in flight, and closes. */
  async function close(grace: number): Promise<void> {
    const closed = new Promise((resolve) => server.close(resolve));
    await dashboard[Symbol.asyncDispose]();
    const conversing = Array.from(clients, (client) => client.close(grace));
    await Promise.all([mcp.close(grace), acpHttp.close(grace), ...conversing]);
    await tasks[Symbol.asyncDispose]();
    sockets[Symbol.dispose]();
    server.closeAllConnections();
    await closed;
    await sessions[Symbol.asyncDispose]();
    await (await mover.opened())?.[Symbol.asyncDispose]();
    await notify[Symbol.asyncDispose]();
    await runs[Symbol.asyncDispose]();
    await admission[Symbol.asyncDispose]();
  }

  /** Ends everything that a principal started whose access has ended. */
  function end(principal: string): void {
    mcp.endOf(principal);
    acpHttp.endOf(principal);
    const ended = sessions.opened().then((open) => open?.sessions.endOf(principal));
    ended.catch((error: unknown) => app.log.error("access.not-ended", { error }));
  }

  function handle(request: IncomingMessage, response: ServerResponse): void {
    const path = pathOf(request);
    const isMcp = mcp.has(path);
    response.on("finish", () => {
      // Unknown paths share one label, so that strangers cannot create series.
      metrics.httpRequest(PATHS.has(path) ? path : "other", response.statusCode);
    });
    const refusal = refuseForeign(request, serving, own);
    if (refusal !== undefined) {
      const { status, message, isLink } = refusal;
      if (isLink === true && isPage(path)) return OPEN_AGAIN.send(response, 200);
      // An issuer has sent the browser back. The page does nothing by itself.
      if (request.method === "GET" && path === COMEBACK_PATH)
        return LOGINS_PAGE.send(response, 200);
      if (!isMcp) return fail(response, status, message);
      return refuse(response, status, transportError(message));
    }
    if (answerPreflight(request, response)) return undefined;
    // The MCP door authenticates requests itself.
    if (isMcp) {
      return background(mcp.handle(path, request, response), "Answering a request of MCP");
    }
    if (login.has(path)) return login.handle(path, request, response);
    if (path === LOGINS_PATH || path.startsWith(`${LOGINS_PATH}/`))
      return serverLogins.handle(path, request, response);
    if (notify.has(path)) return notify.handle(path, request, response);
    if (isForAll(path)) return route(path, request, response, OWNER);
    const then = {
      admitted: (principal: Principal) => route(path, request, response, principal),
      refused: ({ status, message, headers }: AccessRefusal) => {
        const isWelcome = status === 401 && path === "/" && isForPerson(request);
        if (isWelcome) WELCOME.send(response, status, headers);
        else fail(response, status, message, headers);
      },
    };
    return admission.ask(request, response, then, entryOf(path));
  }

  /** The scopes that a path needs. */
  function entryOf(path: string): Entry | undefined {
    if (/^\/api\/runs\/[^/]+(?:\/(?:diff|patch))?$/.test(path)) return RUN;
    if (path.startsWith(MOVES_PATH)) return MOVING;
    return ENTRIES[path] ?? (dashboard.has(path) ? DASHBOARD : undefined);
  }

  async function moving(): Promise<MoveContext> {
    if (sharing !== undefined) throw new TrunklineError("usage", NOT_OF_FLEET);
    const [opened, all] = [await mover.get(), await sessions.open()];
    const letGo: MoveContext["letGo"] = async (id, interrupts, signal) => {
      if (!interrupts) await betweenCalls(opened.log, id, signal);
      if (all.get(id) !== undefined) await all.close(id);
    };
    return { mover: opened, letGo, ready: () => runs.check() };
  }

  async function sendMetrics(response: ServerResponse): Promise<void> {
    const counts = fleet?.counts;
    const open = (await sessions.opened())?.sessions.all;
    const running = open?.filter(({ isRunning }) => isRunning).length ?? 0;
    const own = open && { running, idle: open.length - running };
    const text = metrics.render({
      sessions: counts?.sessions ?? own ?? { running: 0, idle: 0 },
      fleet: counts,
      spans: app.observers?.spans,
    });
    send(response, 200, "text/plain; version=0.0.4", text);
  }

  function unknown(path: string, response: ServerResponse): void {
    if (!PATHS.has(path)) return fail(response, 404, "Nothing is at this path. / lists the paths.");
    return refuseMethod(response, path, "GET");
  }

  function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on("error", () => socket.destroy());
    const refusal = refuseForeign(request, serving, own);
    if (refusal !== undefined) return refuseUpgrade(socket, refusal.status, refusal.message);
    const path = pathOf(request);
    const then = {
      admitted: (principal: Principal) => {
        if (path !== "/acp") return refuseUpgrade(socket, 404, "Connect to /acp");
        const headers = { "Acp-Connection-Id": crypto.randomUUID() };
        const accepted = sockets.accept(request, socket, head, headers);
        background(
          accepted.then((channel) => converse(channel, principal, agentOf(request))),
          "Conversing on a WebSocket",
        );
        return undefined;
      },
      refused: ({ status, message, headers }: AccessRefusal) =>
        refuseUpgrade(socket, status, message, headers),
    };
    return admission.ask(request, socket, then, ENTRIES[path]);
  }

  async function converse(
    channel: Channel<string>,
    principal: Principal,
    agent: string | undefined,
  ): Promise<void> {
    const options = { peer, principal, agent };
    const tap = traffic.connection("client", "client");
    const client = new AcpConversation(acp, tapped(channel, tap), options);
    clients.add(client);
    metrics.connection("acp", "opened");
    await client.ended;
    // The turn continues in its session; only the connection has ended.
    await client.close(0);
    metrics.connection("acp", "closed");
    clients.delete(client);
  }

  /** What `/healthz` shows without a token. */
  function health(): { status: "ok" } {
    if (serving.isOpen) return { status: "ok" };
    const { uptimeSeconds } = metrics;
    const connections = clients.size + acpHttp.size + mcp.size;
    return { status: "ok", ...{ version: VERSION, uptimeSeconds, connections } };
  }

  return {
    mcpDoor,
    origin: origin(),
    publicUrl: serving.publicUrl,
    /** A warning for the owner about how the server can be reached. */
    warning: clearTextWarning(serving),
    /** The file that has the owner's token, and nothing else. */
    tokenFile: admission.tokenFile,
    browserUrl: browserUrl(),
    localUrl: localUrl(),
    ...{ holder, loginLink, close },
  };
}

/** The paths that are counted each by itself. */
export const PATHS = new Set([
  ...["/mcp", "/sse", "/messages", "/acp"],
  ...["/healthz", "/readyz", "/metrics", "/", "/login", "/logout"],
]);

/** Either scope opens /mcp; each tool checks the one that it needs. */
export const TOOLS: Entry = { scopes: ["tools", "review"], what: "MCP" };

/** The scopes that a path needs. */
export const ENTRIES: Readonly<Record<string, Entry>> = {
  "/acp": { scopes: ["sessions"], what: "ACP", takesRaw: true },
  "/metrics": { scopes: ["dashboard"], what: "/metrics" },
};
const MOVING: Entry = { scopes: ["sessions"], what: "Moving sessions" };
const NOT_OF_FLEET = "Sessions of a fleet do not move: every gateway of it has them.";
/** Whoever has a run work may see what has come of it. */
const RUN: Entry = { scopes: ["sessions", "dashboard"], what: "The result of a run" };
export const DASHBOARD: Entry = { scopes: ["dashboard"], what: "The dashboard" };

/** Paths that need no token: health, and RFC 9728 metadata. */
export function isForAll(path: string): boolean {
  return path === "/healthz" || path === "/readyz" || path.startsWith("/.well-known/");
}

/** `/acp?agent=NAME` chooses the agent for the sessions of a connection. */
export function agentOf({ url = "" }: IncomingMessage): string | undefined {
  const [, query = ""] = url.split("?", 2);
  return new URLSearchParams(query).get("agent") ?? undefined;
}

export function pathOf(request: IncomingMessage): string {
  return request.url?.split("?")[0] ?? "/";
}
