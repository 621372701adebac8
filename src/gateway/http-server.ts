import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

import { OWNER, type Principal } from "../base/principal.ts";
import { VERSION } from "../base/version.ts";
import type { AcpConnection } from "../protocol/acp/connection.ts";
import { AcpDoor } from "../protocol/acp/door.ts";
import { AcpHttp } from "../protocol/acp/http/acp-http.ts";
import { AcpConversation } from "../protocol/acp/serve.ts";
import { McpDoor } from "../protocol/mcp/door.ts";
import { McpHttp } from "../protocol/mcp/http/mcp-http.ts";
import type { McpHttpOptions } from "../protocol/mcp/http/options.ts";
import { refuse, transportError } from "../protocol/mcp/http/reply.ts";
import type { PeerOptions } from "../rpc/peer-options.ts";
import { Offer } from "../tool/offer.ts";
import type { Channel } from "../wire/channel.ts";
import { WebSocketAcceptor } from "../wire/channel/websocket-acceptor.ts";
import type { Admitted } from "./access/access.ts";
import { Admission } from "./access/admission.ts";
import { allowOrigin, answerPreflight } from "./access/cors.ts";
import { refuseForeign } from "./access/refuse-foreign.ts";
import { clearTextWarning, resolveServing, type Serving } from "./access/serving.ts";
import type { House } from "./house.ts";
import { fail, refuseUpgrade, send } from "./http-answers.ts";
import { createListener, listen } from "./listener.ts";
import { Metrics } from "./metrics.ts";
import { LateSessions } from "./sessions-late.ts";
import { statusPage } from "./status-page.ts";

export interface HttpServerOptions {
  /** What is offered on /mcp. */
  readonly offer?: Offer;
  /** How /mcp is served. */
  readonly mcp?: Omit<
    McpHttpOptions,
    "door" | "furnish" | "channelLimits" | "onSession" | "authorize" | "resourceMetadata"
  >;
}

/** The gateway on HTTP: every door, and how it is. */
export class HttpServer {
  readonly #server: Server;
  readonly #scheme: string;
  readonly #serving: Serving;
  readonly #admission: Admission;
  readonly #sockets: WebSocketAcceptor;
  readonly #clients = new Set<AcpConversation>();
  readonly #metrics = new Metrics();
  readonly #mcp: McpHttp;
  readonly #sessions: LateSessions;
  readonly #acp: AcpDoor;
  readonly #acpOptions: PeerOptions<AcpConnection>;
  readonly #acpHttp: AcpHttp;

