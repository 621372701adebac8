import type { IncomingMessage, ServerResponse } from "node:http";

import { background } from "../../../../base/background.ts";
import { evictedFor } from "../../../../base/limit/eviction.ts";
import { readElements } from "../../../../rpc/message/envelope.ts";
import { classify, type Message } from "../../../../rpc/message/message.ts";
import { mcpDialect } from "../../dialect.ts";
import type { Principal } from "../../../../base/principal.ts";
import { SESSION_REVISIONS, sessionCodec } from "../../revision/revisions.ts";
import { accepted, accepts, invalid, type PostedMessage, refuse, transportError } from "./reply.ts";
import type { ResolvedMcpHttpOptions } from "./options.ts";
import { type ResumeProblem, Session } from "./session.ts";

const JSON_TYPE = "application/json";
const EVENTS_TYPE = "text/event-stream";

/** Streamable HTTP with sessions, of 2025-03-26 to 2025-11-25 ("legacy" in the specification). */
export class LegacyRequests {
  readonly #options: ResolvedMcpHttpOptions;
  readonly #sessions = new Map<string, Session>();

  constructor(options: ResolvedMcpHttpOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#sessions.size;
  }

  post(posted: PostedMessage, principal: Principal): void {
    const { value, text, request, response } = posted;
    // MCP 2025-11-25, basic/transports § Sending Messages to the Server: both types are listed.
    const { accept } = request.headers;
    if (!accepts(accept, JSON_TYPE) || !accepts(accept, EVENTS_TYPE)) {
      const why = `Accept must list ${JSON_TYPE} and ${EVENTS_TYPE}`;
      return refuse(response, 406, transportError(why));
    }
    const messages = Array.isArray(value)
      ? classifyBatch(value, text)
      : [classify(value, text, mcpDialect)];
    const [first] = messages;
    if (!Array.isArray(value) && first?.kind === "invalid") {
      return refuse(response, 400, invalid(first.why), { id: String(first.id) });
    }
    if (messages.some(isInitialize)) return this.#initialize(posted, messages, principal);
    const session = this.#find(request, response, principal);
    if (session === undefined) return undefined;
    if (
      Array.isArray(value) &&
      (!session.connection.client.codec.has.batches || first === undefined)
    ) {
      const why = first === undefined ? "batch is empty" : "batches are not supported";
      return refuse(response, 400, invalid(why));
    }
    return this.#take(session, posted, messages);
  }

  /** GET: opens the stream for messages outside requests, or resumes a lost stream. */
  get(request: IncomingMessage, response: ServerResponse, principal: Principal): void {
    const { headers } = request;
    if (!accepts(headers.accept, EVENTS_TYPE)) {
      return refuse(response, 406, transportError(`Accept must list ${EVENTS_TYPE}`));
    }
    const session = this.#find(request, response, principal);
    if (session === undefined) return undefined;
    const lastEventId = headers["last-event-id"];
    if (typeof lastEventId === "string") {
      const problem = session.resume(lastEventId, response);
      return problem === undefined ? undefined : refuseResume(problem, response);
    }
    if (session.listen(response)) return undefined;
    return refuse(response, 409, transportError("This session has a GET stream already"));
  }

  /** DELETE: ends the session. */
  delete(request: IncomingMessage, response: ServerResponse, principal: Principal): void {
    const session = this.#find(request, response, principal);
    if (session === undefined) return;
    this.#end(session);
    response.writeHead(200, { "content-length": 0 }).end();
  }

