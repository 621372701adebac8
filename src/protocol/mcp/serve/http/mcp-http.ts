import type { IncomingMessage, ServerResponse } from "node:http";

import { STANDARD } from "../../../../rpc/codes.ts";
import { parseMessage } from "../../../../rpc/message/message.ts";
import { type PeerLimits, resolvePeerOptions } from "../../../../rpc/peer-options.ts";
import { RpcError } from "../../../../rpc/rpc-error.ts";
import { readHttpBody } from "../../../../wire/channel/http-body.ts";
import { isObject } from "../../../../base/check.ts";
import { TRACE_HEADER } from "../../meta.ts";
import { describesClient, Connection } from "../connection.ts";
import { OWNER, type Principal } from "../../../../base/principal.ts";
import { statelessCodec } from "../../revision/revisions.ts";
import { LegacyRequests } from "./legacy-requests.ts";
import { ModernRequests } from "./modern-requests.ts";
import {
  type Authorization,
  type McpHttpOptions,
  type ResolvedMcpHttpOptions,
  resolveMcpHttpOptions,
} from "./options.ts";
import { refuse, reply, transportError } from "./reply.ts";
import { SseSessions } from "./sse-sessions.ts";

/** RFC 9728, section 3: where the metadata of a protected resource is found. */
const METADATA = "/.well-known/oauth-protected-resource";

/** Handles a message that was read and parsed. */
type Receive = (
  value: unknown,
  text: string,
  request: IncomingMessage,
  response: ServerResponse,
  principal: Principal,
) => void;

type Handle = (request: IncomingMessage, response: ServerResponse, principal: Principal) => void;

/** MCP on HTTP: every revision on /mcp, and the transport of 2024-11-05 on /sse and /messages. */
export class McpHttp {
  readonly #options: ResolvedMcpHttpOptions;
  readonly #peerLimits: PeerLimits;
  readonly #modern: ModernRequests;
  readonly #legacy: LegacyRequests;
  readonly #sse: SseSessions;
  readonly #timer: NodeJS.Timeout;
  readonly #routes: Readonly<Record<string, Readonly<Record<string, Handle>>>>;

