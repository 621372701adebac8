import { EventEmitter, once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A webhook and a push service of the tests' own: it keeps what it gets and answers as it is told. */
export class NotifyReceiver implements AsyncDisposable {
  readonly received: Received[] = [];
  /** The status of the answer to a request. */
  status: (received: Received) => number | { status: number; headers: Record<string, string> } =
    () => 201;
  readonly #server = createServer();
  readonly #changed = new EventEmitter().setMaxListeners(0);

  private constructor() {
    this.#server.on("request", (request, response) => {
      void buffer(request).then((body) => {
        const received = { path: request.url ?? "", headers: request.headers, body };
        this.received.push(received);
        const answer = this.status(received);
        if (typeof answer === "number") response.writeHead(answer).end();
        else response.writeHead(answer.status, answer.headers).end();
        this.#changed.emit("change");
      });
    });
  }

  static async open(): Promise<NotifyReceiver> {
    const receiver = new NotifyReceiver();
    receiver.#server.listen(0, "127.0.0.1");
    await once(receiver.#server, "listening");
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Waits for something among what was received. */
  async find(matches: (received: Received) => boolean, skip = 0): Promise<Received> {
    for (;;) {
      const found = this.received.filter(matches)[skip];
      if (found !== undefined) return found;
      await once(this.#changed, "change");
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}
