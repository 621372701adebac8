import { TrunklineError } from "../../base/errors.ts";
import { VERSION } from "../../base/version.ts";
import { type Method, method } from "../../rpc/method.ts";
import { Peer } from "../../rpc/peer.ts";
import type { PeerLimits, PeerOptions } from "../../rpc/peer-options.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import type { ToolContext, ToolResult } from "../../tool/tool.ts";
import type { Channel } from "../../wire/channel.ts";
import { isObject, type JsonObject } from "./client.ts";
import { ClientCalls } from "./client-calls.ts";
import { modernEnvelope, passedOn, plainResult, plainToolResult } from "./client-envelope.ts";
import { type McpClientEvents, NO_EVENTS } from "./client-events.ts";
import { type Era, type Introduction, shakeHands } from "./client-handshake.ts";
import { ClientListening } from "./client-listen.ts";
import { allPages } from "./client-lists.ts";
import { asCannotAsk, URL_ELICITATION_REQUIRED, visitPages } from "./client-questions.ts";
import { askInRounds } from "./client-rounds.ts";
import { clientRoutes } from "./client-routes.ts";
import { mcpDialect } from "./dialect.ts";
import type { ServerInfo } from "./result.ts";
import { MODERN, type Revision } from "./revision.ts";

export interface McpClientOptions {
  readonly era?: Era;
  readonly info?: ServerInfo;
  readonly events?: Partial<McpClientEvents>;
  readonly limits?: Partial<PeerLimits>;
  readonly report?: PeerOptions<undefined>["report"];
  /** Milliseconds that getting to know each other may take. */
  readonly timeout?: number;
  /** Gives up getting to know each other. */
  readonly signal?: AbortSignal;
  /** Milliseconds after which the old handshake is tried too. */
  readonly probe?: number;
  /** The progress token of the call whose stream a request came on, where the transport knows. */
  readonly originOf?: (idText: string) => unknown;
  /** Which tools of a server of 2026-07-28 the transport can call; all when left out. */
  readonly canCall?: (tool: JsonObject) => boolean;
}

const HANDSHAKE = 30_000;
const PROBE = 2_000;
/** For what a server has at hand: lists, completions, subscriptions. */
const QUICK = 30_000;

/** The client's side of MCP: one shape, whatever revision the server speaks. */
export class McpClient {
  readonly #peer: Peer;
  readonly #calls = new ClientCalls();
  readonly #info: ServerInfo;
  readonly #listening: ClientListening;
  readonly #canCall: (tool: JsonObject) => boolean;
  #server: Introduction | undefined;

