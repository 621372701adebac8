import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";

import { background } from "../../../../base/background.ts";
import { STANDARD } from "../../../../rpc/codes.ts";
import { classify } from "../../../../rpc/message/message.ts";
import { Peer } from "../../../../rpc/peer.ts";
import type { PeerOptions } from "../../../../rpc/peer-options.ts";
import { RpcError } from "../../../../rpc/rpc-error.ts";
import { describedClient, describesClient, unsupportedVersion, Connection } from "../connection.ts";
import { mcpDialect } from "../../dialect.ts";
import { OWNER, type Principal } from "../../../../base/principal.ts";
import { statelessCodec } from "../../revision/revisions.ts";
import { headerProblem, paramHeaderProblem, versionMismatch } from "./check-headers.ts";
import { ModernExchange } from "./modern-exchange.ts";
import type { ResolvedMcpHttpOptions } from "./options.ts";
import { accepted, refuse } from "./reply.ts";

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

  serve(
    value: unknown,
    text: string,
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal,
  ): void {
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
      const tools = { get: (name: string) => door.offer.tools.get(name, profile) };
      const mismatch = paramHeaderProblem(headers, tools, params);
      if (mismatch !== undefined) return refuse(response, 400, mismatch, { id });
    }
    const exchange = new ModernExchange(response, this.#options.channelLimits);
    const peer = new Peer(exchange, connection, this.#peerOptions);
    background(peer.message(text, value), "Taking a message");
    if (exchange.isAnswered) return undefined;
    this.#open.set(exchange, peer);
    exchange.onOver(() => this.#open.delete(exchange));
    return undefined;
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

function invalid(why: string): RpcError {
  return RpcError.of(STANDARD.invalidRequest, why);
}
