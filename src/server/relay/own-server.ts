import { background } from "../../base/background.ts";
import { errorResult, type Tool } from "../../tool/tool.ts";
import {
  type Channel,
  type FrameFault,
  ROOM,
  type Room,
  type Sink,
  type Topic,
} from "../../wire/channel.ts";
import type { Connection } from "../../protocol/mcp/serve/connection.ts";
import type { Peer } from "../../rpc/peer.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import { META } from "../../protocol/mcp/meta.ts";
import {
  acknowledgedBy,
  type Conversation,
  headOf,
  LISTS,
  type OpenRequest,
  paramsOf,
} from "./conversation.ts";

/** An MCP server for one client. Disposing ends what it has opened, after its peer was closed. */
export interface OpenedMcp extends AsyncDisposable {
  readonly peer: Peer<Connection>;
  readonly offer: Offer;
  /** A tool by the name that it has for the client. */
  tool(name: string): Tool | undefined;
}

/** Opens a server for the client of a channel. `firstId` is that of its first request. */
export type OpenServer = (channel: Channel<string>, firstId: number) => Promise<OpenedMcp>;

const LISTEN = "subscriptions/listen";

/**
 * Serves the client of a gateway that has ended with a server in this process. The client notices only
 * the calls that cannot be repeated.
 */
export class OwnServer implements Channel<string> {
  readonly #client: Channel<string>;
  readonly #conversation: Conversation;
  /** Requests that this class repeats on its own: their answers are not sent to the client. */
  readonly #repeated = new Map<string, (answer: string) => void>();
  /** Requests of the gateway that the client may still answer. The answers are dropped. */
  readonly #dropped: Set<string>;
  /** Subscriptions whose acknowledgment the client has got from the gateway. */
  readonly #acknowledged: Set<string>;
  #sink: Sink<string> | undefined;
  #opened: OpenedMcp | undefined;

  private constructor(client: Channel<string>, conversation: Conversation) {
    this.#client = client;
    this.#conversation = conversation;
    this.#dropped = new Set(conversation.questions);
    this.#acknowledged = new Set(conversation.acknowledged);
  }

  static async open(
    client: Channel<string>,
    conversation: Conversation,
    open: OpenServer,
  ): Promise<OwnServer> {
    const server = new OwnServer(client, conversation);
    server.#cancelQuestions();
    server.#opened = await open(server, conversation.nextQuestion);
    await server.#setUp();
    await server.#goOn(server.#opened);
    background(server.#compareLists(), "Comparing what is offered");
    return server;
  }

  // For the client:

  message(text: string): void | Room {
    if (this.#dropped.size > 0) {
      const { idText = "", method } = headOf(text);
      if (method === undefined && this.#dropped.delete(idText)) return undefined;
    }
    return this.#sink?.message(text);
  }

  fault(fault: FrameFault): void {
    this.#sink?.fault(fault);
  }

  end(error?: Error): void {
    this.#sink?.end(error);
  }

  async close(grace: number): Promise<void> {
    await this.#opened?.peer.close(grace);
    await this.#opened?.[Symbol.asyncDispose]();
  }

  // For the peer:

  receive(sink: Sink<string>): void {
    this.#sink = sink;
  }

  send(text: string, topic?: Topic): Room {
    if (topic?.isAnswer === true) {
      const heard = this.#repeated.get(topic.request);
      if (heard !== undefined) {
        this.#repeated.delete(topic.request);
        heard(text);
        return ROOM;
      }
    } else if (this.#acknowledged.size > 0) {
      if (this.#acknowledged.delete(acknowledgedBy(text) ?? "")) return ROOM;
    }
    return this.#client.send(text, topic);
  }

  abort(reason: Error): void {
    this.#client.abort(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client[Symbol.asyncDispose]();
  }

  /** Cancels the requests of the gateway at the client: nobody waits for the answers. */
  #cancelQuestions(): void {
    for (const idText of this.#dropped) {
      const params = `{"requestId":${idText},"reason":"The gateway has ended"}`;
      this.#client.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":${params}}`);
    }
  }

  /** Repeats the messages that set up the session, such as `initialize`, for the new server. */
  async #setUp(): Promise<void> {
    for (const text of this.#conversation.setUp.values()) {
      const { idText } = headOf(text);
      if (idText === undefined) await this.#sink?.message(text);
      else await this.#repeat(idText, text);
    }
  }

  /** Repeats what the client waits for, except calls that may have been carried out. */
  async #goOn(opened: OpenedMcp): Promise<void> {
    const open = [...this.#conversation.open];
    if (open.some(([, { method }]) => method === "tools/call")) await opened.offer.known();
    for (const [idText, request] of open) {
      if (mayRepeat(request, opened)) await this.#sink?.message(request.text);
      else this.#client.send(lostAnswer(idText, request));
    }
  }

  async #repeat(idText: string, text: string): Promise<string> {
    const answer = new Promise<string>((resolve) => this.#repeated.set(idText, resolve));
    await this.#sink?.message(text);
    return await answer;
  }

  /** Tells the client that a list has changed, if the new server has another than the gateway had. */
  async #compareLists(): Promise<void> {
    for (const [method, { text, answer }] of this.#conversation.lists) {
      const { idText = "" } = headOf(text);
      if ((await this.#repeat(idText, text)) !== answer) this.#tellOfChange(method);
    }
  }

  /** MCP 2026-07-28, basic/patterns/subscriptions: only subscribers are notified, with the id of their subscription. */
  #tellOfChange(list: string): void {
    const { changed: method = "", wanted = "" } = LISTS[list] ?? {};
    const tags = this.#conversation.setUp.has("initialize") ? [{}] : this.#subscriptionsTo(wanted);
    for (const params of tags) {
      this.#client.send(JSON.stringify({ jsonrpc: "2.0", method, params }));
    }
  }

  #subscriptionsTo(wanted: string): object[] {
    return [...this.#conversation.open].flatMap(([idText, { method, text }]) => {
      if (method !== LISTEN) return [];
      const { notifications } = paramsOf(text) as { notifications?: Record<string, unknown> };
      if (notifications?.[wanted] !== true) return [];
      return [{ _meta: { [META.subscriptionId]: JSON.parse(idText) as unknown } }];
    });
  }
}

/** All requests can be repeated, except calls of tools that are not marked read-only or idempotent. */
function mayRepeat({ method, text }: OpenRequest, opened: Pick<OpenedMcp, "tool">): boolean {
  if (method !== "tools/call") return true;
  const { name, requestState, task } = paramsOf(text);
  // Tasks, and the state of a call that asked a question, were in the memory of the gateway.
  if (typeof name !== "string" || requestState !== undefined || task !== undefined) return false;
  const { readOnlyHint, idempotentHint } = opened.tool(name)?.definition.annotations ?? {};
  return readOnlyHint === true || idempotentHint === true;
}

function lostAnswer(idText: string, { text }: OpenRequest): string {
  const { name, _meta } = paramsOf(text);
  const isStateless = _meta !== undefined && JSON.stringify(_meta).includes('/protocolVersion"');
  const result = {
    ...errorResult(
      `The gateway that worked on this call has ended, or does not answer. It is unknown whether '${String(name)}' was ` +
        "carried out. Check that before you call it again.",
    ),
    ...(isStateless ? { resultType: "complete" } : {}),
  };
  return `{"jsonrpc":"2.0","id":${idText},"result":${JSON.stringify(result)}}`;
}
