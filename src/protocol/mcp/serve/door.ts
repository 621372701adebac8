import { type Route, route, routes } from "../../../rpc/route.ts";
import { CannotAsk, errorResult, type Tool, ToolFault } from "../../../tool/tool.ts";
import {
  type Client,
  type Connection,
  clientOfRequest,
  describesClient,
  missingCapability,
} from "./connection.ts";
import { METHODS, EVENTS } from "../methods.ts";
import type { Asking, InputRequired } from "./input-required.ts";
import { hasTasksExtension, metaOf } from "../meta.ts";
import { pageOf, UNCACHED, missingSources } from "./list-result.ts";
import type { CallToolParams } from "../schema.gen.ts";
import { turn } from "./rounds.ts";
import { McpToolContext } from "./tool-context.ts";
import { describeProblem } from "../../../base/check.ts";
import { STANDARD } from "../../../rpc/codes.ts";
import type { Method } from "../../../rpc/method.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import { neededFor } from "./question.ts";
import type { Caching, Implementation, Revision } from "../revision/codec.ts";
import { background } from "../../../base/background.ts";
import { VERSION } from "../../../base/version.ts";
import type { Call } from "../../../rpc/call.ts";
import type { Peer } from "../../../rpc/peer.ts";
import type { PeerOptions } from "../../../rpc/peer-options.ts";
import type { Offer } from "../../../tool/offer/offer.ts";
import type { Profile } from "../../../tool/profile/profile.ts";
import type { JsonObject } from "../json-object.ts";
import { mcpDialect } from "../dialect.ts";
import { relayNotices } from "./relay-notices.ts";
import { serveLists } from "./serve-lists.ts";
import { serveSession } from "./serve-session.ts";
import { serveTasks, tellOfTasks } from "./task/serve-tasks.ts";
import { serveWatching } from "./serve-watching.ts";
import { Tasks, type TasksOptions } from "./task/tasks.ts";

export interface McpDoorOptions {
  readonly offer: Offer;
  readonly info?: Implementation;
  /** What a client is told at first; its profile says what it sees. */
  readonly instructions?: (profile: Profile | undefined) => string;
  /** The capabilities in the answer to `initialize`, for revisions in which they must not be ours. */
  readonly capabilities?: Readonly<Partial<Record<Revision, JsonObject>>>;
  /** The same of a method that there is not. */
  readonly methodNotFound?: (method: string) => string;
  /** How tasks outlive the process. */
  readonly tasks?: TasksOptions;
  /** False where the offer changes only when the client itself asks for it. */
  readonly announcesChanges?: boolean;
  /** Milliseconds for the answer to `roots/list`; then a call goes on without roots. */
  readonly rootsTimeout?: number | undefined;
}

const ROOTS_TIMEOUT = 10_000;

/** The MCP server: one for all connections and all revisions. */
export class McpDoor {
  readonly offer: Offer;
  readonly info: Implementation;
  readonly instructions: McpDoorOptions["instructions"];
  readonly capabilities: NonNullable<McpDoorOptions["capabilities"]>;
  readonly routes: McpRoutes;
  readonly tasks: Tasks;
  readonly #announcesChanges: boolean;
  readonly #rootsTimeout: number;
  readonly #methodNotFound: ((method: string) => string) | undefined;
  readonly #table;
  #inputRequired: InputRequired | undefined;
  /** Ends the open `subscriptions/listen` requests. */
  readonly #lasting = new Set<() => void>();

