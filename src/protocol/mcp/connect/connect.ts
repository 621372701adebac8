import { TrunklineError } from "../../../base/errors.ts";
import { VERSION } from "../../../base/version.ts";
import { Peer } from "../../../rpc/peer.ts";
import { apartSink } from "../../../rpc/message/parse-apart.ts";
import { type PeerLimits, type PeerOptions, resolvePeerLimits } from "../../../rpc/peer-options.ts";
import type { CallObserver } from "../../../tool/call-observer.ts";
import type { ToolContext, ToolResult } from "../../../tool/tool.ts";
import type { Channel } from "../../../wire/channel.ts";
import type { JsonObject } from "../json-object.ts";
import { isObject } from "../../../base/check.ts";
import { hasTasksExtension } from "../meta.ts";
import { ClientCalls, plainResult, plainToolResult, ClientRequests } from "./requests.ts";
import { type McpClientEvents, clientRoutes } from "./routes.ts";
import { type Era, type ServerHello, handshake } from "./handshake.ts";
import { allPages, type OmissionReport, withReadableNames } from "./lists.ts";
import { ClientPages } from "./pages.ts";
import { mcpDialect } from "../dialect.ts";
import { LISTS } from "../methods.ts";
import type { Codec, Implementation, Revision } from "../revision/codec.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { background } from "../../../base/background.ts";
import { LostRequest } from "../../../rpc/pending-requests.ts";

export interface McpClientOptions {
  readonly era: Era;
  readonly events: McpClientEvents;
  /** The name of the server here; its log messages carry it. */
  readonly name: string | undefined;
  readonly limits: Partial<PeerLimits>;
  readonly report: NonNullable<PeerOptions<undefined>["report"]>;
  readonly observer?: CallObserver | undefined;
  /** Milliseconds for the handshake. */
  readonly timeout: number;
  /** Aborts the handshake. */
  readonly signal: AbortSignal;
  /** Milliseconds to wait for `server/discover` before `initialize` is tried too. */
  readonly probe: number;
  /** The progress token of the call whose stream a request came on, where the transport knows. */
  readonly originOf?: ((idText: string) => unknown) | undefined;
  /** Which tools the transport can call that want arguments in headers; all when left out. */
  readonly canCall?: ((tool: JsonObject) => boolean) | undefined;
  /** An extension that we take part in at this server only. */
  readonly extension?: string | undefined;
  /** Milliseconds for the answer to a question of the server, by its method. */
  readonly questionLimits: Readonly<Record<string, number>>;
}

/** Reports the duration of each request, if there is an observer. */
function observed({
  observer,
  name: server = "",
}: McpClientOptions): PeerOptions<undefined>["sent"] {
  const tell = observer?.sent;
  if (tell === undefined) return undefined;
  return (method, params, answer) => {
    const started = performance.now();
    const name = isObject(params) && method === "tools/call" ? params.name : undefined;
    const tool = typeof name === "string" ? name : undefined;
    const over = (error: string | undefined): void =>
      tell({ server, method, tool, milliseconds: performance.now() - started, error });
    answer.then(
      (result) => over(isObject(result) && result.isError === true ? "tool_error" : undefined),
      (error: { code?: string | number }) => over(String(error.code ?? "error")),
    );
  };
}

const INFO: Implementation = { name: "trunkline", version: VERSION };

/** The MCP client: one interface, whatever revision the server speaks. */
export class McpClient {
  readonly #peer: Peer;
  readonly #calls = new ClientCalls();
  readonly #requests: ClientRequests;
  readonly #listening: ReturnType<typeof clientListening>;
  readonly #canCall: (tool: JsonObject) => boolean;
  readonly #report: McpClientOptions["report"];
  /** The extensions that this server alone is told of. */
  readonly #own: JsonObject;
  #server: ServerHello | undefined;
  /** Why tools were left out of its last list. */
  readonly #unusable = new Set<string>();

