import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { McpDoor } from "../../src/protocol/mcp/serve/door.ts";
import { McpHttp } from "../../src/protocol/mcp/serve/http/mcp-http.ts";
import type { McpHttpOptions } from "../../src/protocol/mcp/serve/http/options.ts";
import { sseDecoder, type SseEvent } from "../../src/wire/framing/sse.ts";
import { fixtureOffer } from "../conformance/fixture/offer.ts";

type Headers = Readonly<Record<string, string>>;

export interface Answer {
  readonly status: number;
  readonly headers: globalThis.Headers;
  readonly body: Body;
}

/** A JSON-RPC message as far as the tests look at it. */
export interface Body {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>> & {
    readonly content?: readonly { readonly text: string }[];
  };
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export const BOTH_TYPES = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};

/** MCP on HTTP with the fixture in its toolbox, in this process, on a port of its own. */
export class McpHttpServer implements AsyncDisposable {
  readonly offer = fixtureOffer();
  readonly http: McpHttp;
  readonly #server: Server;
  readonly #open = new Set<ServerResponse>();

  private constructor(options: Omit<McpHttpOptions, "door">) {
    this.http = new McpHttp({ ...options, door: new McpDoor({ offer: this.offer }) });
    this.#server = createServer((request, response) => {
      this.#open.add(response);
      response.on("close", () => this.#open.delete(response));
      void this.http.handle(request.url?.split("?")[0] ?? "", request, response);
    });
  }

  static async start(options: Omit<McpHttpOptions, "door"> = {}): Promise<McpHttpServer> {
    const server = new McpHttpServer(options);
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Waits until nobody is connected who waits for anything. */
  async idle(): Promise<void> {
    for (const response of this.#open) if (!response.closed) await once(response, "close");
  }

  fetch(method: string, headers: Headers = {}, body?: unknown, path = "/mcp"): Promise<Response> {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return fetch(`${this.url}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: text }),
    });
  }

  /** Sends a message and reads the JSON that it is answered with, if any. */
  async post(body: unknown, headers: Headers = {}): Promise<Answer> {
    return answerOf(await this.fetch("POST", { ...BOTH_TYPES, ...headers }, body));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.http.close(0);
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

export async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  const body = (text === "" ? {} : JSON.parse(text)) as Body;
  return { status: response.status, headers: response.headers, body };
}

/** Reads a stream of events one by one. */
export class EventReader {
  readonly response: Response;
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #events: SseEvent[] = [];
  readonly #decoder = sseDecoder(1024 * 1024, {
    event: (event) => void this.#events.push(event),
    fault: (fault) => {
      throw new Error(`unreadable event: ${fault.kind}`);
    },
  });
  /** All that came, also what is not an event. */
  text = "";

  constructor(response: Response) {
    this.response = response;
    if (response.body === null) throw new Error("The response has no body");
    this.#chunks = response.body[Symbol.asyncIterator]();
  }

  /** The next event, or undefined when the stream has ended. */
  async next(): Promise<SseEvent | undefined> {
    while (this.#events.length === 0) if (!(await this.#read())) return undefined;
    return this.#events.shift();
  }

  /** The next event as a message; events without a message are passed over. */
  async message(): Promise<Body> {
    for (;;) {
      const event = await this.next();
      if (event === undefined) throw new Error(`The stream has ended. It said: ${this.text}`);
      if (event.data !== "") return JSON.parse(event.data) as Body;
    }
  }

  /** Reads on until something has come that is not an event. */
  async until(text: string): Promise<void> {
    while (!this.text.includes(text)) {
      if (!(await this.#read())) throw new Error(`The stream has ended. It said: ${this.text}`);
    }
  }

  /** Closes the connection. */
  async cancel(): Promise<void> {
    await this.#chunks.return?.();
  }

  async #read(): Promise<boolean> {
    const { done, value } = await this.#chunks.next();
    if (done === true) return false;
    this.text += Buffer.from(value).toString();
    this.#decoder.push(Buffer.from(value));
    return true;
  }
}
