import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

import type { Json } from "./raw-client.ts";

export interface Exchange {
  readonly verb: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly message: Json;
  readonly response: ServerResponse;
  /** Resolves when the client has closed its side. */
  readonly closed: Promise<unknown>;
}

/** A server that does as a test says with each exchange, and keeps them all. */
export class HttpServer implements AsyncDisposable {
  readonly exchanges: Exchange[] = [];
  /** Whether connections stay open for the next request. */
  keepsAlive = true;
  /** What is done first with an exchange; true when that was all. */
  answer: (exchange: Exchange) => boolean = () => false;
  readonly #server: Server;
  /** What is done with an exchange otherwise. */
  readonly handle: (exchange: Exchange) => void;

  private constructor(answer: (exchange: Exchange) => void) {
    this.handle = answer;
    this.#server = createServer((request, response) => {
      const closed = once(response, "close");
      response.shouldKeepAlive = this.keepsAlive;
      void text(request).then((body) => {
        const message = (body === "" ? {} : JSON.parse(body)) as Json;
        const { method: verb = "", url: path = "", headers } = request;
        const exchange = { verb, path, headers, message, response, closed };
        this.exchanges.push(exchange);
        if (!this.answer(exchange)) answer(exchange);
      });
    });
  }

  static async open(answer: (exchange: Exchange) => void, port = 0): Promise<HttpServer> {
    const server = new HttpServer(answer);
    server.#server.listen(port, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  get url(): URL {
    const { port } = this.#server.address() as AddressInfo;
    return new URL(`http://127.0.0.1:${port}/mcp`);
  }

  of(method: string): Exchange[] {
    return this.exchanges.filter(({ message }) => message["method"] === method);
  }

  /** Takes no more connections; those there are go on. */
  refuseConnections(): void {
    this.#server.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = this.#server.listening ? once(this.#server, "close") : undefined;
    this.#server.closeAllConnections();
    this.#server.close();
    await closed;
  }
}

export function json({ response, message }: Exchange, result: Json, headers: Json = {}): void {
  response.writeHead(200, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify({ jsonrpc: "2.0", id: message["id"], result }));
}

export function events({ response }: Exchange): ServerResponse {
  return response.writeHead(200, { "content-type": "text/event-stream" });
}

export function answerOf({ message }: Exchange, result: Json): string {
  return JSON.stringify({ jsonrpc: "2.0", id: message["id"], result });
}

/** A server of 2025-11-25 with sessions; `call` does the tools. */
export function legacy(call: (exchange: Exchange) => void, get?: (exchange: Exchange) => void) {
  return (exchange: Exchange): void => {
    const { verb, message, headers, response } = exchange;
    const isKnown = headers["mcp-session-id"] === "s1";
    if (verb === "DELETE") response.writeHead(200).end();
    else if (verb === "GET") (get ?? (() => response.writeHead(405).end()))(exchange);
    else if (message["method"] === "initialize") {
      const capabilities = { tools: {} };
      const result = { protocolVersion: "2025-11-25", capabilities };
      json(exchange, result, { "mcp-session-id": "s1" });
    } else if (!isKnown) response.writeHead(400).end("no session");
    else if (message["id"] === undefined || message["method"] === undefined) {
      response.writeHead(202).end();
    } else if (message["method"] === "tools/call") call(exchange);
    else json(exchange, {});
  };
}