  constructor(options: McpHttpOptions) {
    this.#options = resolveMcpHttpOptions(options);
    const { door, withLimits, limits, resourceMetadata } = this.#options;
    this.#peerLimits = resolvePeerOptions(withLimits(door.optionsFor(new Connection()))).limits;
    this.#modern = new ModernRequests(this.#options);
    this.#legacy = new LegacyRequests(this.#options);
    this.#sse = new SseSessions(this.#options);
    this.#timer = setInterval(() => this.#keepAlive(), limits.keepAlive).unref();
    const mcp: Record<string, Handle> = {
      POST: (...exchange) => this.#read(this.#receive, ...exchange),
      GET: (...exchange) => this.#legacy.get(...exchange),
      DELETE: (...exchange) => this.#legacy.delete(...exchange),
    };
    const metadata: Record<string, Handle> = {
      GET: (_, response) => reply(response, 200, JSON.stringify(resourceMetadata)),
    };
    this.#routes = {
      "/mcp": mcp,
      "/sse": { GET: (...exchange) => this.#sse.open(...exchange) },
      "/messages": { POST: (...exchange) => this.#read(this.#receiveSse, ...exchange) },
      ...(resourceMetadata === undefined
        ? {}
        : { [METADATA]: metadata, [`${METADATA}/mcp`]: metadata }),
    };
  }

  /** The number of open sessions and of requests without an answer. */
  get size(): number {
    return this.#modern.size + this.#legacy.size + this.#sse.size;
  }

  /** Whether the path is one of this door's. */
  has(path: string): boolean {
    return Object.hasOwn(this.#routes, path);
  }

  /** Answers a request to one of this door's paths. */
  handle(path: string, request: IncomingMessage, response: ServerResponse): void {
    const { authorize } = this.#options;
    if (authorize === undefined || path.startsWith(METADATA)) {
      return this.#route(path, request, response, OWNER);
    }
    const admit = (found: Authorization): void => this.#admit(found, path, request, response);
    const unknown = (): void => {
      refuse(response, 503, transportError("Cannot tell who you are: try again later"));
    };
    try {
      const found = authorize(request, response);
      // A synchronous result is not delayed by a promise.
      if (found instanceof Promise) found.then(admit, unknown);
      else admit(found);
    } catch {
      unknown();
    }
    return undefined;
  }

  #route(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal,
  ): void {
    const methods = this.#routes[path] ?? {};
    const isStateless = statelessCodec(request.headers["mcp-protocol-version"]) !== undefined;
    const method = request.method ?? "";
    const handle = Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (handle === undefined || (isStateless && path === "/mcp" && method !== "POST")) {
      const allow = isStateless && path === "/mcp" ? "POST" : Object.keys(methods).join(", ");
      const why = transportError(`${path} does not take ${method}`);
      return refuse(response, 405, why, { headers: { allow } });
    }
    return handle(request, response, principal);
  }

  /** Ends the sessions, calls and tasks of a principal whose access was revoked. */
  endOf(principal: string): void {
    this.#options.door.tasks.endOf(principal);
    this.#legacy.endOf(principal);
    this.#modern.endOf(principal);
    this.#sse.endOf(principal);
  }

  /** Answers what is in flight for at most `grace` milliseconds, and ends every conversation. */
  async close(grace: number): Promise<void> {
    clearInterval(this.#timer);
    this.#options.door.close();
    // Long-lived calls are answered by the next turn.
    await new Promise((resolve) => setImmediate(resolve));
    await Promise.all([
      this.#modern.close(grace),
      this.#legacy.close(grace),
      this.#sse.close(grace),
    ]);
  }

  #admit(
    found: Authorization,
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): void {
    if ("principal" in found) {
      return this.#route(path, request, response, found.principal);
    }
    const { status, message, headers = {} } = found;
    return refuse(response, status, transportError(message), { headers });
  }

  #read(
    receive: Receive,
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal,
  ): void {
    const type = request.headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
    if (type !== "application/json") {
      return refuse(response, 415, transportError("Content-Type must be application/json"));
    }
    const { maxMessage } = this.#options.channelLimits;
    readHttpBody(request, maxMessage, (body) => {
      if (typeof body !== "string") {
        if (body.kind === "encoding") {
          return refuse(response, 400, RpcError.of(STANDARD.parse, "body is not valid UTF-8"));
        }
        if (body.kind === "busy") return refuseBusy(response);
        const why = `The body of ${body.size} bytes is over the limit of ${body.limit}`;
        return refuse(response, 413, transportError(why));
      }
      const value = parseMessage(body, this.#peerLimits);
      if (value instanceof RpcError) return refuse(response, 400, value);
      const { traceparent } = request.headers;
      if (traceparent !== undefined) keepTraceHeader(value, traceparent);
      return receive(value, body, request, response, principal);
    });
    return undefined;
  }

  readonly #receive: Receive = (value, text, request, response, principal) => {
    const isStateless =
      statelessCodec(request.headers["mcp-protocol-version"]) !== undefined ||
      (Array.isArray(value) ? value.some(isSelfDescribed) : isSelfDescribed(value));
    if (isStateless) this.#modern.serve(value, text, request, response, principal);
    else this.#legacy.post(value, text, request, response, principal);
  };

  readonly #receiveSse: Receive = (...message) => this.#sse.post(...message);

  #keepAlive(): void {
    this.#modern.keepAlive();
    this.#legacy.keepAlive();
    this.#sse.keepAlive();
  }
}

/** Keeps the header beside the parameters: the message is all that a handler sees of the request. */
function keepTraceHeader(message: unknown, traceparent: unknown): void {
  if (!isObject(message) || !isObject(message.params)) return;
  const meta = isObject(message.params._meta) ? message.params._meta : undefined;
  message.params._meta = { ...meta, [TRACE_HEADER]: traceparent };
}

/** Too many bytes of unfinished requests are buffered. */
function refuseBusy(response: ServerResponse): void {
  const why = "Too much is being sent to this server at once: try again in a moment";
  const headers = { "retry-after": "1", connection: "close" };
  refuse(response, 503, transportError(why), { headers });
}

function isSelfDescribed(message: unknown): boolean {
  return isObject(message) && describesClient(message.params);
}
