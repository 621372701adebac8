import { EventEmitter, once } from "node:events";

import type { Revision } from "../../src/protocol/mcp/revision/codec.ts";
import { Connection } from "../../src/protocol/mcp/serve/connection.ts";
import type { McpDoor } from "../../src/protocol/mcp/serve/door.ts";
import { Peer } from "../../src/rpc/peer.ts";
import type { Channel } from "../../src/wire/channel.ts";
import { memoryPair } from "../../src/wire/channel/memory.ts";

/** A message as it is on the wire; tests know what they look for in it. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = Record<string, any>;

const M = "io.modelcontextprotocol/";

export interface RawClientOptions {
  readonly revision: Revision;
  readonly name?: string;
  readonly capabilities?: Json;
  /** Answers what the server asks, by method. */
  readonly answers?: Record<string, (params: Json) => unknown>;
}

/**
 * An MCP client of one revision that does by hand what the revision says, and keeps every message
 * that it gets.
 */
export class RawClient implements AsyncDisposable {
  readonly options: RawClientOptions;
  /** Everything that came, in order. */
  readonly messages: Json[] = [];
  /** What it was asked, by whichever way. */
  readonly asked: Json[] = [];
  readonly #wire: Channel<string>;
  readonly #peer: Peer<Connection>;
  readonly #connection = new Connection();
  readonly #changed = new EventEmitter().setMaxListeners(0);
  #lastId = 0;

  private constructor(door: McpDoor, options: RawClientOptions) {
    this.options = options;
    const [near, far] = memoryPair({ closeGrace: 100 });
    this.#wire = far;
    this.#peer = new Peer(near, this.#connection, door.optionsFor(this.#connection));
    far.receive({
      message: (text) => this.#received(JSON.parse(text) as Json),
      fault: () => {},
      end: () => {},
    });
  }

  static async connect(door: McpDoor, options: RawClientOptions): Promise<RawClient> {
    const client = new RawClient(door, options);
    if (client.isModern) return client;
    const { revision, name = revision, capabilities = {} } = options;
    const clientInfo = { name, version: "1" };
    await client.request("initialize", { protocolVersion: revision, capabilities, clientInfo });
    client.notify("notifications/initialized");
    return client;
  }

  get isModern(): boolean {
    return this.options.revision === "2026-07-28";
  }

  /** Sends a request and waits for its answer: the whole message, result or error. */
  async request(method: string, params: Json = {}): Promise<Json> {
    const id = this.send(method, params);
    return this.answerTo(id);
  }

  send(method: string, params: Json = {}): string {
    const id = `${this.options.revision}#${++this.#lastId}`;
    this.#write({ id, method, params: this.#envelope(params) });
    return id;
  }

  /** Sends a request with an id that was used before. */
  repeat(id: string, method: string, params: Json): void {
    this.#write({ id, method, params: this.#envelope(params) });
  }

  async answerTo(id: string): Promise<Json> {
    const find = (message: Json): boolean => message["id"] === id && !("method" in message);
    await this.until(({ messages }) => messages.some(find));
    return this.messages.find(find) ?? {};
  }

  /** Asks until it is done: what is asked back in between is answered. */
  async ask(method: string, params: Json = {}): Promise<Json> {
    let answer = await this.request(method, params);
    while (answer["result"]?.resultType === "input_required") {
      const { inputRequests, requestState } = answer["result"] as Json;
      const inputResponses = this.#answersTo(inputRequests as Json);
      answer = await this.request(method, { ...params, inputResponses, requestState });
    }
    return answer;
  }

  async callTool(name: string, args: Json = {}, more: Json = {}): Promise<Json> {
    return this.ask("tools/call", { name, arguments: args, ...more });
  }

  notify(method: string, params: Json = {}): void {
    this.#write({ method, params });
  }

  /** What it was told under a name. */
  told(method: string): Json[] {
    return this.messages.filter((each) => each["method"] === method && !("id" in each));
  }

  async until(condition: (client: this) => boolean): Promise<void> {
    while (!condition(this)) await once(this.#changed, "change");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#connection[Symbol.dispose]();
    await this.#peer.close();
  }

  /** Answers questions that came as data. */
  #answersTo(questions: Json): Json {
    const entries = Object.entries(questions) as [string, Json][];
    return Object.fromEntries(entries.map(([key, question]) => [key, this.#answer(question)]));
  }

  #answer(question: Json): unknown {
    this.asked.push(question);
    const answer = this.options.answers?.[question["method"] as string];
    if (answer === undefined) throw new Error(`Nobody expected to be asked ${question["method"]}`);
    return answer((question["params"] ?? {}) as Json);
  }

  answerTask(questions: Json): Json {
    return this.#answersTo(questions);
  }

  #received(message: Json): void {
    this.messages.push(message);
    if ("method" in message && "id" in message) {
      this.#write({ id: message["id"] as string, result: this.#answer(message) });
    }
    this.#changed.emit("change");
  }

  #envelope(params: Json): Json {
    if (!this.isModern) return params;
    const { revision, name = revision, capabilities = {} } = this.options;
    const meta = {
      [`${M}protocolVersion`]: revision,
      [`${M}clientInfo`]: { name, version: "1" },
      [`${M}clientCapabilities`]: capabilities,
      [`${M}logLevel`]: "debug",
    };
    return { ...params, _meta: { ...meta, ...(params["_meta"] as Json | undefined) } };
  }

  #write(message: Json): void {
    void this.#wire.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }
}