  private constructor(channel: Channel<string>, options: McpClientOptions) {
    const pages = new ClientPages();
    const { events, report, name, questionLimits } = options;
    this.#report = report;
    this.#canCall = options.canCall ?? (() => true);
    const limits = resolvePeerLimits(options.limits);
    this.#peer = new Peer(channel, undefined, {
      receiver: (peer) => apartSink(peer, limits),
      // Servers of 2025-03-26 may send several messages as one.
      dialect: { ...mcpDialect, batches: true },
      routes: clientRoutes({
        calls: this.#calls,
        pages,
        events,
        name,
        originOf: options.originOf ?? (() => undefined),
        questionLimits,
      }),
      limits,
      report,
      sent: observed(options),
    });
    this.#own = options.extension === undefined ? {} : { [options.extension]: {} };
    this.#requests = new ClientRequests(this.#peer, this.#calls, pages, INFO, this.#own);
    const listen = (wanted: JsonObject, signal: AbortSignal): Promise<JsonObject> => {
      const notifications = this.#narrow(wanted);
      return this.#requests.request("subscriptions/listen", { notifications }, signal);
    };
    this.#listening = clientListening(KINDS, listen, () => {
      events.toolsChanged();
      events.promptsChanged();
      events.resourcesChanged();
    });
  }

  /** Connects, and closes the channel when that fails. */
  static async connect(channel: Channel<string>, options: McpClientOptions): Promise<McpClient> {
    const { era, timeout, probe } = options;
    const client = new McpClient(channel, options);
    const late = new AbortController();
    using _ = setTimeout(() => {
      late.abort(new TrunklineError("timeout", `No answer to the handshake within ${timeout} ms`));
    }, timeout);
    await using opening = new AsyncDisposableStack();
    opening.defer(() => client.close());
    const signal = AbortSignal.any([late.signal, options.signal]);
    client.#server = await handshake(client.#peer, {
      ...{ era, info: INFO, probe, signal },
      own: client.#own,
    });
    opening.move();
    client.#requests.codec = client.codec;
    if (client.codec.has.listening) client.#listening.renew();
    else {
      // The revisions without it are those with sessions.
      const started = performance.now();
      const { name: server, observer } = options;
      const { revision } = client;
      const over = (): void => {
        const milliseconds = performance.now() - started;
        observer?.sessionOver?.({ as: "client", server, revision, milliseconds });
      };
      background(client.ended.then(over), "Noting the end of a session");
    }
    return client;
  }

  /** The codec of the server's revision. */
  get codec(): Codec {
    return this.#introduction.codec;
  }

  get revision(): Revision {
    return this.codec.revision;
  }

  /** Whether the server may answer any call with a task. */
  get hasTasks(): boolean {
    return this.codec.has.tasks === "server's choice" && hasTasksExtension(this.capabilities);
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

  get hasEnded(): boolean {
    return this.#peer.hasEnded;
  }

  get callsInFlight(): number {
    return this.#calls.size;
  }

  async listTools(): Promise<JsonObject[]> {
    this.#unusable.clear();
    const all = await this.#list("tools", "tools/list", "tools");
    const readable = withReadableNames(all, this.#leftOut("tools/list"));
    const tools = this.codec.has.headerParams ? readable.filter(this.#canCall) : readable;
    if (tools.length < readable.length) this.#unusable.add("arguments that cannot be headers");
    return tools;
  }

  /** Why its list of tools is empty, in words that complete "It has no tools: …". */
  get whyNoTools(): string {
    if (!isObject(this.capabilities.tools)) return "it declares none";
    const { size } = this.#unusable;
    return size === 0 ? "its list is empty" : `left out for ${[...this.#unusable].join(", ")}`;
  }

  async listPrompts(): Promise<JsonObject[]> {
    const prompts = await this.#list("prompts", "prompts/list", "prompts");
    return withReadableNames(prompts, this.#leftOut("prompts/list"));
  }

  listResources(): Promise<JsonObject[]> {
    return this.#list("resources", "resources/list", "resources");
  }

  listTemplates(): Promise<JsonObject[]> {
    return this.#list("resources", "resources/templates/list", "resourceTemplates");
  }

  /** Calls a tool, and waits for its end if it is called as a task (2025-11-25). */
  callTool(
    name: string,
    args: JsonObject,
    context: ToolContext,
    { isTask = false, shape = plainToolResult }: ToolCallOptions = {},
  ): Promise<ToolResult> {
    const params = { name, arguments: args, ...(isTask ? this.codec.taskParams : undefined) };
    return this.#requests.call("tools/call", params, context, shape);
  }

  /** Waits for the end of a task that this server has, whoever has begun it. */
  resumeTask(taskId: string, context: ToolContext): Promise<ToolResult> {
    return this.#requests.resume(taskId, context).then(plainToolResult);
  }

  readResource(uri: string, context: ToolContext): Promise<JsonObject> {
    return this.#requests.call("resources/read", { uri }, context, plainResult);
  }

  getPrompt(name: string, args: JsonObject, context: ToolContext): Promise<JsonObject> {
    return this.#requests.call("prompts/get", { name, arguments: args }, context, plainResult);
  }

  /** The skills of a server that has announced them (SEP-2640). */
  listSkills(context: ToolContext): Promise<JsonObject[]> {
    const list = "skills/list";
    const ask = (params: JsonObject): Promise<JsonObject> => this.ask(list, params, context);
    return allPages(ask, "skills", this.#leftOut(list));
  }

  /** Sends a request of an extension for a caller. */
  ask(method: string, params: JsonObject, context: ToolContext): Promise<JsonObject> {
    return this.#requests.call(method, params, context, plainResult);
  }

  async complete(params: JsonObject): Promise<JsonObject> {
    return plainResult(await this.#requests.request("completion/complete", params));
  }

  /** Subscribes to a resource. */
  async watch(uri: string): Promise<void> {
    if (this.codec.has.listening) this.#listening.watch(uri);
    else if (this.#can("resources", "subscribe")) {
      await this.#requests.request("resources/subscribe", { uri });
    }
  }

  async unwatch(uri: string): Promise<void> {
    if (this.codec.has.listening) this.#listening.unwatch(uri);
    else if (this.#can("resources", "subscribe")) {
      await this.#requests.request("resources/unsubscribe", { uri });
    }
  }

  async close(): Promise<void> {
    this.#listening.end();
    await this.#peer.close();
  }

  async #list(capability: string, name: string, member: string): Promise<JsonObject[]> {
    if (!isObject(this.capabilities[capability])) return [];
    const ask = (params: JsonObject): Promise<JsonObject> => this.#requests.request(name, params);
    const leftOut = this.#leftOut(name);
    return readableEntries(member, await allPages(ask, member, leftOut), leftOut);
  }

  #leftOut(list: string): OmissionReport {
    return (why, count) => {
      if (list === "tools/list") this.#unusable.add(why);
      this.#report("mcp.left-out", { list, why, count });
    };
  }

  /** The part of a filter that the server has declared. */
  #narrow(wanted: JsonObject): JsonObject {
    const unable = LISTS.filter(([, part]) => !this.#can(part, "listChanged"));
    return { ...wanted, ...Object.fromEntries(unable.map(([kind]) => [kind, undefined])) };
  }

  #can(capability: string, part: string): boolean {
    const parts = this.capabilities[capability];
    return isObject(parts) && parts[part] === true;
  }

  get #introduction(): ServerHello {
    if (this.#server === undefined) throw new Error("The handshake is not over");
    return this.#server;
  }
}

export interface ToolCallOptions {
  /** The tool only works as a task. */
  readonly isTask?: boolean;
  /** Makes the result that is passed on of the server's. */
  readonly shape?: (result: JsonObject) => ToolResult;
}

const KINDS = Object.fromEntries(LISTS.map(([kind]) => [kind, true]));

/** Milliseconds to wait after a subscription has ended or its stream was lost. */
const AGAIN = 1_000;
/** The longest wait, after repeated losses. */
const LONGEST_WAIT = 30_000;

/**
 * The `subscriptions/listen` request to a server of 2026-07-28. It is opened again when the wanted
 * resources change, and when its stream is lost.
 */
export function clientListening(
  kinds: JsonObject,
  listen: (notifications: JsonObject, signal: AbortSignal) => Promise<unknown>,
  missed: () => void = () => {},
) {
  const watched = new Set<string>();
  let current: AbortController | undefined;
  let isOver = false;
  let isDue = false;
  /**
   * Opens the request for the resources that are wanted now. Several changes in one turn make one request.
   */
  const renew = (): void => {
    if (isDue) return;
    isDue = true;
    queueMicrotask(() => {
      isDue = false;
      const before = current;
      current = new AbortController();
      if (!isOver) background(listenUntil(current.signal), "Listening to a server");
      // Only after the new request is sent, so that nothing is missed in between.
      before?.abort(new Error("What is listened for has changed"));
    });
  };
  const listenUntil = async (signal: AbortSignal): Promise<void> => {
    const uris = [...watched];
    const wanted = { ...kinds, ...(uris.length > 0 ? { resourceSubscriptions: uris } : {}) };
    if (Object.keys(wanted).length === 0) return;
    for (let losses = 0; !signal.aborted;) {
      const began = performance.now();
      try {
        const listening = listen(wanted, signal);
        if (losses > 0) missed();
        await listening;
        losses = 0;
      } catch (error) {
        // Cancelled or not supported. When the connection has ended, a new one listens anew.
        if (!(error instanceof LostRequest)) return;
        losses = performance.now() - began > LONGEST_WAIT ? 1 : losses + 1;
      }
      const wait = Math.min(AGAIN * 2 ** Math.max(0, losses - 1), LONGEST_WAIT);
      await sleep(wait, undefined, { signal, ref: false }).catch(() => {});
    }
  };
  return {
    watch(uri: string): void {
      watched.add(uri);
      renew();
    },
    unwatch(uri: string): void {
      if (watched.delete(uri)) renew();
    },
    renew,
    end(): void {
      isOver = true;
      current?.abort(new Error("The connection is closing"));
    },
  };
}

/**
 * Returns a value as it may be passed on: the same if nothing is wrong with it, a copy without what is wrong,
 * or undefined if nothing of it can be used.
 */
type Shape = (value: unknown) => unknown;

const text: Shape = (value) => (typeof value === "string" ? value : undefined);
const flag: Shape = (value) => (typeof value === "boolean" ? value : undefined);
const count: Shape = (value) => (typeof value === "number" && value >= 0 ? value : undefined);
const share: Shape = (value) =>
  typeof value === "number" && value <= 1 ? count(value) : undefined;
const anObject: Shape = (value) => (isObject(value) ? value : undefined);
const oneOf =
  (...values: readonly unknown[]): Shape =>
  (value) =>
    values.includes(value) ? value : undefined;
/** ISO 8601 with a time zone. */
const moment: Shape = (value) =>
  typeof value === "string" &&
  /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/.test(value)
    ? value
    : undefined;

function listOf(shape: Shape): Shape {
  return (value) => {
    if (!Array.isArray(value)) return undefined;
    const items: readonly unknown[] = value;
    const plain = items.map(shape);
    if (plain.every((item, at) => item === items[at])) return items;
    return plain.filter((item) => item !== undefined);
  };
}

/** An object whose members have these shapes, as far as they are there. Others are passed on. */
function object(members: Readonly<Record<string, Shape>>, required: readonly string[] = []): Shape {
  const shapes = Object.entries(members);
  return (value) => {
    if (!isObject(value)) return undefined;
    let plain: Record<string, unknown> = value;
    for (const [name, shape] of shapes) {
      const member = value[name];
      if (member === undefined) continue;
      const good = shape(member);
      if (good === member) continue;
      if (plain === value) plain = { ...value };
      if (good === undefined) delete plain[name];
      else plain[name] = good;
    }
    return required.every((name) => plain[name] !== undefined) ? plain : undefined;
  };
}

/** The schemas of properties. JSON Schema has booleans for "anything" and "nothing"; clients want objects. */
const properties: Shape = (value) => {
  if (!isObject(value)) return undefined;
  const all = Object.entries(value);
  if (all.every(([, schema]) => isObject(schema))) return value;
  return Object.fromEntries(
    all.map(([name, schema]) => [
      name,
      isObject(schema) ? schema : schema === false ? { not: {} } : {},
    ]),
  );
};

const schema = { properties, required: listOf(text) };
const described = {
  title: text,
  description: text,
  icons: listOf(
    object({ src: text, mimeType: text, sizes: listOf(text), theme: oneOf("light", "dark") }, [
      "src",
    ]),
  ),
  _meta: anObject,
};
const content = {
  ...described,
  name: text,
  mimeType: text,
  annotations: object({
    audience: listOf(oneOf("user", "assistant")),
    priority: share,
    lastModified: moment,
  }),
};

/** MCP 2025-11-25, schema: the entries of the lists, by the member of the result that has them. */
const ENTRIES: Readonly<Record<string, Shape>> = {
  tools: object({
    ...described,
    inputSchema: object(schema),
    outputSchema: object(schema),
    annotations: object({
      title: text,
      readOnlyHint: flag,
      destructiveHint: flag,
      idempotentHint: flag,
      openWorldHint: flag,
    }),
    execution: object({ taskSupport: oneOf("required", "optional", "forbidden") }),
  }),
  prompts: object({
    ...described,
    arguments: listOf(
      object({ name: text, title: text, description: text, required: flag }, ["name"]),
    ),
  }),
  resources: object({ ...content, uri: text, size: count }, ["uri"]),
  resourceTemplates: object({ ...content, uriTemplate: text }, ["uriTemplate"]),
};

/**
 * Entries that clients can read. Many clients refuse a whole list for one member of the wrong type, such as a
 * description that is null: one server must not take the tools of all others with it.
 */
export function readableEntries(
  list: string,
  entries: readonly JsonObject[],
  leftOut: OmissionReport = () => {},
): JsonObject[] {
  const shape = ENTRIES[list] ?? anObject;
  let wrong = 0;
  const readable = entries.flatMap((entry) => {
    const plain = shape(entry) as JsonObject | undefined;
    if (plain !== entry) wrong++;
    return plain === undefined ? [] : [named(plain)];
  });
  if (wrong > 0) leftOut("members of the wrong type", wrong);
  return readable;
}

/** Resources have had names since 2024-11-05, but some servers give none. */
function named(entry: JsonObject): JsonObject {
  const name = entry.name ?? entry.uri ?? entry.uriTemplate;
  return entry.name === undefined && name !== undefined ? { ...entry, name } : entry;
}
