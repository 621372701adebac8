import type { IncomingMessage, ServerResponse } from "node:http";

import { nextTurn } from "../../../../base/event-loop.ts";
import { STANDARD } from "../../../../rpc/codes.ts";
import { parseMessage } from "../../../../rpc/message/message.ts";
import { type PeerLimits, resolvePeerLimits } from "../../../../rpc/peer-options.ts";
import { RpcError } from "../../../../rpc/rpc-error.ts";
import type { FrameFault } from "../../../../wire/channel.ts";
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
import { type PostedMessage, refuse, reply, transportError } from "./reply.ts";
import { SseSessions } from "./sse-sessions.ts";

/** RFC 9728, section 3: where the metadata of a protected resource is found. */
const METADATA = "/.well-known/oauth-protected-resource";

type Handle = (
  request: IncomingMessage,
  response: ServerResponse,
  principal: Principal,
) => void | Promise<void>;

/** MCP on HTTP: every revision on /mcp, and the transport of 2024-11-05 on /sse and /messages. */
export class McpHttp {
  readonly #options: ResolvedMcpHttpOptions;
  readonly #peerLimits: PeerLimits;
  readonly #modern: ModernRequests;
  readonly #legacy: LegacyRequests;
  readonly #sse: SseSessions;
  /** The three transports. */
  readonly #transports: readonly (ModernRequests | LegacyRequests | SseSessions)[];
  readonly #timer: NodeJS.Timeout;
  readonly #routes: Readonly<Record<string, Readonly<Record<string, Handle>>>>;

  constructor(options: McpHttpOptions) {
    this.#options = resolveMcpHttpOptions(options);
    const { door, withLimits, limits, resourceMetadata } = this.#options;
    this.#peerLimits = resolvePeerLimits(withLimits(door.optionsFor(new Connection())).limits);
    this.#modern = new ModernRequests(this.#options);
    this.#legacy = new LegacyRequests(this.#options);
    this.#sse = new SseSessions(this.#options);
    this.#transports = [this.#modern, this.#legacy, this.#sse];
    const keepAlive = (): void => this.#transports.forEach((each) => each.keepAlive());
    this.#timer = setInterval(keepAlive, limits.keepAlive).unref();
    const mcp: Record<string, Handle> = {
      POST: this.#post,
      GET: (...exchange) => this.#legacy.get(...exchange),
      DELETE: (...exchange) => this.#legacy.delete(...exchange),
    };
    const metadata: Record<string, Handle> = {
      GET: (_, response) => reply(response, 200, JSON.stringify(resourceMetadata)),
    };
    this.#routes = {
      "/mcp": mcp,
      "/sse": { GET: (...exchange) => this.#sse.open(...exchange) },
      "/messages": { POST: this.#postSse },
      ...(resourceMetadata === undefined
        ? {}
        : { [METADATA]: metadata, [`${METADATA}/mcp`]: metadata }),
    };
  }

  /** The number of open sessions and of requests without an answer. */
  get size(): number {
    return this.#transports.reduce((sum, each) => sum + each.size, 0);
  }

  /** Whether the path is one of this door's. */
  has(path: string): boolean {
    return Object.hasOwn(this.#routes, path);
  }

  /** Answers a request to one of this door's paths. */
  async handle(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { authorize } = this.#options;
    let found: Authorization = { principal: OWNER };
    if (authorize !== undefined && !path.startsWith(METADATA)) {
      try {
        found = await authorize(request, response);
      } catch {
        return refuse(response, 503, transportError("Cannot tell who you are: try again later"));
      }
    }
    if (!("principal" in found)) {
      const { status, message, headers = {} } = found;
      return refuse(response, status, transportError(message), { headers });
    }
    const methods = this.#routes[path] ?? {};
    const isStateless = statelessCodec(request.headers["mcp-protocol-version"]) !== undefined;
    const method = request.method ?? "";
    const handle = Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (handle === undefined || (isStateless && path === "/mcp" && method !== "POST")) {
      const allow = isStateless && path === "/mcp" ? "POST" : Object.keys(methods).join(", ");
      const why = transportError(`${path} does not take ${method}`);
      return refuse(response, 405, why, { headers: { allow } });
    }
    return handle(request, response, found.principal);
  }

  /** Ends the sessions, calls and tasks of a principal whose access was revoked. */
  endOf(principal: string): void {
    this.#options.door.tasks.endOf(principal);
    for (const each of this.#transports) each.endOf(principal);
  }

  /** Answers what is in flight for at most `grace` milliseconds, and ends every conversation. */
  async close(grace: number): Promise<void> {
    clearInterval(this.#timer);
    this.#options.door.close();
    // Long-lived calls are answered by the next turn.
    await nextTurn();
    await Promise.all(this.#transports.map((each) => each.close(grace)));
    // Their last answers leave at the end of the turn.
    await nextTurn();
  }

  readonly #post: Handle = async (request, response, principal) => {
    const message = await this.#read(request, response);
    if (message === undefined) return;
    const isStateless =
      statelessCodec(request.headers["mcp-protocol-version"]) !== undefined ||
      [message.value].flat().some(isSelfDescribed);
    if (isStateless) this.#modern.serve(message, principal);
    else this.#legacy.post(message, principal);
  };

  readonly #postSse: Handle = async (request, response, principal) => {
    const message = await this.#read(request, response);
    if (message !== undefined) this.#sse.post(message, principal);
  };

  /** The message of a POST. Where there is none, the request is refused here. */
  async #read(
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<PostedMessage | undefined> {
    const type = request.headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
    if (type !== "application/json") {
      refuse(response, 415, transportError("Content-Type must be application/json"));
      return undefined;
    }
    const text = await readHttpBody(request, this.#options.channelLimits.maxMessage);
    if (text === undefined) return undefined;
    if (typeof text !== "string") {
      refuseBody(text, response);
      return undefined;
    }
    const value = parseMessage(text, this.#peerLimits);
    if (value instanceof RpcError) {
      refuse(response, 400, value);
      return undefined;
    }
    const { traceparent } = request.headers;
    if (traceparent !== undefined) keepTraceHeader(value, traceparent);
    return { request, response, value, text };
  }
}

/** Keeps the header beside the parameters: the message is all that a handler sees of the request. */
function keepTraceHeader(message: unknown, traceparent: unknown): void {
  if (!isObject(message) || !isObject(message.params)) return;
  const meta = isObject(message.params._meta) ? message.params._meta : undefined;
  message.params._meta = { ...meta, [TRACE_HEADER]: traceparent };
}

function refuseBody({ kind, size, limit }: FrameFault, response: ServerResponse): void {
  if (kind === "encoding") {
    return refuse(response, 400, RpcError.of(STANDARD.parse, "body is not valid UTF-8"));
  }
  if (kind === "oversize") {
    const why = `The body of ${size} bytes is over the limit of ${limit}`;
    return refuse(response, 413, transportError(why));
  }
  // Too many bytes of unfinished requests are buffered.
  const why = "Too much is being sent to this server at once: try again in a moment";
  const headers = { "retry-after": "1", connection: "close" };
  return refuse(response, 503, transportError(why), { headers });
}

function isSelfDescribed(message: unknown): boolean {
  return isObject(message) && describesClient(message.params);
}
