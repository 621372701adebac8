import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { createInterface, type Interface } from "node:readline";
import { text } from "node:stream/consumers";

import { refuseForeign } from "../../src/server/access/refuse-foreign.ts";
import { resolveServing } from "../../src/server/access/serving.ts";
import { defaultConfig } from "../../src/config/config.ts";
import type { JsonObject } from "../../src/protocol/mcp/json-object.ts";
import { META, metaOf } from "../../src/protocol/mcp/meta.ts";
import { describedClient } from "../../src/protocol/mcp/serve/connection.ts";
import {
  headerProblem,
  paramHeaderProblem,
  versionMismatch,
} from "../../src/protocol/mcp/serve/http/modern-requests.ts";
import { errorText, type RpcError } from "../../src/rpc/rpc-error.ts";
import type { ToolDefinition } from "../../src/tool/tool.ts";
import { Toolbox } from "../../src/tool/toolbox.ts";
import { STDIO_SERVER } from "./fixture-server.ts";

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: JsonObject;
  readonly result?: JsonObject;
  readonly error?: { readonly code: number };
}

const SERVING = resolveServing(defaultConfig(tmpdir()));

const STATUS: Readonly<Record<number, number>> = {
  [-32601]: 404,
  [-32600]: 400,
  [-32020]: 400,
  [-32021]: 400,
  [-32022]: 400,
};

/**
 * Lets the suite, which speaks HTTP alone, talk to a server on standard streams. What exists only
 * on HTTP (headers, hosts, status codes) is answered here, headers by the product's own checks; the
 * rest is the server's.
 */
export class StdioShim implements AsyncDisposable {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: Interface;
  readonly #server: Server;
  /** Requests that wait for their answers, by the ids that the server knows them by. */
  readonly #open = new Map<string, Exchange>();
  /** The server's tools as it lists them: their schemas say which arguments are in headers too. */
  #tools = new Toolbox();
  #lastId = 0;

  private constructor() {
    this.#child = spawn(STDIO_SERVER.command, STDIO_SERVER.args);
    this.#child.stderr.pipe(process.stderr);
    this.#lines = createInterface({ input: this.#child.stdout });
    this.#server = createServer((request, response) => void this.#fromClient(request, response));
  }

  static async start(): Promise<StdioShim> {
    const shim = new StdioShim();
    await shim.#learnTools();
    shim.#server.listen(0, "127.0.0.1");
    await once(shim.#server, "listening");
    return shim;
  }

  get mcp(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    const [code] = (await ended) as [number | null];
    if (code !== 0) throw new Error(`The server on standard streams ended with ${code}`);
  }

  async #learnTools(): Promise<void> {
    const _meta = { [META.protocolVersion]: "2026-07-28", [META.clientCapabilities]: {} };
    this.#send({ id: 0, method: "tools/list", params: { _meta } });
    const ended = once(this.#lines, "close").then(() => {
      throw new Error("The server on standard streams did not start");
    });
    const [line] = (await Promise.race([once(this.#lines, "line"), ended])) as [string];
    this.#tools = toolboxOf(JSON.parse(line) as Message);
    this.#lines.on("line", (next) => this.#fromServer(JSON.parse(next) as Message));
  }

  async #fromClient(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refusal = refuseForeign(request, SERVING, {
      scheme: "http",
      port: (this.#server.address() as AddressInfo).port,
    });
    if (refusal !== undefined) return void response.writeHead(403).end();
    if (request.method !== "POST") return void response.writeHead(405).end();
    const message = JSON.parse(await text(request)) as Message;
    if (message.id === undefined) {
      this.#send(message);
      return void response.writeHead(202).end();
    }
    const problem = mismatch(request, message, this.#tools);
    if (problem !== undefined) {
      const id = JSON.stringify(message.id);
      const body = `{"jsonrpc":"2.0","id":${id},"error":${errorText(problem)}}`;
      return void response.writeHead(400, { "content-type": "application/json" }).end(body);
    }
    const key = `shim-${++this.#lastId}`;
    this.#open.set(key, new Exchange(message, response));
    response.on("close", () => {
      if (!this.#open.delete(key)) return;
      this.#send({ method: "notifications/cancelled", params: { requestId: key } });
    });
    return this.#send({ ...message, id: key });
  }

  #fromServer(message: Message): void {
    if (message.method === undefined) {
      const key = String(message.id);
      const exchange = this.#open.get(key);
      this.#open.delete(key);
      exchange?.answer(message);
      return;
    }
    const meta = metaOf(message.params);
    const subscription = meta[META.subscriptionId];
    const token = message.params?.progressToken;
    for (const [key, exchange] of this.#open) {
      if (subscription !== undefined) {
        if (subscription === key) exchange.tellSubscriber(message);
      } else if (token === undefined ? !exchange.isListen : token === exchange.progressToken) {
        exchange.tell(message);
      }
    }
  }

  #send(message: Message): void {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }
}

/** One request and the response that it is answered in. */
class Exchange {
  readonly #request: Message;
  readonly #response: ServerResponse;

  constructor(request: Message, response: ServerResponse) {
    this.#request = request;
    this.#response = response;
  }

  get isListen(): boolean {
    return this.#request.method === "subscriptions/listen";
  }

  get progressToken(): unknown {
    return metaOf(this.#request.params).progressToken;
  }

  tell(message: Message): void {
    if (!this.#response.headersSent) {
      this.#response.writeHead(200, { "content-type": "text/event-stream" });
    }
    this.#response.write(`data: ${JSON.stringify(message)}\n\n`);
  }

  tellSubscriber(message: Message): void {
    const _meta = { ...metaOf(message.params), [META.subscriptionId]: this.#request.id };
    this.tell({ ...message, params: { ...message.params, _meta } });
  }

  answer(message: Message): void {
    const body = { ...message, id: this.#request.id };
    if (this.#response.headersSent) {
      this.tell(body);
      this.#response.end();
      return;
    }
    const { error } = message;
    const isIncomplete = error?.code === -32602 && !isComplete(this.#request);
    const status = isIncomplete ? 400 : (STATUS[error?.code ?? 0] ?? 200);
    this.#response.writeHead(status, { "content-type": "application/json" });
    this.#response.end(JSON.stringify(body));
  }
}

function toolboxOf(message: Message): Toolbox {
  const { tools } = message.result as { tools: readonly ToolDefinition[] };
  const toolbox = new Toolbox();
  for (const definition of tools) {
    toolbox.add({ definition, call: () => Promise.reject(new Error("The server's to call")) });
  }
  return toolbox;
}

function mismatch(
  { headers }: IncomingMessage,
  message: Message,
  tools: Toolbox,
): RpcError | undefined {
  if (!isComplete(message)) return undefined;
  const { method = "", params } = message;
  const { version } = describedClient(params);
  const header = headers["mcp-protocol-version"];
  if (header !== version) return versionMismatch(String(header), version);
  const problem = headerProblem(headers, method, params);
  if (problem !== undefined || method !== "tools/call") return problem;
  return paramHeaderProblem(headers, tools, params);
}

function isComplete({ params }: Message): boolean {
  try {
    describedClient(params);
    return true;
  } catch {
    return false;
  }
}
