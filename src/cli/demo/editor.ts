import type { StartedProgram } from "./sample-home.ts";

export interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** The smallest client of ACP: it asks one thing at a time. */
export class Editor {
  readonly #agent: StartedProgram;
  #last = 0;

  constructor(agent: StartedProgram) {
    this.#agent = agent;
  }

  /** Sends a request, and gives its answer. `reply` may answer what is asked meanwhile. */
  async ask(
    method: string,
    params: object,
    reply: (asked: Message) => object | undefined = () => undefined,
  ): Promise<Readonly<Record<string, unknown>>> {
    const id = ++this.#last;
    this.#send({ id, method, params });
    for (;;) {
      const message = JSON.parse(await this.#agent.line()) as Message;
      const result = message.method === undefined ? undefined : reply(message);
      if (result !== undefined) this.#send({ id: message.id, result });
      if (message.id !== id || message.method !== undefined) continue;
      if (message.error !== undefined) throw new Error(`${method}: ${message.error.message}`);
      return message.result as Readonly<Record<string, unknown>>;
    }
  }

  #send(message: object): void {
    this.#agent.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }
}