  private constructor(house: House, serving: Serving, options: HttpServerOptions) {
    const { limits } = house.config;
    this.#serving = serving;
    this.#admission = new Admission(house, serving);
    const { resourceMetadata } = this.#admission;
    const offer = options.offer ?? new Offer();
    this.#mcp = new McpHttp({
      ...options.mcp,
      door: new McpDoor({ offer }),
      channelLimits: limits,
      furnish: (door) => house.furnish(door),
      authorize: (request, response) => this.#admission.admit(request, response),
      ...(resourceMetadata === undefined ? {} : { resourceMetadata }),
      onSession: (change) => {
        if (change === "opened") this.#metrics.connectionOpened("mcp");
        else this.#metrics.connectionClosed("mcp");
      },
    });
    this.#sessions = new LateSessions(house, { offer: async () => offer });
    this.#acp = new AcpDoor({ sessions: this.#sessions.open, limits: limits.messages });
    this.#acpOptions = house.furnish(this.#acp.peerOptions);
    this.#acpHttp = new AcpHttp({
      door: this.#acp,
      peerOptions: this.#acpOptions,
      channelLimits: limits,
      onChange: (change) => {
        if (change === "opened") this.#metrics.connectionOpened("acp");
        else this.#metrics.connectionClosed("acp");
      },
    });
    this.#sockets = new WebSocketAcceptor(limits);
    const { server, scheme } = createListener(serving, house.log, (request, response) => {
      this.#handle(request, response);
    });
    this.#server = server;
    this.#scheme = scheme;
    server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.#upgrade(request, socket, head);
    });
  }

  /** Listens where the configuration says. */
  static async open(house: House, options: HttpServerOptions = {}): Promise<HttpServer> {
    const server = new HttpServer(house, resolveServing(house.config), options);
    try {
      await listen(server.#server, server.#serving);
    } catch (error) {
      await server.close(0);
      throw error;
    }
    return server;
  }

  /** Where it listens, as a URL without a path. */
  get origin(): string {
    const { address, family, port } = this.#server.address() as AddressInfo;
    return `${this.#scheme}://${family === "IPv6" ? `[${address}]` : address}:${port}`;
  }

  /** Where others reach it, as far as that is configured. */
  get publicUrl(): string | undefined {
    return this.#serving.publicUrl;
  }

  /** What is wrong with how it can be reached, in words for its owner; or nothing. */
  get warning(): string | undefined {
    return clearTextWarning(this.#serving);
  }

  /** Whether all who come have to show a token. */
  get needsToken(): boolean {
    return this.#serving.isOpen;
  }

  /** Takes no more, answers what is in flight for at most `grace` milliseconds, and ends. */
  async close(grace: number): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    const clients = Array.from(this.#clients, (client) => client.close(grace));
    await Promise.all([this.#mcp.close(grace), this.#acpHttp.close(grace), ...clients]);
    this.#sockets[Symbol.dispose]();
    this.#server.closeAllConnections();
    await closed;
    await this.#sessions[Symbol.asyncDispose]();
    await this.#admission[Symbol.asyncDispose]();
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    const path = pathOf(request);
    const isMcp = this.#mcp.has(path);
    response.on("finish", () => this.#metrics.httpRequest(knownPath(path), response.statusCode));
    const refusal = refuseForeign(request.headers, this.#serving);
    if (refusal !== undefined) {
      return isMcp ? refuse(response, 403, transportError(refusal)) : fail(response, 403, refusal);
    }
    allowOrigin(request, response);
    if (answerPreflight(request, response)) return undefined;
    // This door asks for itself who comes.
    if (isMcp) return this.#mcp.handle(path, request, response);
    if (isForAll(path)) return this.#route(path, request, response, OWNER);
    return this.#admission.ask(request, response, {
      admitted: (found) => this.#route(path, request, response, principalOf(found)),
      refused: ({ status, message, headers }) => fail(response, status, message, headers),
    });
  }

  #route(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal,
  ): void {
    if (path === "/acp") return this.#acpHttp.handle(request, response, principal);
    switch (`${request.method} ${path}`) {
      case "GET /healthz":
        return send(response, 200, "application/json", JSON.stringify(this.#publicHealth()));
      case "GET /metrics":
        return send(response, 200, "text/plain; version=0.0.4", this.#metrics.render());
      case "GET /": {
        const page = statusPage(this.#serving.publicUrl ?? this.origin, this.#health());
        return send(response, 200, "text/html; charset=utf-8", page);
      }
      default:
        return this.#unknown(path, response);
    }
  }

  #unknown(path: string, response: ServerResponse): void {
    if (!PATHS.has(path)) return fail(response, 404, "Nothing is here. See / for what is.");
    response.setHeader("allow", "GET");
    return fail(response, 405, `${path} does not take this method`);
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on("error", () => socket.destroy());
    const refusal = refuseForeign(request.headers, this.#serving);
    if (refusal !== undefined) return refuseUpgrade(socket, 403, refusal);
    return this.#admission.ask(request, socket, {
      admitted: (found) => {
        if (pathOf(request) !== "/acp") return refuseUpgrade(socket, 404, "Connect to /acp");
        const headers = { "Acp-Connection-Id": crypto.randomUUID() };
        const accepted = this.#sockets.accept(request, socket, head, headers);
        void accepted.then((channel) => this.#converse(channel, principalOf(found)));
        return undefined;
      },
      refused: ({ status, message, headers }) => refuseUpgrade(socket, status, message, headers),
    });
  }

  async #converse(channel: Channel<string>, principal: Principal): Promise<void> {
    const client = new AcpConversation(this.#acp, channel, { peer: this.#acpOptions, principal });
    this.#clients.add(client);
    this.#metrics.connectionOpened("acp");
    await client.ended;
    // What it asked goes on in its session; there is nobody to answer any more.
    await client.close(0);
    this.#metrics.connectionClosed("acp");
    this.#clients.delete(client);
  }

  #health(): { status: "ok"; version: string; uptimeSeconds: number; connections: number } {
    const { uptimeSeconds } = this.#metrics;
    const connections = this.#clients.size + this.#acpHttp.size + this.#mcp.size;
    return { status: "ok", version: VERSION, uptimeSeconds, connections };
  }

  /** What others learn who need not say who they are. */
  #publicHealth(): { status: "ok" } {
    return this.#serving.isOpen ? { status: "ok" } : this.#health();
  }
}

const PATHS = new Set(["/mcp", "/sse", "/messages", "/acp", "/healthz", "/metrics", "/"]);

/** A label for a counter: what strangers make up must not become one each. */
function knownPath(path: string): string {
  return PATHS.has(path) ? path : "other";
}

/** What monitors look at, and where clients look for who could let them in. */
function isForAll(path: string): boolean {
  return path === "/healthz" || path.startsWith("/.well-known/");
}

function principalOf({ principal, name }: Admitted): Principal {
  return { id: principal, name };
}

function pathOf(request: IncomingMessage): string {
  return request.url?.split("?")[0] ?? "/";
}
