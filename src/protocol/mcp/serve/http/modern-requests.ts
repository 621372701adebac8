import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { atMost } from "../../../../base/abort.ts";
import { attempt } from "../../../../base/attempt.ts";
import { background } from "../../../../base/background.ts";
import { STANDARD, MCP } from "../../../../rpc/codes.ts";
import { classify } from "../../../../rpc/message/message.ts";
import { Peer } from "../../../../rpc/peer.ts";
import type { PeerOptions } from "../../../../rpc/peer-options.ts";
import { RpcError } from "../../../../rpc/rpc-error.ts";
import { describedClient, describesClient, unsupportedVersion, Connection } from "../connection.ts";
import { mcpDialect } from "../../dialect.ts";
import { nameOfRequest, parameterHeaders, valueAt } from "../../param-headers.ts";
import { OWNER, type Principal } from "../../../../base/principal.ts";
import { statelessCodec } from "../../revision/revisions.ts";
import type { ResolvedMcpHttpOptions } from "./options.ts";
import { accepted, invalid, type PostedMessage, refuse, reply } from "./reply.ts";
import type { Toolbox } from "../../../../tool/toolbox.ts";
import { isObject } from "../../../../base/check.ts";
import { nextTurn } from "../../../../base/event-loop.ts";
import {
  type Channel,
  type ChannelLimits,
  ROOM,
  type Sink,
  type Topic,
} from "../../../../wire/channel.ts";
import { EventResponse } from "../../../../wire/channel/event-response.ts";
import { encodeSse } from "../../../../wire/framing/sse.ts";

/** Requests of 2026-07-28 ("modern" in the specification): nothing is remembered between them. */
export class ModernRequests {
  readonly #options: ResolvedMcpHttpOptions;
  /** Stateless requests keep nothing in a connection: the owner's requests share one. */
  readonly #connection = new Connection();
  readonly #peerOptions: PeerOptions<Connection>;
  readonly #open = new Map<ModernExchange, Peer<Connection>>();

  constructor(options: ResolvedMcpHttpOptions) {
    this.#options = options;
    this.#peerOptions = options.withLimits(options.door.optionsFor(this.#connection));
  }

  /** Requests that wait for their answers. */
  get size(): number {
    return this.#open.size;
  }

