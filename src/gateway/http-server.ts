import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

import { TrunklineError } from "../base/errors.ts";
import { VERSION } from "../base/version.ts";
import { acpServer } from "../protocol/acp/serve.ts";
import { McpDoor } from "../protocol/mcp/door.ts";
import { McpHttp } from "../protocol/mcp/http/mcp-http.ts";
import type { McpHttpOptions } from "../protocol/mcp/http/options.ts";
import { refuse, transportError } from "../protocol/mcp/http/reply.ts";
import { Peer } from "../rpc/peer.ts";
import type { PeerOptions } from "../rpc/peer-options.ts";
import { Offer } from "../tool/offer.ts";
import type { Channel } from "../wire/channel.ts";
import { WebSocketAcceptor } from "../wire/channel/websocket-acceptor.ts";
import type { House } from "./house.ts";
import { isLoopbackAddress, refuseForeign } from "./loopback.ts";
import { Metrics } from "./metrics.ts";
import { statusPage } from "./status-page.ts";

export interface HttpServerOptions {
  /** What is offered on /mcp. */
  readonly offer?: Offer;
  /** How /mcp is served. */
  readonly mcp?: Omit<McpHttpOptions, "door" | "furnish" | "channelLimits" | "onSession">;
}

/** The gateway on HTTP: every door, and how it is. */
export class HttpServer {
  readonly #server: Server;
  readonly #sockets: WebSocketAcceptor;
  readonly #peers = new Set<Peer>();
  readonly #metrics = new Metrics();
  readonly #mcp: McpHttp;
  readonly #acp: PeerOptions<undefined>;

  private constructor(house: House, options: HttpServerOptions) {
    const { limits } = house.config;
    this.#mcp = new McpHttp({
      ...options.mcp,
      door: new McpDoor({ offer: options.offer ?? new Offer() }),
      channelLimits: limits,
      furnish: (door) => house.furnish(door),
      onSession: (change) => {
        if (change === "opened") this.#metrics.connectionOpened("mcp");
        else this.#metrics.connectionClosed("mcp");
      },
    });
    this.#acp = house.furnish(acpServer(limits.messages));
    this.#sockets = new WebSocketAcceptor(limits);
    this.#server = createServer((request, response) => this.#handle(request, response));
    this.#server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.#upgrade(request, socket, head);
    });
  }

  /** Listens where the configuration says. */
  static async open(house: House, options: HttpServerOptions = {}): Promise<HttpServer> {
    const { host, port } = house.config.server;
    if (!isLoopbackAddress(host)) {
      throw new TrunklineError(
        "usage",
        `Cannot listen on '${host}': only this machine may connect. Use 127.0.0.1, ::1 or localhost.`,
      );
    }
    const server = new HttpServer(house, options);
    await server.#listen(host, port);
    return server;
  }

  /** Where it listens, as a URL without a path. */
  get origin(): string {
    const { address, family, port } = this.#server.address() as AddressInfo;
    return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
  }

  /** Takes no more, answers what is in flight for at most `grace` milliseconds, and ends. */
  async close(grace: number): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    const peers = Array.from(this.#peers, (peer) => peer.close(grace));
    await Promise.all([this.#mcp.close(grace), ...peers]);
    this.#sockets[Symbol.dispose]();
    this.#server.closeAllConnections();
    await closed;
  }

  #listen(host: string, port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", (error: NodeJS.ErrnoException) =>
        reject(explain(error, host, port)),
      );
      this.#server.listen(port, host, resolve);
    });
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    const path = pathOf(request);
    const route = `${request.method} ${path}`;
    response.on("finish", () => this.#metrics.httpRequest(knownPath(path), response.statusCode));
    const refusal = refuseForeign(request.headers);
    if (this.#mcp.has(path)) {
      if (refusal !== undefined) return refuse(response, 403, transportError(refusal));
      return this.#mcp.handle(path, request, response);
    }
    if (refusal !== undefined) return fail(response, 403, refusal);
    switch (route) {
      case "GET /healthz":
        return send(response, 200, "application/json", JSON.stringify(this.#health()));
      case "GET /metrics":
        return send(response, 200, "text/plain; version=0.0.4", this.#metrics.render());
      case "GET /":
        return send(
          response,
          200,
          "text/html; charset=utf-8",
          statusPage(this.origin, this.#health()),
        );
      case "GET /acp":
        response.setHeader("upgrade", "websocket");
        return fail(response, 426, "Connect to /acp with a WebSocket");
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
    const refusal = refuseForeign(request.headers);
    if (refusal !== undefined) return refuseUpgrade(socket, "403 Forbidden", refusal);
    if (pathOf(request) !== "/acp")
      return refuseUpgrade(socket, "404 Not Found", "Connect to /acp");
    void this.#sockets.accept(request, socket, head).then((channel) => this.#converse(channel));
  }

  async #converse(channel: Channel<string>): Promise<void> {
    const peer = new Peer(channel, undefined, this.#acp);
    this.#peers.add(peer);
    this.#metrics.connectionOpened("acp");
    await peer.ended;
    await peer.close(Infinity);
    this.#metrics.connectionClosed("acp");
    this.#peers.delete(peer);
  }

  #health(): { status: "ok"; version: string; uptimeSeconds: number; connections: number } {
    const { uptimeSeconds } = this.#metrics;
    const connections = this.#peers.size + this.#mcp.size;
    return { status: "ok", version: VERSION, uptimeSeconds, connections };
  }
}

const PATHS = new Set(["/mcp", "/sse", "/messages", "/acp", "/healthz", "/metrics", "/"]);

/** A label for a counter: what strangers make up must not become one each. */
function knownPath(path: string): string {
  return PATHS.has(path) ? path : "other";
}

function pathOf(request: IncomingMessage): string {
  return request.url?.split("?")[0] ?? "/";
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, {
    "content-type": type,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  });
  response.end(body);
}

function fail(response: ServerResponse, status: number, error: string): void {
  send(response, status, "application/json", JSON.stringify({ error }));
}

function refuseUpgrade(socket: Duplex, status: string, why: string): void {
  const head = `HTTP/1.1 ${status}\r\ncontent-type: text/plain\r\nconnection: close\r\n`;
  socket.end(`${head}content-length: ${Buffer.byteLength(why)}\r\n\r\n${why}`);
}

function explain(error: NodeJS.ErrnoException, host: string, port: number): TrunklineError {
  const where = `${host}:${port}`;
  const why =
    error.code === "EADDRINUSE"
      ? "another program listens there. Stop it, or choose another with --port (0 picks a free one)."
      : error.code === "EACCES"
        ? "ports below 1024 need special rights. Choose another with --port."
        : error.message;
  return new TrunklineError("unavailable", `Cannot listen on ${where}: ${why}`, { cause: error });
}
