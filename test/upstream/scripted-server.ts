import { EventEmitter, once } from "node:events";

import type { Channel } from "../../src/wire/channel.ts";
import { memoryPair } from "../../src/wire/channel/memory.ts";
import type { Link, OpenLink } from "../../src/upstream/link.ts";
import type { Json } from "./raw-client.ts";

const M = "io.modelcontextprotocol/";

/** An error to answer with: thrown by a handler. */
export class Refusal extends Error {
  readonly code: number;
  readonly data: unknown;
  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** Never answers. */
export const SILENCE = new Promise<never>(() => {});

export type Handler = (params: Json, server: ScriptedServer) => unknown;

/** What a server does when it is asked: anything, also what it should not. */
export type Script = Readonly<Record<string, Handler>>;

/** A server of up to 2025-11-25 with one tool that echoes. */
export const LEGACY: Script = {
  "server/discover": () => {
    throw new Refusal(-32601, "Method not found");
  },
  initialize: () => ({
    protocolVersion: "2025-11-25",
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: "scripted", version: "1" },
  }),
  "tools/list": () => ({ tools: [ECHO] }),
  "tools/call": ({ arguments: args }) => ({ content: [{ type: "text", text: args?.text ?? "" }] }),
};

/** A server of 2026-07-28 with one tool that echoes. */
export const MODERN: Script = {
  "server/discover": () => ({
    resultType: "complete",
    supportedVersions: ["2026-07-28"],
    capabilities: { tools: { listChanged: true } },
    _meta: { [`${M}serverInfo`]: { name: "scripted", version: "1" } },
  }),
  "tools/list": () => ({
    resultType: "complete",
    ttlMs: 0,
    cacheScope: "private",
    tools: [ECHO],
  }),
  "tools/call": ({ arguments: args }) => ({
    resultType: "complete",
    content: [{ type: "text", text: args?.text ?? "" }],
    _meta: { [`${M}serverInfo`]: { name: "scripted", version: "1" } },
  }),
  "subscriptions/listen": () => SILENCE,
};

export const ECHO = { name: "echo", description: "Echoes", inputSchema: { type: "object" } };

/** The other end of one connection, which does as its script says and keeps what it hears. */
export class ScriptedServer {
  readonly heard: Json[] = [];
  readonly channel: Channel<string>;
  /** Resolves when the client has closed the connection. */
  readonly left: Promise<void>;
  readonly #wire: Channel<string>;
  readonly #script: Script;
  readonly #changed = new EventEmitter().setMaxListeners(0);
  #lastId = 0;

  constructor(script: Script) {
    this.#script = script;
    const [near, far] = memoryPair({ closeGrace: 100 });
    this.channel = near;
    this.#wire = far;
    const left = Promise.withResolvers<void>();
    this.left = left.promise;
    far.receive({
      message: (text) => void this.#received(JSON.parse(text) as Json),
      fault: () => {},
      end: () => left.resolve(),
    });
  }

  /** Requests that came under a name, or notifications. */
  asked(method: string): Json[] {
    return this.heard.filter((message) => message["method"] === method);
  }

  async until(condition: (server: this) => boolean): Promise<void> {
    while (!condition(this)) await once(this.#changed, "change");
  }

  notify(method: string, params: Json = {}): void {
    this.write({ jsonrpc: "2.0", method, params });
  }

  /** Asks the client, and waits for the whole answer. */
  async request(method: string, params: Json = {}): Promise<Json> {
    const id = `server-${++this.#lastId}`;
    this.write({ jsonrpc: "2.0", id, method, params });
    const isAnswer = (message: Json): boolean => message["id"] === id && !("method" in message);
    await this.until(({ heard }) => heard.some(isAnswer));
    return this.heard.find(isAnswer) ?? {};
  }

  write(message: unknown): void {
    void this.#wire.send(typeof message === "string" ? message : JSON.stringify(message));
  }

  die(): void {
    this.#wire.abort(new Error("The server died"));
  }

  async #received(message: Json): Promise<void> {
    this.heard.push(message);
    this.#changed.emit("change");
    const { id, method, params } = message;
    if (id === undefined || method === undefined) return;
    const answer = await this.#answer(method as string, (params ?? {}) as Json);
    this.write({ jsonrpc: "2.0", id, ...answer });
  }

  async #answer(method: string, params: Json): Promise<Json> {
    try {
      const handle = this.#script[method];
      if (handle === undefined) throw new Refusal(-32601, "Method not found");
      return { result: await handle(params, this) };
    } catch (error) {
      const { code, message, data } = error as Refusal;
      return { error: { code, message, data } };
    }
  }
}

/** Opens scripted servers by the command that they are configured with, and keeps them. */
export class Scripts {
  readonly started: { readonly name: string; readonly server: ScriptedServer }[] = [];
  readonly #scripts: Record<string, Script | (() => Script)>;
  readonly #changed = new EventEmitter().setMaxListeners(0);

  constructor(scripts: Record<string, Script | (() => Script)>) {
    this.#scripts = scripts;
  }

  readonly open: OpenLink = async (settings): Promise<Link> => {
    const name = "command" in settings ? settings.command : (settings.url ?? "");
    const script = this.#scripts[name];
    const server = new ScriptedServer(typeof script === "function" ? script() : (script ?? {}));
    this.started.push({ name, server });
    this.#changed.emit("change");
    return { channel: server.channel, end: async () => {} };
  };

  /** The servers that were started under a name, in order. */
  of(name: string): ScriptedServer[] {
    return this.started.filter((each) => each.name === name).map(({ server }) => server);
  }

  /** The n-th start under a name, now or later. */
  async start(name: string, count = 1): Promise<ScriptedServer> {
    while (this.of(name).length < count) await once(this.#changed, "change");
    const server = this.of(name)[count - 1];
    if (server === undefined) throw new Error(`'${name}' was not started`);
    return server;
  }
}
