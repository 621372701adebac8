import { atMost } from "../../base/abort.ts";
import { heartbeatChannel } from "../../rpc/heartbeat-channel.ts";
import { recoverMessage } from "../../rpc/message/message.ts";
import { errorText, faultError } from "../../rpc/rpc-error.ts";
import type { Channel, FrameFault, Room } from "../../wire/channel.ts";
import { Conversation } from "./conversation.ts";
import { type OpenServer, openOwnServer, type OwnServer } from "./own-server.ts";
import { CLOSING } from "./reach-gateway.ts";

export interface McpRelayOptions {
  readonly client: Channel<string>;
  readonly gateway: Channel<string>;
  /** Opens a server of our own, once the gateway has ended. */
  readonly open: OpenServer;
  /** The gateway has ended, and we go on without it. */
  readonly tookOver: () => void;
  /** Milliseconds between two looks whether the gateway still answers. */
  readonly beat?: number;
}

/**
 * Passes messages between a client and a gateway, as text. When the gateway ends, or does not answer,
 * this process goes on as the server.
 */
export function mcpRelay(options: McpRelayOptions) {
  const { client } = options;
  const conversation = new Conversation();
  const ended = Promise.withResolvers<void>();
  const lost = Promise.withResolvers<void>();
  const failed = Promise.withResolvers<never>();
  /** Messages of the client that wait for our own server. */
  const waiting: string[] = [];
  /** The gateway takes no new requests. */
  let isLeaving = false;
  let opening: Promise<void> | undefined;
  let own: OwnServer | undefined;
  let isClosed = false;
  const gateway = heartbeatChannel(options.gateway, {
    method: "ping",
    interval: options.beat,
    isWaiting: () => conversation.isAnswerDue,
  });
  gateway.receive({ message: pass, fault: unreadable, end: takeOver });
  client.receive({ message, fault, end });

  /** Waits at most `grace` milliseconds for the answers that the client waits for, and closes. */
  async function close(grace: number): Promise<void> {
    if (opening === undefined) {
      await atMost(grace, Promise.race([conversation.drained(), lost.promise]));
    }
    isClosed = true;
    if (opening === undefined) {
      await gateway[Symbol.asyncDispose]();
      await client[Symbol.asyncDispose]();
      return;
    }
    await opening;
    await own?.close(grace);
  }

  /** Called by the client's channel. */
  function message(text: string): void | Room {
    if (own !== undefined) return own.message(text);
    if (opening !== undefined || (isLeaving && !conversation.isAboutOpen(text))) {
      waiting.push(text);
      return lost.promise.then(() => opening);
    }
    conversation.fromClient(text);
    return gateway.send(text);
  }

  /** Called by the client's channel: a message that was not read whole. */
  function fault(unread: FrameFault): void {
    if (own !== undefined) {
      own.fault(unread);
      return;
    }
    const { idText, isResponse } = recoverMessage(unread);
    (isResponse ? gateway : client).send(refusal(idText, unread));
  }

  /** Called by the client's channel. */
  function end(error?: Error): void {
    own?.end(error);
    ended.resolve();
  }

  function pass(text: string): void | Room {
    if (text === CLOSING) return leave();
    conversation.toClient(text);
    return client.send(text);
  }

  /** A message of the gateway exceeded the size limit. */
  function unreadable(fault: FrameFault): void {
    const { idText, isResponse } = recoverMessage(fault);
    if (!isResponse) return;
    const text = refusal(idText, fault);
    conversation.toClient(text);
    client.send(text);
  }

  function leave(): void {
    isLeaving = true;
    const left = conversation.drained().then(() => gateway.abort(new Error("It closes")));
    left.catch(() => {});
  }

  function takeOver(): void {
    if (opening !== undefined || isClosed) return;
    const going = goOn();
    opening = going.catch(() => {});
    going.catch((error: unknown) => failed.reject(error));
    failed.promise.catch(() => {});
    lost.resolve();
  }

  async function goOn(): Promise<void> {
    await gateway[Symbol.asyncDispose]();
    const server = await openOwnServer(client, conversation, options.open);
    // Messages that arrived while the server was opened are delivered first.
    for (let text = waiting.shift(); text !== undefined; text = waiting.shift()) {
      await server.message(text);
    }
    own = server;
    options.tookOver();
  }

  return {
    close,
    /** Resolves when the client has finished sending, or is gone. Rejects if nobody can serve it. */
    get ended(): Promise<void> {
      return Promise.race([ended.promise, failed.promise]);
    },
  };
}

function refusal(idText: string, fault: FrameFault): string {
  return `{"jsonrpc":"2.0","id":${idText},"error":${errorText(faultError(fault))}}`;
}