  /** Sends keep-alives, and ends sessions that are idle for too long. */
  keepAlive(): void {
    for (const session of this.#sessions.values()) {
      if (session.idle > this.#options.limits.sessionIdle) this.#end(session);
      else session.keepAlive();
    }
  }

  /** Ends the sessions of a principal, without waiting for calls in flight. */
  endOf(principal: string): void {
    for (const session of this.#sessions.values()) {
      if (session.owner === principal) this.#end(session);
    }
  }

  async close(grace: number): Promise<void> {
    await Promise.all(Array.from(this.#sessions.values(), (each) => this.#close(each, grace)));
  }

  /** Opens a session. Where there are too many, an idle one is ended for it. */
  #open(principal: Principal): Session | undefined {
    if (this.#sessions.size >= this.#options.limits.maxSessions) {
      const leaving = evictedFor(principal.id, this.#sessions.values());
      if (leaving === undefined) return undefined;
      this.#end(leaving);
    }
    const session = new Session(this.#options, principal);
    this.#sessions.set(session.id, session);
    this.#options.onSession("opened");
    return session;
  }

  #end(session: Session): void {
    background(this.#close(session, 0), "Ending a session of MCP");
  }

  async #close(session: Session, grace: number): Promise<void> {
    if (!this.#sessions.delete(session.id)) return;
    this.#options.onSession("closed");
    await session.peer.close(grace);
  }

  #initialize(posted: PostedMessage, messages: readonly Message[], principal: Principal): void {
    const { value, request, response } = posted;
    const id = request.headers["mcp-session-id"];
    if (Array.isArray(value)) {
      return refuse(response, 400, invalid("'initialize' must be sent alone"));
    }
    if (typeof id === "string") {
      if (this.#sessions.get(id)?.owner !== principal.id) return refuseUnknown(response);
      return refuse(response, 400, invalid("this session is initialized already"));
    }
    const session = this.#open(principal);
    if (session === undefined) {
      const why = transportError("Too many sessions are open: end one, or try again later");
      return refuse(response, 503, why, { headers: { "retry-after": "30" } });
    }
    this.#take(session, posted, messages);
    // `initialize` failed, and its answer says why.
    if (!session.connection.isInitialized) this.#end(session);
  }

  #take(session: Session, posted: PostedMessage, messages: readonly Message[]): void {
    const { response } = posted;
    const ids = new Set<string>();
    for (const message of messages) {
      if (message.kind === "request" || message.kind === "invalid") ids.add(String(message.id));
    }
    if (ids.size === 0) {
      session.accept(posted);
      return accepted(response);
    }
    const clash = session.exchange(posted, ids);
    if (clash === undefined) return undefined;
    return refuse(response, 400, invalid(`id ${clash} belongs to a request in flight`));
  }

  /** The session of a request. Where there is none, the request is refused here. */
  #find(
    { headers }: IncomingMessage,
    response: ServerResponse,
    principal: Principal,
  ): Session | undefined {
    // MCP 2025-11-25, basic/transports § Session Management and § Protocol Version Header.
    const id = headers["mcp-session-id"];
    const version = headers["mcp-protocol-version"];
    if (typeof id !== "string") {
      refuse(response, 400, transportError("Mcp-Session-Id is missing: send 'initialize' first"));
      return undefined;
    }
    if (version !== undefined && sessionCodec(version) === undefined) {
      const known = SESSION_REVISIONS.join(", ");
      const why = `MCP-Protocol-Version '${String(version)}' is not supported here: ${known} are`;
      refuse(response, 400, transportError(why));
      return undefined;
    }
    const session = this.#sessions.get(id);
    if (session?.owner !== principal.id) {
      refuseUnknown(response);
      return undefined;
    }
    session.usedAt = performance.now();
    return session;
  }
}

/** Classifies each element by its own text, since ids are kept as they were written. */
function classifyBatch(values: readonly unknown[], text: string): Message[] {
  const texts = readElements(text);
  return values.map((one, index) => classify(one, texts[index] ?? "", mcpDialect));
}

function isInitialize(message: Message): boolean {
  return message.kind === "request" && message.method === "initialize";
}

function refuseUnknown(response: ServerResponse): void {
  const why = "No session has this id: begin one with 'initialize'";
  refuse(response, 404, transportError(why, -32001));
}

function refuseResume(problem: ResumeProblem, response: ServerResponse): void {
  switch (problem) {
    case "unknown":
      return refuse(response, 400, transportError("Last-Event-ID is not one of this session"));
    case "connected":
      return refuse(response, 409, transportError("This stream is connected already"));
    case "finished":
      // Clients stop retrying only on this status.
      return refuse(response, 405, transportError("This stream has ended"), {
        headers: { allow: "POST, DELETE" },
      });
  }
}
