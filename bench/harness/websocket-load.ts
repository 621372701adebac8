import type { Order } from "../servers/websocket-clients.ts";
import { Program } from "./program.ts";

/** A WebSocket server in one process and its clients in another. */
export class WebSocketLoad implements AsyncDisposable {
  readonly #server: Program;
  readonly #clients: Program;
  #port = 0;

  private constructor(server: Program, clients: Program) {
    this.#server = server;
    this.#clients = clients;
  }

  static async start(file: string): Promise<WebSocketLoad> {
    const args = ["--expose-gc", `bench/servers/${file}`];
    await using stack = new AsyncDisposableStack();
    const server = stack.use(new Program(args, { more: ["ipc"] }));
    const clients = stack.use(
      new Program(["bench/servers/websocket-clients.ts"], { more: ["ipc"] }),
    );
    const load = new WebSocketLoad(server, clients);
    load.#port = (await server.nextMessage()) as number;
    stack.move();
    return load;
  }

  get serverPid(): number {
    return this.#server.pid;
  }

  async open(connections: number): Promise<void> {
    await this.#order({ open: connections, port: this.#port });
  }

  /** Returns the milliseconds it took. */
  async echo(messages: number, window: number): Promise<number> {
    return await this.#order({ echo: messages, window });
  }

  /** Makes the server run a garbage collection. */
  async tidy(): Promise<void> {
    await this.#server.ask("tidy");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#clients[Symbol.asyncDispose]();
    await this.#server[Symbol.asyncDispose]();
  }

  async #order(order: Order): Promise<number> {
    return (await this.#server.until(this.#clients.ask(order))) as number;
  }
}
