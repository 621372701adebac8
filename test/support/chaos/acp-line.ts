import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { WebSocket } from "ws";

import type { Json } from "../acp-app.ts";

/** Milliseconds. */
const CONNECT_WITHIN = 4_000;

/** The connection has ended, or a request took longer than its client waits. */
export class LineLost extends Error {}

/** A connection of a client that keeps no messages: they are counted where they come in. */
export class AcpLine implements Disposable {
  readonly #socket: WebSocket;
  readonly #asked = new Map<number, PromiseWithResolvers<Json>>();
  readonly #told: (message: Json) => void;
  #lastId = 0;
  /** When something came last, of `performance.now()`. */
  heard = performance.now();

  private constructor(socket: WebSocket, told: (message: Json) => void) {
    this.#socket = socket;
    this.#told = told;
    socket.on("message", (data: Buffer) => this.#receive(JSON.parse(data.toString("utf8"))));
    socket.on("close", () => this.#end());
  }

  /** `told` gets every message that is no answer. */
  static async connect(
    url: string,
    headers: Readonly<Record<string, string>>,
    told: (message: Json) => void,
  ): Promise<AcpLine> {
    const socket = new WebSocket(url, { headers, handshakeTimeout: CONNECT_WITHIN });
    socket.on("error", () => {});
    const ended = new Promise((resolve) => socket.on("close", resolve));
    await Promise.race([once(socket, "open").catch(() => ended), ended]);
    if (socket.readyState !== WebSocket.OPEN) throw new LineLost("The gateway is not there");
    const line = new AcpLine(socket, told);
    const _meta = { trunkline: { sequence: true } };
    await line.ask("initialize", { protocolVersion: 1, _meta }, CONNECT_WITHIN);
    return line;
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  /** The whole answer. Rejects with `LineLost` if none comes. */
  async ask(method: string, params: object, within: number): Promise<Json> {
    if (!this.isOpen) throw new LineLost("The connection has ended");
    const id = ++this.#lastId;
    const answer = Promise.withResolvers<Json>();
    this.#asked.set(id, answer);
    this.#socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    const stop = new AbortController();
    const late = delay(within, undefined, { signal: stop.signal, ref: false }).then(
      () => answer.reject(new LineLost(`'${method}' got no answer in ${within} ms`)),
      () => {},
    );
    try {
      return await answer.promise;
    } finally {
      this.#asked.delete(id);
      stop.abort();
      await late;
    }
  }

  /** Answers a request of the gateway. */
  respond(id: unknown, result: object): void {
    if (this.isOpen) this.#socket.send(JSON.stringify({ jsonrpc: "2.0", id, result }));
  }

  [Symbol.dispose](): void {
    this.#socket.terminate();
    this.#end();
  }

  #receive(message: Json): void {
    this.heard = performance.now();
    if (message.method !== undefined) this.#told(message);
    else this.#asked.get(message.id)?.resolve(message);
  }

  #end(): void {
    for (const { reject } of this.#asked.values()) reject(new LineLost("The connection has ended"));
  }
}
