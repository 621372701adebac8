import { atMost } from "../../base/abort.ts";
import { HeartbeatChannel } from "../../rpc/heartbeat-channel.ts";
import { recoverMessage } from "../../rpc/message/message.ts";
import { errorText, faultError } from "../../rpc/rpc-error.ts";
import type { Channel, FrameFault, Room, Sink } from "../../wire/channel.ts";
import { Conversation } from "./conversation.ts";
import { type OpenServer, OwnServer } from "./own-server.ts";
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
export class McpRelay implements Sink<string> {
  readonly #options: McpRelayOptions;
  readonly #conversation = new Conversation();
  readonly #ended = Promise.withResolvers<void>();
  readonly #lost = Promise.withResolvers<void>();
  readonly #failed = Promise.withResolvers<never>();
  /** Messages of the client that wait for our own server. */
  readonly #waiting: string[] = [];
  readonly #gateway: Channel<string>;
  /** The gateway takes no new requests. */
  #isLeaving = false;
  #opening: Promise<void> | undefined;
  #own: OwnServer | undefined;
  #isClosed = false;

  constructor(options: McpRelayOptions) {
    this.#options = options;
    const gateway = new HeartbeatChannel(options.gateway, {
      method: "ping",
      interval: options.beat,
      isWaiting: () => this.#conversation.isAnswerDue,
    });
    this.#gateway = gateway;
    gateway.receive({
      message: (text) => this.#pass(text),
      fault: (fault) => this.#unreadable(fault),
      end: () => this.#takeOver(),
    });
    options.client.receive(this);
  }

  /** Resolves when the client has finished sending, or is gone. Rejects if nobody can serve it. */
  get ended(): Promise<void> {
    return Promise.race([this.#ended.promise, this.#failed.promise]);
  }

  /** Waits at most `grace` milliseconds for the answers that the client waits for, and closes. */
  async close(grace: number): Promise<void> {
    if (this.#opening === undefined) {
      await atMost(grace, Promise.race([this.#conversation.drained(), this.#lost.promise]));
    }
    this.#isClosed = true;
    if (this.#opening === undefined) {
      await this.#gateway[Symbol.asyncDispose]();
      await this.#options.client[Symbol.asyncDispose]();
      return;
    }
    await this.#opening;
    await this.#own?.close(grace);
  }

  /** Called by the client's channel. */
  message(text: string): void | Room {
    if (this.#own !== undefined) return this.#own.message(text);
    if (this.#opening !== undefined || (this.#isLeaving && !this.#conversation.isAboutOpen(text))) {
      this.#waiting.push(text);
      return this.#lost.promise.then(() => this.#opening);
    }
    this.#conversation.fromClient(text);
    return this.#gateway.send(text);
  }

  /** Called by the client's channel: a message that was not read whole. */
  fault(fault: FrameFault): void {
    if (this.#own !== undefined) {
      this.#own.fault(fault);
      return;
    }
    const { idText, isResponse } = recoverMessage(fault);
    (isResponse ? this.#gateway : this.#options.client).send(refusal(idText, fault));
  }

  /** Called by the client's channel. */
  end(error?: Error): void {
    this.#own?.end(error);
    this.#ended.resolve();
  }

  #pass(text: string): void | Room {
    if (text === CLOSING) return this.#leave();
    this.#conversation.toClient(text);
    return this.#options.client.send(text);
  }

  /** A message of the gateway exceeded the size limit. */
  #unreadable(fault: FrameFault): void {
    const { idText, isResponse } = recoverMessage(fault);
    if (!isResponse) return;
    const text = refusal(idText, fault);
    this.#conversation.toClient(text);
    this.#options.client.send(text);
  }

  #leave(): void {
    this.#isLeaving = true;
    const left = this.#conversation
      .drained()
      .then(() => this.#gateway.abort(new Error("It closes")));
    left.catch(() => {});
  }

  #takeOver(): void {
    if (this.#opening !== undefined || this.#isClosed) return;
    const opening = this.#goOn();
    this.#opening = opening.catch(() => {});
    opening.catch((error: unknown) => this.#failed.reject(error));
    this.#failed.promise.catch(() => {});
    this.#lost.resolve();
  }

  async #goOn(): Promise<void> {
    const { client, open, tookOver } = this.#options;
    await this.#gateway[Symbol.asyncDispose]();
    const own = await OwnServer.open(client, this.#conversation, open);
    // Messages that arrived while the server was opened are delivered first.
    for (let text = this.#waiting.shift(); text !== undefined; text = this.#waiting.shift()) {
      await own.message(text);
    }
    this.#own = own;
    tookOver();
  }
}

function refusal(idText: string, fault: FrameFault): string {
  return `{"jsonrpc":"2.0","id":${idText},"error":${errorText(faultError(fault))}}`;
}