  constructor(options: McpDoorOptions) {
    this.offer = options.offer;
    this.info = options.info ?? { name: "trunkline", version: VERSION };
    this.instructions = options.instructions;
    this.capabilities = options.capabilities ?? {};
    this.tasks = new Tasks(options.tasks);
    this.#announcesChanges = options.announcesChanges ?? true;
    this.#rootsTimeout = options.rootsTimeout ?? ROOTS_TIMEOUT;
    this.#methodNotFound = options.methodNotFound;
    this.routes = new McpRoutes(this.info);
    this.#table = routes(
      ...serveSession(this),
      ...serveTools(this),
      ...serveLists(this),
      ...serveWatching(this),
      ...serveTasks(this),
    );
  }

  /** The context of a tool, resource or prompt that works for a request. */
  contextOf(request: McpRequest<unknown>): McpToolContext {
    const { client, call, params } = request;
    const options = {
      profile: this.profileOf(client, call.state),
      rootsTimeout: this.#rootsTimeout,
    };
    return new McpToolContext(client, call, metaOf(params), options);
  }

  /** Serves a request that may take several round trips. */
  serveInRounds(asking: Asking): JsonObject | Promise<JsonObject> {
    return this.#inputRequired?.serve(asking) ?? this.#serveFirstInRounds(asking);
  }

  async #serveFirstInRounds(asking: Asking): Promise<JsonObject> {
    const { InputRequired } = await import("./input-required.ts");
    this.#inputRequired ??= new InputRequired(this.info);
    return this.#inputRequired.serve(asking);
  }

  /** What a client sees of the offer. */
  profileOf(client: Pick<Client, "name">, connection: Connection): Profile | undefined {
    const { principal, folder, profile: named } = connection;
    // Only who was started by its client knows the folder that the client works in.
    const door = folder === undefined ? "http" : "mcp";
    return this.offer.profileFor({ door, client: client.name, folder, principal, named });
  }

  /** The options of the peer that serves one connection. */
  optionsFor(connection: Connection): PeerOptions<Connection> {
    connection.onEnd(() => this.offer.clients.gone(connection.id));
    const dialect = {
      ...mcpDialect,
      ...(this.#methodNotFound === undefined ? {} : { methodNotFound: this.#methodNotFound }),
      get batches() {
        return connection.client.codec.has.batches;
      },
    };
    return { dialect, routes: this.#table };
  }

  /** After `initialize`: subscribes the client to changes and notices. */
  welcome(connection: Connection, peer: Peer<Connection>): void {
    if (!this.#announcesChanges) return;
    const { tools, resources, prompts } = this.offer;
    const tell = (event: (typeof EVENTS)[keyof typeof EVENTS]) => () => {
      peer.notify(event, {});
    };
    connection.onEnd(tools.onChange(tell(EVENTS.toolsChanged)));
    connection.onEnd(resources.onChange(tell(EVENTS.resourcesChanged)));
    connection.onEnd(prompts.onChange(tell(EVENTS.promptsChanged)));
    connection.onEnd(tellOfTasks(this, connection, peer));
    relayNotices(this, connection, peer);
  }

  /** Resolves when a long-lived call is cancelled, its client is gone, or the door closes. */
  untilEnd({ signal, peer }: Call<Connection>): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        this.#lasting.delete(end);
        resolve();
      };
      this.#lasting.add(end);
      signal.addEventListener("abort", end, { once: true });
      background(peer.ended.then(end), "Ending a call that lasts");
    });
  }

  /** Ends the long-lived calls, so that their clients get an answer. */
  close(): void {
    for (const end of [...this.#lasting]) end();
  }
}

/** One request, with the client it comes from. */
export interface McpRequest<P> {
  readonly client: Client;
  readonly params: P;
  readonly call: Call<Connection>;
}

export interface ServeOptions {
  /** How long a client may keep the answer, where its revision can say so. */
  readonly caching?: Caching;
}

/** Makes routes. Handlers return one shape; the client's codec makes the result of it here. */
export class McpRoutes {
  readonly #server: Implementation;

  constructor(server: Implementation) {
    this.#server = server;
  }

  serve<P>(
    asked: Method<P, JsonObject>,
    handle: (request: McpRequest<P>) => JsonObject | Promise<JsonObject>,
    options: ServeOptions = {},
  ): Route<Connection> {
    const { name, check } = asked;
    // No check in the route: an unknown method is reported before wrong parameters.
    return route<P, JsonObject, Connection>({ name }, (params, call) => {
      const { state } = call;
      // MCP 2026-07-28, basic/versioning § Compatibility Matrix: a request with `_meta` is stateless, on
      // any connection; without it, the session that `initialize` began decides.
      // Before `initialize`, what only revisions without sessions have must describe its client.
      const mustDescribe = !state.isInitialized && state.client.codec.lacks.has(name);
      const client =
        mustDescribe || describesClient(params) ? clientOfRequest(params) : state.client;
      const { codec } = client;
      if (codec.lacks.has(name)) {
        const { code, message } = STANDARD.methodNotFound;
        throw new RpcError(code, message);
      }
      const problem = check?.(params);
      if (problem !== undefined) {
        throw RpcError.of(STANDARD.invalidParams, describeProblem("params", problem));
      }
      const shape = (body: JsonObject): JsonObject =>
        codec.shapeResult(body, this.#server, options.caching);
      try {
        const body = handle({ client, params, call });
        return body instanceof Promise ? body.then(shape, rethrow) : shape(body);
      } catch (error) {
        return rethrow(error);
      }
    });
  }
}

/** Turns the errors of tools into those of MCP. */
export function rethrow(error: unknown): never {
  if (error instanceof CannotAsk) throw missingCapability(neededFor(error.question));
  if (error instanceof ToolFault) throw new RpcError(error.code, error.message, error.data);
  throw error;
}

export type CallRequest = McpRequest<CallToolParams>;

/** tools/list and tools/call. */
export function serveTools(door: McpDoor): Route<Connection>[] {
  const { offer, routes } = door;
  return [
    routes.serve(
      METHODS.listTools,
      (request) => {
        const { client, params } = request;
        const list = (): JsonObject => {
          const context = door.contextOf(request);
          const { page, next } = pageOf(offer.tools.listFor(context), params.cursor);
          const tools = page.map((tool) => client.codec.shapeTool(describe(tool)));
          return { tools, ...next, ...missingSources(offer, context.profile) };
        };
        return offer.known()?.then(list) ?? list();
      },
      { caching: UNCACHED },
    ),
    routes.serve(METHODS.callTool, (request) => callTool(door, request)),
  ];
}

function describe(tool: Tool): Tool["definition"] {
  if (tool.task === undefined) return tool.definition;
  const taskSupport = tool.task === "required" ? "required" : "optional";
  return { ...tool.definition, execution: { taskSupport } };
}

function callTool(door: McpDoor, request: CallRequest): JsonObject | Promise<JsonObject> {
  const { client, params, call } = request;
  const tool = door.offer.tools.get(params.name, door.profileOf(client, call.state));
  if (tool?.task !== undefined && mayBeTask(request, tool.task)) {
    return callAsTask(door, request, tool);
  }
  if (client.codec.has.inputRequired && mayAsk(client)) return callInRounds(door, request);
  return run(door, request, door.contextOf(request));
}

/** Whether a call is one for a task, or an error because it has to be one. Most are not. */
function mayBeTask({ client, params }: CallRequest, task: Tool["task"]): boolean {
  switch (client.codec.has.tasks) {
    case "server's choice":
      return task === "required" || hasTasksExtension(client.capabilities);
    case "client's choice":
      return task === "required" || params.task !== undefined;
    case undefined:
      return false;
  }
}

async function callAsTask(door: McpDoor, request: CallRequest, tool: Tool): Promise<JsonObject> {
  const { beginTask } = await import("./task/begin-task.ts");
  return beginTask(door, request, tool);
}

/** Whether the client can be asked anything: if not, the call takes the shorter path. */
export function mayAsk({ capabilities }: Client): boolean {
  return (
    capabilities.elicitation !== undefined ||
    capabilities.sampling !== undefined ||
    capabilities.roots !== undefined
  );
}

export function callInRounds(
  door: McpDoor,
  request: CallRequest,
  task: Pick<Asking, "goOn" | "goOnWhen"> = {},
): JsonObject | Promise<JsonObject> {
  const { params, call } = request;
  return door.serveInRounds({
    method: "tools/call",
    params: params as unknown as JsonObject,
    principal: call.state.principal.id,
    context: door.contextOf(request),
    work: (context) => run(door, request, context),
    ...task,
  });
}

/** Calls the tool, and shapes its answer for the client's revision. */
export async function run(
  door: McpDoor,
  { client: { codec }, params }: CallRequest,
  context: McpToolContext,
): Promise<JsonObject> {
  try {
    const result = await door.offer.tools.call(params.name, params.arguments ?? {}, context);
    // Some clients lose progress that arrives in one read with the answer.
    if (context.hasProgressed) await turn();
    return codec.shapeToolResult(result);
  } catch (error) {
    if (codec.has.missingCapabilityError || !(error instanceof CannotAsk)) throw error;
    return { ...errorResult(error.message) };
  }
}
