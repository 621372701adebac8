import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/**
 * The network between a node and NATS, which can be cut. While it is cut nothing passes, in neither
 * direction, and neither side is told: connections stay open, and new ones get no answer.
 */
export class CutProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #to: number;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #isCut = false;
  #isMute = false;

  private constructor(to: number) {
    this.#to = to;
    this.#server = createServer((near) => this.#accept(near));
  }

  static async start(to: number): Promise<CutProxy> {
    const proxy = new CutProxy(to);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get url(): string {
    return `nats://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  cut(): void {
    this.#isCut = true;
    for (const sockets of this.#pairs) for (const socket of sockets) socket.pause();
  }

  /** From now on the node hears nothing, while NATS gets what the node sends. */
  mute(): void {
    this.#isMute = true;
    for (const [, far] of this.#pairs) far.pause();
  }

  /** `isReset`: the network has forgotten the connections; otherwise they continue where they were. */
  mend(isReset: boolean): void {
    this.#isCut = false;
    for (const [near, far] of this.#pairs) {
      if (isReset) near.destroy();
      near.resume();
      far.resume();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    for (const [near] of this.#pairs) near.destroy();
    await once(this.#server, "close");
  }

  #accept(near: Socket): void {
    const far = connect(this.#to, "127.0.0.1");
    const pair = [near, far] as const;
    this.#pairs.add(pair);
    for (const [from, to] of [pair, [far, near] as const]) {
      from.on("data", (bytes) => {
        if (to.write(bytes)) return;
        from.pause();
        to.once("drain", () => this.#isCut || (this.#isMute && from === far) || from.resume());
      });
      from.on("error", () => {});
      from.on("close", () => {
        to.destroy();
        this.#pairs.delete(pair);
      });
    }
    if (this.#isCut) near.pause();
    if (this.#isCut || this.#isMute) far.pause();
  }
}