  serve({ value, text, request, response }: PostedMessage, principal: Principal): void {
    if (Array.isArray(value)) {
      return refuse(response, 400, invalid("2026-07-28 has no batches: send each message alone"));
    }
    const message = classify(value, text, mcpDialect);
    switch (message.kind) {
      case "invalid":
        return refuse(response, 400, invalid(message.why), { id: String(message.id) });
      case "answer":
        return refuse(response, 400, invalid("nothing was asked that this could answer"));
      // § Sending Messages: 202. Cancelling is done by closing the connection.
      case "notification":
        return accepted(response);
      case "request":
    }
    const { headers } = request;
    const { method, params } = message;
    const id = String(message.id);
    const problem = envelopeProblem(headers, method, params);
    if (problem !== undefined) return refuse(response, 400, problem, { id });
    const connection = principal === OWNER ? this.#connection : new Connection(principal);
    if (method === "tools/call") {
      const { door } = this.#options;
      const profile = door.profileOf(describedClient(params), connection);
      const tools = { get: (name: string) => door.offer.tools.get(name, profile, principal) };
      const mismatch = paramHeaderProblem(headers, tools, params);
      if (mismatch !== undefined) return refuse(response, 400, mismatch, { id });
    }
    const exchange = new ModernExchange(response, this.#options.channelLimits);
    const peer = new Peer(exchange, connection, this.#peerOptions);
    background(peer.message(text, value), "Taking a message");
    if (exchange.isAnswered) return;
    this.#open.set(exchange, peer);
    exchange.onOver(() => this.#open.delete(exchange));
  }

  keepAlive(): void {
    for (const exchange of this.#open.keys()) exchange.keepAlive();
  }

  endOf(principal: string): void {
    for (const peer of this.#open.values()) {
      if (peer.state.principal.id === principal) background(peer.close(0), "Ending a request");
    }
  }

  async close(grace: number): Promise<void> {
    await Promise.all(Array.from(this.#open.values(), (peer) => peer.close(grace)));
  }
}

/** What is wrong with the headers and `_meta` of a request, in the order that clients rely on. */
function envelopeProblem(
  headers: IncomingHttpHeaders,
  method: string,
  params: unknown,
): RpcError | undefined {
  const header = headers["mcp-protocol-version"] as string | undefined;
  if (method === "initialize" && !describesClient(params)) {
    // `initialize` without `_meta` is of an earlier revision: the header is wrong.
    return versionMismatch(header, "initialize");
  }
  try {
    const { version } = describedClient(params);
    if (header !== version) return versionMismatch(header, version);
    if (statelessCodec(version) === undefined) return unsupportedVersion(version);
  } catch (error) {
    if (error instanceof RpcError) return error;
    throw error;
  }
  return headerProblem(headers, method, params);
}

/**
 * MCP 2026-07-28, basic/transports/streamable-http § Server Validation: the headers that repeat parts
 * of the body must match it, since proxies route by them. Returns the error where they do not.
 */
export function headerProblem(
  headers: IncomingHttpHeaders,
  method: string,
  params: unknown,
): RpcError | undefined {
  const said = single(headers["mcp-method"]);
  if (said !== method) return mismatch("Mcp-Method", said, method);
  const name = nameOfRequest(method, params);
  if (name === undefined) return undefined;
  const header = single(headers["mcp-name"]);
  // The common case: the same text, with nothing to decode.
  if (header === name && !name.startsWith("=?")) return undefined;
  if (header === undefined || decodeHeader(header) !== name) {
    return mismatch("Mcp-Name", header, name);
  }
  return undefined;
}

/** The same for arguments that the tool's schema marks (§ Custom Headers from Tool Parameters). */
export function paramHeaderProblem(
  headers: IncomingHttpHeaders,
  tools: Pick<Toolbox, "get">,
  params: unknown,
): RpcError | undefined {
  if (!isObject(params) || typeof params.name !== "string") return undefined;
  const tool = tools.get(params.name);
  if (tool === undefined) return undefined;
  for (const marked of parameterHeaders(tool.definition.inputSchema).headers) {
    const header = `mcp-param-${marked.header}`;
    const value = valueAt(params.arguments, marked.path);
    if (value === undefined || value === null) continue;
    const said = single(headers[header]);
    const text = said === undefined ? undefined : decodeHeader(said);
    if (text === undefined || !saysTheSame(text, value)) {
      return mismatch(header, said, JSON.stringify(value));
    }
  }
  return undefined;
}

export function versionMismatch(header: string | undefined, version: string): RpcError {
  return mismatch("MCP-Protocol-Version", header, version);
}

function mismatch(name: string, header: string | undefined, value: string): RpcError {
  const says = header === undefined ? "is missing" : `'${header}' does not match`;
  return RpcError.of(MCP.headerMismatch, `${name} header ${says}; the body says '${value}'`);
}

function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(", ") : header;
}

const PREFIX = "=?base64?";
const SUFFIX = "?=";
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * The text that a header stands for: itself, or what is in `=?base64?…?=`, which clients use where
 * a header could not carry the text. Undefined when that cannot be read.
 */
function decodeHeader(value: string): string | undefined {
  if (!value.startsWith(PREFIX) || !value.endsWith(SUFFIX)) return value;
  const encoded = value.slice(PREFIX.length, -SUFFIX.length);
  if (!BASE64.test(encoded)) return undefined;
  return attempt(() => utf8.decode(Buffer.from(encoded, "base64")));
}

/** Whether a header says the same as the argument it stands for. */
export function saysTheSame(text: string, value: unknown): boolean {
  if (typeof value === "number") return text.trim() !== "" && Number(text) === value;
  return text === String(value);
}

/**
 * One request of 2026-07-28 and its answer: JSON, or events where something is sent before the answer.
 * Closing the connection cancels it (basic/transports/streamable-http § Cancellation).
 */
export class ModernExchange implements Channel<string> {
  readonly #response: ServerResponse;
  readonly #limits: ChannelLimits;
  #events: EventResponse | undefined;
  #sink: Sink<string> | undefined;
  isAnswered = false;
  #isSlow = false;

  constructor(response: ServerResponse, limits: ChannelLimits) {
    this.#response = response;
    this.#limits = limits;
  }

  /** The request was read already: the sink is only told when the client is gone. */
  receive(sink: Sink<string>): void {
    this.#sink = sink;
  }

  /** Calls back when the exchange is over, however it ends. */
  onOver(listener: () => void): void {
    this.#response.on("close", () => {
      if (!this.isAnswered) {
        this.#gone(this.#response.errored ?? new Error("The client closed the connection"));
      }
      listener();
    });
  }

  send(text: string, topic?: Topic): Promise<void> {
    if (this.isAnswered) return ROOM;
    if (topic?.isAnswer !== true) return this.#stream().send(frame(text));
    this.isAnswered = true;
    if (this.#events !== undefined) this.#events.end(frame(text));
    else reply(this.#response, statusOf(topic.errorCode), text);
    return ROOM;
  }

  /**
   * Sends a keep-alive. With the second one, the response becomes a stream; before, the answer may
   * still be an error with a status of its own.
   */
  keepAlive(): void {
    if (this.isAnswered) return;
    if (this.#isSlow) this.#stream().keepAlive();
    this.#isSlow = true;
  }

  abort(reason: Error): void {
    this.#gone(reason);
    this.#response.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const isLeaving = this.isAnswered && this.#events === undefined;
    this.isAnswered = true;
    this.#sink = undefined;
    // The answer is sent at the end of the turn if something has to be written before.
    if (isLeaving) await nextTurn();
    this.#events?.end();
    if (this.#response.writableEnded && !this.#response.closed) await this.#taken();
    this.#response.destroy();
  }

  /** Waits until the client has taken all there is, but no longer than the grace. */
  async #taken(): Promise<void> {
    const taken = Promise.withResolvers<void>();
    this.#response.once("close", taken.resolve);
    await atMost(this.#limits.closeGrace, taken.promise);
  }

  #stream(): EventResponse {
    this.#events ??= new EventResponse(this.#response, this.#limits);
    return this.#events;
  }

  #gone(reason: Error): void {
    this.isAnswered = true;
    const sink = this.#sink;
    this.#sink = undefined;
    sink?.end(reason);
  }
}

function frame(text: string): string {
  return encodeSse(text, { event: "message" });
}

// MCP 2026-07-28, basic/transports/streamable-http § Protocol Version Header: 404 for -32601.
const STATUS: ReadonlyMap<number, number> = new Map([
  [STANDARD.methodNotFound.code, 404],
  [MCP.headerMismatch.code, 400],
  [MCP.missingCapability.code, 400],
  [MCP.unsupportedVersion.code, 400],
]);

/** § Server Validation: an HTTP error for a bad request; all other errors come with status 200. */
function statusOf(errorCode: number | undefined): number {
  return errorCode === undefined ? 200 : (STATUS.get(errorCode) ?? 200);
}
