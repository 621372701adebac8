import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";

import { background } from "../../../../base/background.ts";
import { Peer } from "../../../../rpc/peer.ts";
import type { Channel, Sink } from "../../../../wire/channel.ts";
import { EventResponse } from "../../../../wire/channel/event-response.ts";
import { encodeSse } from "../../../../wire/framing/sse.ts";
import { Connection } from "../connection.ts";
import type { Principal } from "../../../../base/principal.ts";
import { accepts, type PostedMessage, refuse, transportError } from "./reply.ts";
import type { ResolvedMcpHttpOptions } from "./options.ts";

/** MCP 2024-11-05, basic/transports § HTTP with SSE: one GET for all answers, a POST a message. */
export class SseSessions {
  readonly #options: ResolvedMcpHttpOptions;
  readonly #sessions = new Map<string, SseSession>();

  constructor(options: ResolvedMcpHttpOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** GET /sse: begins a session that lasts as long as the response. */
  open(request: IncomingMessage, response: ServerResponse, principal: Principal): void {
    if (!accepts(request.headers.accept, "text/event-stream")) {
      return refuse(response, 406, transportError("Accept must list text/event-stream"));
    }
    if (this.#sessions.size >= this.#options.limits.maxSessions) {
      return refuse(response, 503, transportError("Too many sessions are open: try again later"));
    }
    const id = randomBytes(24).toString("base64url");
    const session = sseSession(response, this.#options, principal);
    this.#sessions.set(id, session);
    this.#options.onSession("opened");
    response.on("close", () => {
      this.#sessions.delete(id);
      this.#options.onSession("closed");
    });
    session.begin(`/messages?sessionId=${id}`);
  }

  /** POST /messages: a message of the client, answered on the session's stream. */
  post({ value, text, request, response }: PostedMessage, principal: Principal): void {
    const id = new URLSearchParams(request.url?.split("?")[1]).get("sessionId") ?? "";
    const session = this.#sessions.get(id);
    if (session?.connection.principal.id !== principal.id) {
      const why = "No session has this id: begin one with GET /sse";
      return refuse(response, 404, transportError(why, -32001));
    }
    response.writeHead(202, { "content-length": 8 }).end("Accepted");
    background(session.peer.message(text, value), "Taking a message");
  }

  keepAlive(): void {
    for (const session of this.#sessions.values()) session.keepAlive();
  }

  endOf(principal: string): void {
    for (const { connection, peer } of this.#sessions.values()) {
      if (connection.principal.id === principal)
        background(peer.close(0), "Ending a session of MCP");
    }
  }

  async close(grace: number): Promise<void> {
    await Promise.all(Array.from(this.#sessions.values(), ({ peer }) => peer.close(grace)));
  }
}

type SseSession = ReturnType<typeof sseSession>;

function sseSession(
  response: ServerResponse,
  options: ResolvedMcpHttpOptions,
  principal: Principal,
) {
  const connection = new Connection(principal);
  const events = new EventResponse(response, options.channelLimits);
  let receiver: Sink<string> | undefined;
  const abort = (reason: Error): void => {
    const sink = receiver;
    receiver = undefined;
    events.end();
    connection[Symbol.dispose]();
    sink?.end(reason);
  };
  response.on("close", () => abort(new Error("The client closed the connection")));
  const channel: Channel<string> = {
    receive(sink) {
      receiver = sink;
    },
    send: (text) => events.send(encodeSse(text, { event: "message" })),
    abort,
    async [Symbol.asyncDispose]() {
      receiver = undefined;
      connection[Symbol.dispose]();
      events.end();
    },
  };
  const door = options.door.optionsFor(connection);
  return {
    connection,
    peer: new Peer<Connection>(channel, connection, options.withLimits(door)),
    begin: (endpoint: string) => events.send(encodeSse(endpoint, { event: "endpoint" })),
    keepAlive: () => events.keepAlive(),
  };
}
