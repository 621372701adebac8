import { existsSync } from "node:fs";
import { join } from "node:path";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { type Entry, Admission } from "../../server/access/admission.ts";
import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { Lazy } from "../../base/lazy.ts";
import { OWNER, type Principal } from "../../base/principal.ts";
import { VERSION } from "../../base/version.ts";
import type { AccessRefusal } from "../../server/access/access.ts";
import { COMEBACK_PATH, LOGINS_PAGE, LOGINS_PATH } from "../../server/access/login-page.ts";
import { ServerLoginRoutes } from "../../server/access/server-login-routes.ts";
import { agentLogin } from "../door/agent-login.ts";
import { isForPerson, Login, WELCOME } from "../../server/access/login.ts";
import { isPage, OPEN_AGAIN } from "../../server/access/open-page.ts";
import {
  answerPreflight,
  type OwnAddress,
  refuseForeign,
} from "../../server/access/refuse-foreign.ts";
import { clearTextWarning, resolveServing, type ServePlan } from "../../server/access/serving.ts";
import { LazyDashboard } from "../../server/dashboard/lazy-dashboard.ts";
import type { DashboardSources } from "../../server/dashboard/sources.ts";
import { TrafficRing } from "../../server/dashboard/traffic/traffic-ring.ts";
import { AppContext } from "../../config/app-context.ts";
import { loadConfig } from "../../config/load.ts";
import { fail, failWith, refuseUpgrade, send, sendJson } from "../../server/http/http-answers.ts";
import { createListener, listen } from "../../server/http/listener.ts";
import { type MoveContext, MOVES_PATH, moveStep } from "../../server/http/move-routes.ts";
import { Metrics } from "../../server/http/metrics.ts";
import { Readiness } from "../../server/http/readiness.ts";
import { NotifyRoutes } from "../../server/notify/notify-routes.ts";
import { LazyRuns } from "../../run/open/lazy-runs.ts";
import { LazySessions } from "../session/lazy-sessions.ts";
import { betweenCalls } from "../../session/open/move/let-go.ts";
import type { Mover } from "../../session/open/move/mover.ts";
import type { SessionSharing } from "../../session/open/session-sharing.ts";
import { instructionsFor } from "../tool/instructions.ts";
import { lazyTasks } from "../tool/lazy-tools.ts";
import { repositoryAddresses } from "../../git/repository-addresses.ts";
import type { AcpConnection } from "../../protocol/acp/connection.ts";
import { AcpDoor } from "../../protocol/acp/door.ts";
import { AcpHttp } from "../../protocol/acp/http/acp-http.ts";
import { AcpConversation } from "../../protocol/acp/serve.ts";
import { McpDoor } from "../../protocol/mcp/serve/door.ts";
import { McpHttp } from "../../protocol/mcp/serve/http/mcp-http.ts";
import type { McpHttpOptions } from "../../protocol/mcp/serve/http/options.ts";
import { refuse, transportError } from "../../protocol/mcp/serve/http/reply.ts";
import type { PeerOptions } from "../../rpc/peer-options.ts";
import type { Channel } from "../../wire/channel.ts";
import { tapped } from "../../wire/channel/tapped.ts";
import { WebSocketAcceptor } from "../../wire/channel/websocket-acceptor.ts";
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

/** `trunkline serve`: the doors on HTTP and WebSocket, the state page, health and metrics. */
export class HttpServer {
  readonly #server: Server;
  readonly #scheme: "http" | "https";
  /** The address by which it is reached; the port is known once it listens. */
  #own: OwnAddress;
  readonly #app: AppContext;
  readonly #serving: ServePlan;
  readonly #admission: Admission;
  readonly #login: Login;
  readonly #sockets: WebSocketAcceptor;
  readonly #clients = new Set<AcpConversation>();
  readonly #metrics: Metrics;
  /** Serves MCP, also to clients that do not come by HTTP. */
  readonly mcpDoor: McpDoor;
  readonly #mcp: McpHttp;
  readonly #tasks: ReturnType<typeof lazyTasks>;
  readonly #runs: LazyRuns;
  readonly #sessions: LazySessions;
  readonly #notify: NotifyRoutes;
  readonly #serverLogins: ServerLoginRoutes;
  readonly #isFleet: boolean;
  readonly #mover: Lazy<Mover>;
  readonly #acp: AcpDoor;
  readonly #acpOptions: PeerOptions<AcpConnection>;
  readonly #acpHttp: AcpHttp;
  readonly #dashboard: LazyDashboard;
  readonly #traffic = new TrafficRing();
  readonly #fleet: DashboardSources["fleet"];
  readonly #readiness: Readiness;

