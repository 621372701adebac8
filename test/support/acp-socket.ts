import { once } from "node:events";
import { WebSocket } from "ws";

import type { Json } from "./acp-app.ts";

/** Whoever speaks ACP to a gateway over a WebSocket. */
export class AcpSocket implements Disposable {
  readonly socket: WebSocket;
  readonly messages: Json[] = [];
  /** Those who wait for the next message or the end. */
  #waiting: (() => void)[] = [];
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    const wake = (): void => {
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const resume of waiting) resume();
    };
    socket.on("message", (data: Buffer) => {
      this.messages.push(JSON.parse(data.toString("utf8")));
      wake();
    });
    socket.on("close", wake);
    socket.on("error", () => {});
  }

  /** Rejects where it is not let in. */
  static async connect(
    url: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<AcpSocket> {
    const socket = new WebSocket(url, { headers });
    await once(socket, "open");
    const client = new AcpSocket(socket);
    await client.ask("initialize", { protocolVersion: 1 });
    return client;
  }

  /** The result; rejects with the words of an error. */
  async ask(method: string, params: object): Promise<Json> {
    const answer = await this.answer(method, params);
    if (answer.error === undefined) return answer.result;
    throw new Error(`${answer.error.message}: ${answer.error.data?.details ?? ""}`);
  }

  /** The whole answer. */
  async answer(method: string, params: object): Promise<Json> {
    const id = this.send(method, params);
    return this.until(({ messages }) =>
      messages.find((each) => each.id === id && each.method === undefined),
    );
  }

  send(method: string, params: object): number {
    const id = ++this.#lastId;
    this.socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    return id;
  }

  /** Waits until something is found in what has come. */
  async until<T>(find: (client: this) => T | undefined): Promise<T> {
    for (;;) {
      const found = find(this);
      if (found !== undefined) return found;
      if (this.socket.readyState !== WebSocket.OPEN) throw new Error("The connection has ended");
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** The questions for permission that have come. */
  get questions(): Json[] {
    return this.messages.filter(({ method }) => method === "session/request_permission");
  }

  /** Answers a question with one of its options. */
  choose({ id }: Json, optionId: string): void {
    const result = { outcome: { outcome: "selected", optionId } };
    this.socket.send(JSON.stringify({ jsonrpc: "2.0", id, result }));
  }

  get text(): string {
    return this.messages.map(({ params }) => params?.update?.content?.text ?? "").join("");
  }

  [Symbol.dispose](): void {
    this.socket.terminate();
  }
}

/** The parameters of a prompt. */
export function promptOf(sessionId: string, text: string): object {
  return { sessionId, prompt: [{ type: "text", text }] };
}
