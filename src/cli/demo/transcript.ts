import type { Background, Stage } from "./stage.ts";

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** A client of a protocol on standard streams, whose messages are shown as they are. */
export class Transcript {
  readonly #stage: Stage;
  readonly #program: Background;
  #last = 0;

  constructor(stage: Stage, program: Background) {
    this.#stage = stage;
    this.#program = program;
  }

  /** Sends a request, shows all that comes until its answer, and gives the answer. */
  async ask(method: string, params: object): Promise<Readonly<Record<string, unknown>>> {
    const id = ++this.#last;
    this.#send({ jsonrpc: "2.0", id, method, params });
    for (;;) {
      const text = await this.#program.line();
      this.#stage.say(`  ← ${text}`);
      const message = JSON.parse(text) as Message;
      if (message.id !== id || message.method !== undefined) continue;
      if (message.error !== undefined) throw new Error(`${method}: ${message.error.message}`);
      return message.result as Readonly<Record<string, unknown>>;
    }
  }

  notify(method: string): void {
    this.#send({ jsonrpc: "2.0", method });
  }

  #send(message: object): void {
    const text = JSON.stringify(message);
    this.#stage.say(`  → ${text}`);
    this.#program.send(text);
  }
}