  private constructor(channel: Channel<string>, options: McpClientOptions) {
    this.#info = options.info ?? { name: "trunkline", version: VERSION };
    this.#canCall = options.canCall ?? (() => true);
    this.#peer = new Peer(channel, undefined, {
      // Servers of 2025-03-26 may send several messages as one.
      dialect: { ...mcpDialect, batches: true },
      routes: clientRoutes({
        calls: this.#calls,
        events: { ...NO_EVENTS, ...options.events },
        originOf: options.originOf ?? (() => undefined),
      }),
      ...(options.limits === undefined ? {} : { limits: options.limits }),
      ...(options.report === undefined ? {} : { report: options.report }),
    });
    this.#listening = new ClientListening(KINDS, (notifications, signal) =>
      this.#request("subscriptions/listen", { notifications: this.#narrow(notifications) }, signal),
    );
  }

  /** Connects, and closes the channel when that fails. */
  static async connect(
    channel: Channel<string>,
    options: McpClientOptions = {},
  ): Promise<McpClient> {
    const { era = "auto", timeout = HANDSHAKE, probe = PROBE } = options;
    const client = new McpClient(channel, options);
    const late = new AbortController();
    const timer = setTimeout(() => {
      late.abort(new TrunklineError("timeout", `No answer to the handshake within ${timeout} ms`));
    }, timeout);
    try {
      const signals = [late.signal, ...(options.signal === undefined ? [] : [options.signal])];
      const signal = AbortSignal.any(signals);
      client.#server = await shakeHands(client.#peer, { era, info: client.#info, probe, signal });
    } catch (error) {
      await client.close();
      throw error;
    } finally {
      clearTimeout(timer);
    }
    if (client.isModern) client.#listening.renew();
    return client;
  }

  get revision(): Revision {
    return this.#introduction.revision;
  }

  get isModern(): boolean {
    return this.revision === MODERN;
  }

  get capabilities(): JsonObject {
    return this.#introduction.capabilities;
  }

  /** Name and version of the server, as far as it gave them. */
  get info(): JsonObject {
    return this.#introduction.info;
  }

  get instructions(): string | undefined {
    return this.#introduction.instructions;
  }

  /** Resolves when the server has gone. */
  get ended(): Promise<void> {
    return this.#peer.ended;
  }

  get callsInFlight(): number {
    return this.#calls.size;
  }

  async listTools(): Promise<JsonObject[]> {
    const tools = await this.#list("tools", "tools/list", "tools");
    return this.isModern ? tools.filter(this.#canCall) : tools;
  }

  listPrompts(): Promise<JsonObject[]> {
    return this.#list("prompts", "prompts/list", "prompts");
  }

  listResources(): Promise<JsonObject[]> {
    return this.#list("resources", "resources/list", "resources");
  }

  listTemplates(): Promise<JsonObject[]> {
    return this.#list("resources", "resources/templates/list", "resourceTemplates");
  }

  callTool(name: string, args: JsonObject, context: ToolContext): Promise<ToolResult> {
    return this.#call("tools/call", { name, arguments: args }, context, plainToolResult);
  }

  /** Calls a tool that only works as a task, and waits for its end (2025-11-25). */
  async callToolAsTask(name: string, args: JsonObject, context: ToolContext): Promise<ToolResult> {
    if (this.isModern) return this.callTool(name, args, context);
    const params = { name, arguments: args, task: {} };
    const begun = await this.#call("tools/call", params, context, plainResult);
    const task = isObject(begun.task) ? begun.task : undefined;
    if (typeof task?.taskId !== "string") return plainToolResult(begun);
    const { taskId } = task;
    const release = this.#calls.bindTask(taskId, context);
    try {
      return await this.#call("tasks/result", { taskId }, context, plainToolResult);
    } catch (error) {
      if (context.signal.aborted) {
        this.#request("tasks/cancel", { taskId }).catch(() => {});
      }
      throw error;
    } finally {
      release();
    }
  }

  readResource(uri: string, context: ToolContext): Promise<JsonObject> {
    return this.#call("resources/read", { uri }, context, plainResult);
  }

  getPrompt(name: string, args: JsonObject, context: ToolContext): Promise<JsonObject> {
    return this.#call("prompts/get", { name, arguments: args }, context, plainResult);
  }

  async complete(params: JsonObject): Promise<JsonObject> {
    return plainResult(await this.#request("completion/complete", params));
  }

  /** Wants to hear when the resource changes. */
  async watch(uri: string): Promise<void> {
    if (this.isModern) this.#listening.watch(uri);
    else if (this.#can("resources", "subscribe")) {
      await this.#request("resources/subscribe", { uri });
    }
  }

  async unwatch(uri: string): Promise<void> {
    if (this.isModern) this.#listening.unwatch(uri);
    else if (this.#can("resources", "subscribe")) {
      await this.#request("resources/unsubscribe", { uri });
    }
  }

  async close(): Promise<void> {
    this.#listening.end();
    await this.#peer.close();
  }

  async #list(capability: string, name: string, member: string): Promise<JsonObject[]> {
    if (!isObject(this.capabilities[capability])) return [];
    return allPages((params) => this.#request(name, params), member);
  }

  /** What is done for a caller, who may be asked something meanwhile. */
  #call<R>(
    name: string,
    params: JsonObject,
    context: ToolContext,
    plain: (result: JsonObject) => R,
  ): Promise<R> {
    const token = this.#calls.begin(context);
    return this.#ask(name, params, context, token).then(
      (result) => {
        this.#calls.end(token);
        return plain(result);
      },
      async (error: unknown) => {
        try {
          if (!(error instanceof RpcError)) throw error;
          const isPage = error.code === URL_ELICITATION_REQUIRED;
          if (!isPage || !(await visitPages(error, context))) throw asCannotAsk(error) ?? error;
          return plain(await this.#ask(name, params, context, token));
        } finally {
          this.#calls.end(token);
        }
      },
    );
  }

  #ask(
    name: string,
    params: JsonObject,
    context: ToolContext,
    progressToken: number,
  ): Promise<JsonObject> {
    const stop = { stop: context.stop };
    const own = { ...passedOn(context.meta), progressToken };
    if (!this.isModern) {
      return this.#peer.request(anObject(name), { ...params, _meta: own }, stop);
    }
    const _meta = { ...own, ...modernEnvelope(this.#info, context) };
    const ask = (more: JsonObject): Promise<JsonObject> =>
      this.#peer.request(anObject(name), { ...more, _meta }, stop);
    return askInRounds(ask, params, context);
  }

  /** What is asked in nobody's name. */
  #request(name: string, params: JsonObject, signal?: AbortSignal): Promise<JsonObject> {
    const full = this.isModern
      ? { ...params, _meta: modernEnvelope(this.#info, undefined) }
      : params;
    return this.#peer.request(
      anObject(name),
      full,
      signal === undefined ? { timeout: QUICK } : { signal },
    );
  }

  /** The kinds of change that the server can tell of. */
  #narrow(wanted: JsonObject): JsonObject {
    const { toolsListChanged, promptsListChanged, resourcesListChanged, ...rest } = wanted;
    return {
      ...(this.#can("tools", "listChanged") ? { toolsListChanged } : {}),
      ...(this.#can("prompts", "listChanged") ? { promptsListChanged } : {}),
      ...(this.#can("resources", "listChanged") ? { resourcesListChanged } : {}),
      ...rest,
    };
  }

  #can(capability: string, part: string): boolean {
    const parts = this.capabilities[capability];
    return isObject(parts) && parts[part] === true;
  }

  get #introduction(): Introduction {
    if (this.#server === undefined) throw new Error("The handshake is not over");
    return this.#server;
  }
}

const KINDS = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };

const methods = new Map<string, Method<JsonObject, JsonObject>>();

/** The method of a name, all of which answer with an object. Only names that we write get here. */
function anObject(name: string): Method<JsonObject, JsonObject> {
  let known = methods.get(name);
  if (known === undefined) {
    known = method<JsonObject, JsonObject>(name, {
      checkResult: (value) =>
        isObject(value) ? undefined : { path: [], says: "must be an object" },
    });
    methods.set(name, known);
  }
  return known;
}
