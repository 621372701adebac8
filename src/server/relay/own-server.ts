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

export type OwnServer = Awaited<ReturnType<typeof openOwnServer>>;

/**
 * Serves the client of a gateway that has ended with a server in this process. The client notices only
 * the calls that cannot be repeated.
 */
export async function openOwnServer(
  client: Channel<string>,
  conversation: Conversation,
  open: OpenServer,
) {
  /** Requests that are repeated here: their answers are not sent to the client. */
  const repeated = new Map<string, (answer: string) => void>();
  /** Requests of the gateway that the client may still answer. The answers are dropped. */
  const dropped = new Set(conversation.questions);
  /** Subscriptions whose acknowledgment the client has got from the gateway. */
  const acknowledged = new Set(conversation.acknowledged);
  let sink: Sink<string> | undefined;
  const channel: Channel<string> = {
    send,
    receive: (to) => {
      sink = to;
    },
    abort: (reason) => client.abort(reason),
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
  cancelQuestions();
  const opened = await open(channel, conversation.nextQuestion);
  await setUp();
  await goOn();
  background(compareLists(), "Comparing what is offered");

  function message(text: string): void | Room {
    if (dropped.size > 0) {
      const { idText = "", method } = headOf(text);
      if (method === undefined && dropped.delete(idText)) return undefined;
    }
    return sink?.message(text);
  }

  function send(text: string, topic?: Topic): Room {
    if (topic?.isAnswer === true) {
      const heard = repeated.get(topic.request);
      if (heard !== undefined) {
        repeated.delete(topic.request);
        heard(text);
        return ROOM;
      }
    } else if (acknowledged.size > 0) {
      if (acknowledged.delete(acknowledgedBy(text) ?? "")) return ROOM;
    }
    return client.send(text, topic);
  }

  /** Cancels the requests of the gateway at the client: nobody waits for the answers. */
  function cancelQuestions(): void {
    for (const idText of dropped) {
      const params = `{"requestId":${idText},"reason":"The gateway has ended"}`;
      client.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":${params}}`);
    }
  }

  /** Repeats the messages that set up the session, such as `initialize`, for the new server. */
  async function setUp(): Promise<void> {
    for (const text of conversation.setUp.values()) {
      const { idText } = headOf(text);
      if (idText === undefined) await sink?.message(text);
      else await repeat(idText, text);
    }
  }

  /** Repeats what the client waits for, except calls that may have been carried out. */
  async function goOn(): Promise<void> {
    const open = [...conversation.open];
    if (open.some(([, { method }]) => method === "tools/call")) await opened.offer.known();
    for (const [idText, request] of open) {
      if (mayRepeat(request, opened)) await sink?.message(request.text);
      else client.send(lostAnswer(idText, request));
    }
  }

  async function repeat(idText: string, text: string): Promise<string> {
    const answer = new Promise<string>((resolve) => repeated.set(idText, resolve));
    await sink?.message(text);
    return await answer;
  }

  /** Tells the client that a list has changed, if the new server has another than the gateway had. */
  async function compareLists(): Promise<void> {
    for (const [method, { text, answer }] of conversation.lists) {
      const { idText = "" } = headOf(text);
      if ((await repeat(idText, text)) !== answer) tellOfChange(method);
    }
  }

  /** MCP 2026-07-28, basic/patterns/subscriptions: only subscribers are notified, with the id of their subscription. */
  function tellOfChange(list: string): void {
    const { changed: method = "", wanted = "" } = LISTS[list] ?? {};
    const tags = conversation.setUp.has("initialize") ? [{}] : subscriptionsTo(wanted);
    for (const params of tags) {
      client.send(JSON.stringify({ jsonrpc: "2.0", method, params }));
    }
  }

  function subscriptionsTo(wanted: string): object[] {
    return [...conversation.open].flatMap(([idText, { method, text }]) => {
      if (method !== LISTEN) return [];
      const { notifications } = paramsOf(text) as { notifications?: Record<string, unknown> };
      if (notifications?.[wanted] !== true) return [];
      return [{ _meta: { [META.subscriptionId]: JSON.parse(idText) as unknown } }];
    });
  }

  return {
    message,
    fault: (fault: FrameFault) => sink?.fault(fault),
    end: (error?: Error) => sink?.end(error),
    close: async (grace: number): Promise<void> => {
      await opened.peer.close(grace);
      await opened[Symbol.asyncDispose]();
    },
  };
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