  private constructor(app: AppContext, serving: ServePlan, options: HttpServerOptions) {
    const { limits } = app.config;
    this.#app = app;
    this.#metrics = options.metrics ?? new Metrics();
    this.#serving = serving;
    this.#fleet = options.sources.fleet;
    this.#admission = new Admission(app, {
      serving,
      own: () => this.#own,
      ended: (principal) => this.#end(principal),
    });
    this.#login = new Login(this.#admission);
    const { resourceMetadata } = this.#admission;
    const { offer } = options.sources.tools;
    this.#tasks = lazyTasks(app);
    this.mcpDoor = new McpDoor({
      offer,
      instructions: (profile, person) => instructionsFor(offer, profile, person),
      rootsTimeout: app.rootsTimeout,
      tasks: { store: () => this.#tasks.get(), report: app.report },
    });
    this.#mcp = new McpHttp({
      ...options.mcp,
      door: this.mcpDoor,
      channelLimits: limits,
      withLimits: (door) => app.withLimits(door),
      authorize: (request, response) => this.#admission.admit(request, response, TOOLS),
      ...(resourceMetadata === undefined ? {} : { resourceMetadata }),
      onSession: (change) => this.#metrics.connection("mcp", change),
    });
    this.#runs = new LazyRuns(app);
    this.#sessions = new LazySessions(app, {
      offer: async () => offer,
      runs: this.#runs,
      traffic: this.#traffic,
      ...(options.sharing === undefined ? {} : { sharing: options.sharing }),
    });
    this.#readiness = new Readiness({
      data: app.config.data,
      checkStore: async () => (await this.#sessions.get()).check(),
      natsProblem: async () => this.#fleet?.problem(),
      log: app.log,
    });
    this.#serverLogins = new ServerLoginRoutes({
      ...{ serving, offer, admission: this.#admission, own: () => this.#own, log: app.log },
      app: async () => new AppContext((await loadConfig(options.sources.input)).config),
    });
    offer.loginPage = (name) => `${this.browserUrl}${LOGINS_PATH}#${encodeURIComponent(name)}`;
    this.#notify = new NotifyRoutes(app, this.#admission, async (answer, by) =>
      (await this.#sessions.get()).answer(answer, by),
    );
    this.#mover = new Lazy(async () => {
      const { Mover } = await import("../../session/open/move/mover.ts");
      return await Mover.open(app.config, process.env);
    });
    this.#isFleet = options.sharing !== undefined;
    this.#acp = new AcpDoor({
      sessions: this.#sessions.open,
      limits: limits.messages,
      addressesOf: repositoryAddresses,
      ...this.#sessions.sharing.holders,
      relayed: app.observers?.relayed,
      // The terminals of its clients are elsewhere.
      known: agentLogin(app).known,
      setUpSession: (params, principal) => this.#runs.place(params, principal),
    });
    this.#acpOptions = app.withLimits(this.#acp.peerOptions);
    this.#acpHttp = new AcpHttp({
      door: this.#acp,
      peerOptions: this.#acpOptions,
      channelLimits: limits,
      onChange: (change) => this.#metrics.connection("acp", change),
    });
    this.#dashboard = new LazyDashboard({
      app,
      door: this.#acp,
      peer: this.#acpOptions,
      reader: async () => (await this.#sessions.get()).openReader(),
      holder: () => this.holder(),
      sources: options.sources,
      traffic: this.#traffic,
      origin: () => this.browserUrl,
      moving: () => this.#moving(),
      assistants: () => this.#mcp.size,
    });
    this.#sockets = new WebSocketAcceptor(limits);
    const { server, scheme } = createListener(serving, app.log, (request, response) => {
      this.#handle(request, response);
    });
    this.#server = server;
    this.#scheme = scheme;
    this.#own = { scheme, port: serving.port };
    server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.#upgrade(request, socket, head);
    });
  }

  /** Listens on the configured address. */
  static async open(app: AppContext, options: HttpServerOptions): Promise<HttpServer> {
    const { noAuth = false } = options;
    const server = new HttpServer(app, resolveServing(app.config, { noAuth }), options);
    try {
      const replaced = await server.#admission.prepare();
      if (replaced !== undefined) app.log.warn("access.owner-token", { says: replaced });
      await listen(server.#server, server.#serving, app.config.data);
      const { port } = server.#server.address() as AddressInfo;
      server.#own = { scheme: server.#scheme, port };
      background(server.#dashboard.prepare(), "Reading the files of the dashboard");
      // A move that was killed goes on.
      if (!server.#isFleet && existsSync(join(app.config.data, "moves")))
        background(server.#sessions.get(), "Opening the sessions");
    } catch (error) {
      await server.close(0);
      throw error;
    }
    return server;
  }

  /** The URL of the address it listens on, without a path. */
  get origin(): string {
    const { address, family, port } = this.#server.address() as AddressInfo;
    return `${this.#scheme}://${family === "IPv6" ? `[${address}]` : address}:${port}`;
  }

  /** The URL by which others reach it, if that is configured. */
  get publicUrl(): string | undefined {
    return this.#serving.publicUrl;
  }

  /** A warning for the owner about how the server can be reached. */
  get warning(): string | undefined {
    return clearTextWarning(this.#serving);
  }

  /** The file that has the owner's token, and nothing else. */
  get tokenFile(): string {
    return this.#admission.tokenFile;
  }

  /** The URL for a browser: the public one if it is configured, otherwise the one on this machine. */
  get browserUrl(): string {
    return this.#serving.publicUrl ?? this.localUrl;
  }

  /** The URL for programs on this machine, without a path. */
  get localUrl(): string {
    const { address } = this.#server.address() as AddressInfo;
    const { scheme, port } = this.#own;
    if (address === "0.0.0.0") return `${scheme}://127.0.0.1:${port}`;
    return address === "::" ? `${scheme}://[::1]:${port}` : this.origin;
  }

  /** The id under which it holds sessions, by which other processes reach it. */
  async holder(): Promise<string> {
    return (await this.#sessions.get()).holder;
  }

  /** A login link for a browser, which works once. */
  async loginLink(): Promise<string> {
    return `${this.browserUrl}/login#${await this.#admission.codes.create()}`;
  }

  /** Stops accepting requests, waits at most `grace` milliseconds for those in flight, and closes. */
  async close(grace: number): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    await this.#dashboard[Symbol.asyncDispose]();
    const clients = Array.from(this.#clients, (client) => client.close(grace));
    await Promise.all([this.#mcp.close(grace), this.#acpHttp.close(grace), ...clients]);
    await this.#tasks[Symbol.asyncDispose]();
    this.#sockets[Symbol.dispose]();
    this.#server.closeAllConnections();
    await closed;
    await this.#sessions[Symbol.asyncDispose]();
    await (await this.#mover.opened())?.[Symbol.asyncDispose]();
    await this.#notify[Symbol.asyncDispose]();
    await this.#runs[Symbol.asyncDispose]();
    await this.#admission[Symbol.asyncDispose]();
  }

  /** Ends everything that a principal started whose access has ended. */
  #end(principal: string): void {
    this.#mcp.endOf(principal);
    this.#acpHttp.endOf(principal);
    const ended = this.#sessions.opened().then((open) => open?.sessions.endOf(principal));
    ended.catch((error: unknown) => this.#app.log.error("access.not-ended", { error }));
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    const path = pathOf(request);
    const isMcp = this.#mcp.has(path);
    response.on("finish", () => {
      // Unknown paths share one label, so that strangers cannot create series.
      this.#metrics.httpRequest(PATHS.has(path) ? path : "other", response.statusCode);
    });
    const refusal = refuseForeign(request, this.#serving, this.#own);
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
      return background(this.#mcp.handle(path, request, response), "Answering a request of MCP");
    }
    if (this.#login.has(path)) return this.#login.handle(path, request, response);
    if (path === LOGINS_PATH || path.startsWith(`${LOGINS_PATH}/`))
      return this.#serverLogins.handle(path, request, response);
    if (this.#notify.has(path)) return this.#notify.handle(path, request, response);
    if (isForAll(path)) return this.#route(path, request, response, OWNER);
    const then = {
      admitted: (principal: Principal) => this.#route(path, request, response, principal),
      refused: ({ status, message, headers }: AccessRefusal) => {
        const isWelcome = status === 401 && path === "/" && isForPerson(request);
        if (isWelcome) WELCOME.send(response, status, headers);
        else fail(response, status, message, headers);
      },
    };
    return this.#admission.ask(request, response, then, this.#entryOf(path));
  }

  /** The scopes that a path needs. */
  #entryOf(path: string): Entry | undefined {
    if (/^\/api\/runs\/[^/]+(?:\/(?:diff|patch))?$/.test(path)) return RUN;
    if (path.startsWith(MOVES_PATH)) return MOVING;
    return ENTRIES[path] ?? (this.#dashboard.has(path) ? DASHBOARD : undefined);
  }

  #route(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal,
  ): void {
    if (path === "/acp") return this.#acpHttp.handle(request, response, principal);
    if (path.startsWith(MOVES_PATH)) {
      const done = this.#moving().then((moving) =>
        moveStep(moving, path, principal, { request, response }),
      );
      const failed = (error: unknown) => failWith(response, error, path, this.#app.log);
      return background(done.catch(failed), "Moving a session");
    }
    if (this.#dashboard.has(path)) {
      return this.#dashboard.handle(path, request, response, principal);
    }
    switch (`${request.method} ${path}`) {
      case "GET /healthz":
        return sendJson(response, this.#health());
      case "GET /readyz":
        return background(this.#readiness.answer(response), "Sending the readiness");
      case "GET /metrics":
        return background(this.#sendMetrics(response), "Sending the metrics");
      default:
        return this.#unknown(path, response);
    }
  }

  async #moving(): Promise<MoveContext> {
    if (this.#isFleet) throw new TrunklineError("usage", NOT_OF_FLEET);
    const [mover, sessions] = [await this.#mover.get(), await this.#sessions.open()];
    const letGo: MoveContext["letGo"] = async (id, interrupts, signal) => {
      if (!interrupts) await betweenCalls(mover.log, id, signal);
      if (sessions.get(id) !== undefined) await sessions.close(id);
    };
    return { mover, letGo, ready: () => this.#runs.check() };
  }

  async #sendMetrics(response: ServerResponse): Promise<void> {
    const fleet = this.#fleet?.counts;
    const open = (await this.#sessions.opened())?.sessions.all;
    const running = open?.filter(({ isRunning }) => isRunning).length ?? 0;
    const sessions = open && { running, idle: open.length - running };
    const text = this.#metrics.render({
      sessions: fleet?.sessions ?? sessions ?? { running: 0, idle: 0 },
      fleet,
      spans: this.#app.observers?.spans,
    });
    send(response, 200, "text/plain; version=0.0.4", text);
  }

  #unknown(path: string, response: ServerResponse): void {
    if (!PATHS.has(path)) return fail(response, 404, "Nothing is at this path. / lists the paths.");
    response.setHeader("allow", "GET");
    return fail(response, 405, `${path} does not support this method`);
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on("error", () => socket.destroy());
    const refusal = refuseForeign(request, this.#serving, this.#own);
    if (refusal !== undefined) return refuseUpgrade(socket, refusal.status, refusal.message);
    const path = pathOf(request);
    const then = {
      admitted: (principal: Principal) => {
        if (path !== "/acp") return refuseUpgrade(socket, 404, "Connect to /acp");
        const headers = { "Acp-Connection-Id": crypto.randomUUID() };
        const accepted = this.#sockets.accept(request, socket, head, headers);
        background(
          accepted.then((channel) => this.#converse(channel, principal, agentOf(request))),
          "Conversing on a WebSocket",
        );
        return undefined;
      },
      refused: ({ status, message, headers }: AccessRefusal) =>
        refuseUpgrade(socket, status, message, headers),
    };
    return this.#admission.ask(request, socket, then, ENTRIES[path]);
  }

  async #converse(
    channel: Channel<string>,
    principal: Principal,
    agent: string | undefined,
  ): Promise<void> {
    const options = { peer: this.#acpOptions, principal, agent };
    const tap = this.#traffic.connection("client", "client");
    const client = new AcpConversation(this.#acp, tapped(channel, tap), options);
    this.#clients.add(client);
    this.#metrics.connection("acp", "opened");
    await client.ended;
    // The turn continues in its session; only the connection has ended.
    await client.close(0);
    this.#metrics.connection("acp", "closed");
    this.#clients.delete(client);
  }

  /** What `/healthz` shows without a token. */
  #health(): { status: "ok" } {
    if (this.#serving.isOpen) return { status: "ok" };
    const { uptimeSeconds } = this.#metrics;
    const connections = this.#clients.size + this.#acpHttp.size + this.#mcp.size;
    return { status: "ok", ...{ version: VERSION, uptimeSeconds, connections } };
  }
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
