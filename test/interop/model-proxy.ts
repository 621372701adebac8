import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** A proxy in front of the model, which records what the model's own log leaves out. */
export class ModelProxy implements AsyncDisposable {
  /** The keys of requests. */
  readonly keys = new Set<string | undefined>();
  /** The length in bytes of each request that says something. */
  readonly sent: number[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(model: string): Promise<ModelProxy> {
    const server = createServer((incoming, outgoing) => {
      const { method, url = "/", headers } = incoming;
      const google = headers["x-goog-api-key"];
      proxy.keys.add(headers.authorization ?? google?.toString());
      let bytes = 0;
      incoming.on("data", (chunk: Buffer) => (bytes += chunk.length));
      incoming.on("end", () => {
        if (method === "POST") proxy.sent.push(bytes);
      });
      const passed = request(new URL(url, model), { method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(outgoing);
      });
      passed.on("error", () => outgoing.destroy());
      incoming.pipe(passed);
    });
    const proxy = new ModelProxy(server);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}
