import { Heartbeat } from "../../base/limit/heartbeat.ts";
import { recoverMessage } from "../../rpc/message/message.ts";
import { errorText, faultError } from "../../rpc/rpc-error.ts";
import { type Channel, type FrameFault, ROOM, type Room, type Sink } from "../../wire/channel.ts";
import { Conversation } from "./conversation.ts";
import { CLOSING } from "./greeting.ts";
import type { OpenServer, OwnServer } from "./own-server.ts";

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
  readonly #heartbeat: Heartbeat;
  /** The beginning of a message that asks for a sign of life, and of its answer by our own peer. */
  #ping: string | undefined;
  /** The gateway takes no new requests. */
  #isLeaving = false;
  #opening: Promise<void> | undefined;
  #own: OwnServer | undefined;
  #isClosed = false;

  constructor(options: McpRelayOptions) {
    this.#options = options;
    const { gateway, beat: interval } = options;
    this.#heartbeat = new Heartbeat({
      ...(interval === undefined ? {} : { interval }),
      isWaiting: () => this.#conversation.isAnswerDue,
      beat: () => {
        // Made here, since few windows ever wait so long.
        this.#ping ??= `{"jsonrpc":"2.0","id":"${crypto.randomUUID()}",`;
        gateway.send(`${this.#ping}"method":"ping"}`);
      },
      silent: () => gateway.abort(new Error("It does not answer")),
    });
    gateway.receive({
      message: (text) => this.#fromGateway(text),
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
      const late = Promise.withResolvers<void>();
      const timer = setTimeout(late.resolve, grace);
      await Promise.race([this.#conversation.drained(), this.#lost.promise, late.promise]);
      clearTimeout(timer);
    }
    this.#isClosed = true;
    this.#heartbeat[Symbol.dispose]();
    if (this.#opening === undefined) {
      await this.#options.gateway[Symbol.asyncDispose]();
      await this.#options.client[Symbol.asyncDispose]();
      return;
    }
    await this.#opening;
    await this.#own?.close(grace);
  }

  /** Called by the client's channel. */
  message(text: string): void | Room {
    if (this.#own !== undefined) return this.#own.message(text);
    const isHeld =
      this.#opening !== undefined || (this.#isLeaving && !this.#conversation.isAboutOpen(text));
    if (isHeld) {
      this.#waiting.push(text);
      return this.#lost.promise.then(() => this.#opening);
    }
    this.#conversation.fromClient(text);
    return this.#options.gateway.send(text);
  }

  /** Called by the client's channel: a message that was not read whole. */
  fault(fault: FrameFault): void {
    if (this.#own !== undefined) {
      this.#own.fault(fault);
      return;
    }
    const { idText, isResponse } = recoverMessage(fault);
    const { client, gateway } = this.#options;
    (isResponse ? gateway : client).send(refusal(idText, fault));
  }

  /** Called by the client's channel. */
  end(error?: Error): void {
    this.#own?.end(error);
    this.#ended.resolve();
  }

  #fromGateway(text: string): void | Room {
    const room = this.#pass(text);
    this.#heartbeat.heard(room === ROOM ? undefined : room);
    return room;
  }

  #pass(text: string): void | Room {
    if (this.#ping !== undefined && text.startsWith(this.#ping)) return undefined;
    if (text === CLOSING) return this.#leave();
    this.#conversation.toClient(text);
    return this.#options.client.send(text);
  }

  /** The gateway's message was longer than we read. */
  #unreadable(fault: FrameFault): void {
    const { idText, isResponse } = recoverMessage(fault);
    if (!isResponse) return;
    const text = refusal(idText, fault);
    this.#conversation.toClient(text);
    this.#options.client.send(text);
  }

  #leave(): void {
    this.#isLeaving = true;
    const { gateway } = this.#options;
    const left = this.#conversation.drained().then(() => gateway.abort(new Error("It closes")));
    left.catch(() => {});
  }

  #takeOver(): void {
    if (this.#opening !== undefined || this.#isClosed) return;
    this.#heartbeat[Symbol.dispose]();
    const opening = this.#goOn();
    this.#opening = opening.catch(() => {});
    opening.catch((error: unknown) => this.#failed.reject(error));
    this.#failed.promise.catch(() => {});
    this.#lost.resolve();
  }

  async #goOn(): Promise<void> {
    const { client, gateway, open, tookOver } = this.#options;
    await gateway[Symbol.asyncDispose]();
    // Every start of `trunkline mcp` loads this file, and few outlive a gateway.
    const { OwnServer } = await import("./own-server.ts");
    const own = await OwnServer.open(client, this.#conversation, open);
    // What comes meanwhile waits behind it.
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
