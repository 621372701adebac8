import { personOf } from "../../../base/principal.ts";
import { type Route, route, routes } from "../../../rpc/route.ts";
import {
  CannotAsk,
  errorResult,
  SKILLS_EXTENSION,
  type Tool,
  ToolFault,
  type Prompt,
  type Completion,
} from "../../../tool/tool.ts";
import {
  type Client,
  type Connection,
  clientOfRequest,
  describesClient,
  missingCapability,
} from "./connection.ts";
import { METHODS, EVENTS, LISTS } from "../methods.ts";
import type { ResumableRequest, InputRequired } from "./input-required.ts";
import { hasTasksExtension, metaMember, metaOf } from "../meta.ts";
import { pageOf, UNCACHED, missingSources } from "./list-result.ts";
import type {
  CallToolParams,
  CompleteParams,
  ListParams,
  ReadResourceParams,
} from "../schema.gen.ts";
import { nextTurn } from "../../../base/event-loop.ts";
import { McpToolContext } from "./tool-context.ts";
import { describeProblem } from "../../../base/check.ts";
import { STANDARD } from "../../../rpc/codes.ts";
import { type Method, notification } from "../../../rpc/method.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import { neededFor } from "./question.ts";
import type { Caching, Implementation, Revision } from "../revision/codec.ts";
import { background } from "../../../base/background.ts";
import { VERSION } from "../../../base/version.ts";
import type { Call, Peer } from "../../../rpc/peer.ts";
import type { PeerOptions } from "../../../rpc/peer-options.ts";
import type { Offer } from "../../../tool/offer/offer.ts";
import type { Profile } from "../../../tool/profile/profile.ts";
import type { JsonObject } from "../json-object.ts";
import { mcpDialect } from "../dialect.ts";
import { Tasks, type TasksOptions } from "./task/tasks.ts";
import { mayHave } from "../../../tool/policy.ts";
import { ROOM } from "../../../wire/channel.ts";
import { isWanted, toldLevel } from "../log-levels.ts";
import { REVISIONS } from "../revision/revisions.ts";

export interface McpDoorOptions {
  readonly offer: Offer;
  readonly info?: Implementation;
  /** The instructions in the answer to `initialize`, for the profile of a client. */
  readonly instructions?: (profile: Profile | undefined, person: string | undefined) => string;
  /** The capabilities in the answer to `initialize`, for revisions in which they must not be ours. */
  readonly capabilities?: Readonly<Partial<Record<Revision, JsonObject>>>;
  /** The message of the error for an unknown method. */
  readonly methodNotFound?: (method: string) => string;
  /** How tasks outlive the process. */
  readonly tasks?: TasksOptions;
  /** False if the offer changes only by requests of the client itself. */
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
    this.#table = routes(
      ...serveSession(this),
      ...serveTools(this),
      ...serveLists(this),
      ...serveWatching(this),
      ...serveTasks(this),
    );
  }

  /**
   * A route. Its handler returns one shape, of which the client's codec makes the result. `caching` is
   * how long a client may keep the answer, where its revision can say so.
   */
  serve<P>(
    asked: Method<P, JsonObject>,
    handle: (request: McpRequest<P>) => JsonObject | Promise<JsonObject>,
    caching?: Caching,
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
      const shape = (body: JsonObject): JsonObject => codec.shapeResult(body, this.info, caching);
      try {
        const body = handle({ client, params, call });
        return body instanceof Promise ? body.then(shape, rethrow) : shape(body);
      } catch (error) {
        return rethrow(error);
      }
    });
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
  serveInRounds(
    request: McpRequest<object>,
    how: Pick<ResumableRequest, "method" | "work" | "goOn" | "goOnWhen">,
  ): JsonObject | Promise<JsonObject> {
    const asking: ResumableRequest = {
      ...how,
      params: request.params as JsonObject,
      principal: request.call.state.principal.id,
      context: this.contextOf(request),
    };
    return this.#inputRequired?.serve(asking) ?? this.#serveFirstInRounds(asking);
  }

  async #serveFirstInRounds(asking: ResumableRequest): Promise<JsonObject> {
    const { InputRequired } = await import("./input-required.ts");
    this.#inputRequired ??= new InputRequired(this.info);
    return this.#inputRequired.serve(asking);
  }

  /** The profile of a client. */
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
    const person = personOf(connection.principal);
    for (const [, part, event] of LISTS) {
      const tell = (): void => {
        peer.notify(event, {});
      };
      connection.onEnd(this.offer[part].onChange(tell, person));
    }
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

/** Turns the errors of tools into those of MCP. */
export function rethrow(error: unknown): never {
  if (error instanceof CannotAsk) throw missingCapability(neededFor(error.question));
  if (error instanceof ToolFault) throw new RpcError(error.code, error.message, error.data);
  throw error;
}

export type CallRequest = McpRequest<CallToolParams>;

/** tools/list and tools/call. */
function serveTools(door: McpDoor): Route<Connection>[] {
  const { offer } = door;
  return [
    door.serve(
      METHODS.listTools,
      (request) => {
        const { client, params } = request;
        const list = (): JsonObject => {
          const context = door.contextOf(request);
          const { page, next } = pageOf(offer.tools.listFor(context), params.cursor);
          const tools = page.map((tool) => client.codec.shapeTool(describe(tool)));
          return {
            tools,
            ...next,
            ...missingSources(offer, context.profile, context.caller.principal),
          };
        };
        return offer.known(request.call.state.principal)?.then(list) ?? list();
      },
      UNCACHED,
    ),
    door.serve(METHODS.callTool, (request) => {
      const { client, params, call } = request;
      const tool = offer.tools.get(
        params.name,
        door.profileOf(client, call.state),
        call.state.principal,
      );
      if (tool?.task !== undefined && mayBeTask(request, tool.task)) {
        return callAsTask(door, request, tool);
      }
      if (client.codec.has.inputRequired && mayAsk(client)) return callInRounds(door, request);
      return run(door, request, door.contextOf(request));
    }),
  ];
}

function describe(tool: Tool): Tool["definition"] {
  if (tool.task === undefined) return tool.definition;
  const taskSupport = tool.task === "required" ? "required" : "optional";
  return { ...tool.definition, execution: { taskSupport } };
}

/** Whether a call becomes a task, or is refused because it must be one. Most do not. */
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
  const { beginTask } = await import("./task/answer-tasks.ts");
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
  task: Pick<ResumableRequest, "goOn" | "goOnWhen"> = {},
): JsonObject | Promise<JsonObject> {
  const work: ResumableRequest["work"] = (context) => run(door, request, context);
  return door.serveInRounds(request, { method: "tools/call", work, ...task });
}

/** Calls the tool, and shapes its answer for the client's revision. */
export function run(
  door: McpDoor,
  { client: { codec }, params }: CallRequest,
  context: McpToolContext,
): Promise<JsonObject> {
  return door.offer.tools.call(params.name, params.arguments ?? {}, context).then(
    // Some clients lose progress that arrives in one read with the answer.
    (result) =>
      context.hasProgressed
        ? nextTurn().then(() => codec.shapeToolResult(result))
        : codec.shapeToolResult(result),
    (error: unknown) => {
      if (codec.has.missingCapabilityError || !(error instanceof CannotAsk)) throw error;
      return { ...errorResult(error.message) };
    },
  );
}

const relaying = new WeakSet<Connection>();

/**
 * Sends notices to the client of a session as `notifications/message`. Once the client has set a level
 * it gets all from that level on. Before, the server may choose (MCP 2025-11-25,
 * server/utilities/logging § Setting Log Level): it gets the important ones. Clients without sessions
 * ask for messages with each request, and a notice belongs to none. Notices are dropped while the
 * client reads too slowly.
 */
export function relayNotices(
  door: Pick<McpDoor, "offer" | "profileOf">,
  connection: Connection,
  peer: Peer<Connection>,
): void {
  if (relaying.has(connection)) return;
  relaying.add(connection);
  let isBehind = false;
  const { principal, folder } = connection;
  const stop = door.offer.notices.on((notice) => {
    const { level, logger, data, message, scope, server, concerns, more, person } = notice;
    if (!mayHave(principal, scope)) return;
    if (person !== undefined && person !== personOf(principal)) return;
    if (door.profileOf(connection.client, connection)?.hasServer(server) === false) return;
    if (folder !== undefined && concerns?.(folder) === false) return;
    if (isBehind || !(notice.isNews === true || connection.hasSetLevel)) return;
    const told = toldLevel(level, more);
    if (!isWanted(told, connection.client.logLevel)) return;
    const words = { ...(message === undefined ? {} : { message }), ...metaMember(more) };
    const room = peer.notify(EVENTS.message, { level: told, ...words, logger, data });
    if (room === ROOM) return;
    isBehind = true;
    background(
      room.then(() => {
        isBehind = false;
      }),
      "Noting that there is room",
    );
  });
  connection.onEnd(stop);
}

/** initialize, server/discover, ping and logging/setLevel. */
function serveSession(door: McpDoor): Route<Connection>[] {
  const offered = (declared: JsonObject, client: Client, connection: Connection): JsonObject => {
    const { principal } = connection;
    const profile = door.profileOf(client, connection);
    const instructions = door.instructions?.(profile, personOf(principal));
    const theirs = door.offer.resources.extensions(profile, principal);
    const capabilities =
      Object.keys(theirs).length === 0
        ? declared
        : { ...declared, extensions: { ...(declared.extensions as object), ...theirs } };
    return { capabilities, ...(instructions === undefined ? {} : { instructions }) };
  };
  return [
    door.serve(METHODS.initialize, ({ params, call }) => {
      // MCP 2025-11-25, basic/lifecycle § Initialization.
      const { protocolVersion, capabilities = {}, clientInfo } = params;
      const isFirst = !call.state.isInitialized;
      const codec = call.state.agree(protocolVersion, capabilities, clientInfo);
      if (isFirst) {
        const started = performance.now();
        const { observer } = door.offer.tools;
        call.state.onEnd(() => {
          const milliseconds = performance.now() - started;
          observer?.sessionOver?.({ as: "server", revision: codec.revision, milliseconds });
        });
      }
      door.welcome(call.state, call.peer);
      return {
        protocolVersion: codec.revision,
        ...offered(
          door.capabilities[codec.revision] ?? codec.serverCapabilities,
          call.state.client,
          call.state,
        ),
        serverInfo: door.info,
      };
    }),
    door.serve(
      METHODS.discover,
      ({ client, call }) => {
        const all = offered(client.codec.serverCapabilities, client, call.state);
        return { supportedVersions: REVISIONS, ...all };
      },
      UNCACHED,
    ),
    door.serve(METHODS.ping, () => ({})),
    door.serve(METHODS.setLevel, ({ params, call }) => {
      call.state.logLevel = params.level;
      relayNotices(door, call.state, call.peer);
      return {};
    }),
    route(notification("notifications/initialized"), () => {}),
    route<JsonObject, void, Connection>(
      notification("notifications/roots/list_changed"),
      (_, call) => call.state.roots.changed(),
    ),
  ];
}

/** Resources, prompts and the completion of their arguments. */
function serveLists(door: McpDoor): Route<Connection>[] {
  const { offer } = door;
  const listed = (
    method: Method<ListParams, JsonObject>,
    kind: "list" | "templates",
    member: string,
  ): Route<Connection> =>
    door.serve(
      method,
      async ({ params, client, call }) => {
        const { principal } = call.state;
        const all = await offer.resources[kind](principal, door.profileOf(client, call.state));
        const { page, next } = pageOf<object>(all, params.cursor);
        return { [member]: page, ...next };
      },
      UNCACHED,
    );
  return [
    listed(METHODS.listResources, "list", "resources"),
    listed(METHODS.listTemplates, "templates", "resourceTemplates"),
    door.serve(
      METHODS.readResource,
      (request) =>
        inRounds(door, request, "resources/read", async (context) => {
          const { uri } = request.params;
          return (await offer.readResource(uri, context)) ?? notFound(request.client, uri);
        }),
      UNCACHED,
    ),
    door.serve(
      METHODS.listSkills,
      (request) => {
        requireSkills(door, request);
        return inRounds(door, request, "skills/list", async (context) => {
          const all = await offer.resources.skills(context);
          const { page, next } = pageOf(all, request.params.cursor);
          return { skills: page, ...next };
        });
      },
      UNCACHED,
    ),
    aboutSkill(door, METHODS.getSkill),
    aboutSkill(door, METHODS.readDirectory),
    door.serve(
      METHODS.listPrompts,
      async ({ params, client, call }) => {
        const { principal } = call.state;
        await offer.known(principal);
        const profile = door.profileOf(client, call.state);
        const all = mayHave(principal) ? offer.prompts.list(personOf(principal)) : [];
        const shown = all.filter((prompt) => profile?.hasPrompt(prompt) !== false);
        const { page, next } = pageOf(shown, params.cursor);
        const prompts = page.map(({ definition }) => {
          if (profile === undefined) return definition;
          return { ...definition, name: profile.promptNames.shown(definition.name) };
        });
        return { prompts, ...next, ...missingSources(offer, profile, principal) };
      },
      UNCACHED,
    ),
    door.serve(METHODS.getPrompt, (request) =>
      inRounds(door, request, "prompts/get", async (context) => {
        const { name, arguments: args = {} } = request.params;
        await offer.opened(request.call.state.principal);
        const prompt = promptFor(door, name, request);
        if (prompt === undefined) {
          throw RpcError.of(STANDARD.invalidParams, `Unknown prompt: ${name}`);
        }
        // MCP 2025-11-25, server/prompts § Error Handling: -32602 without a required argument.
        const missing = prompt.definition.arguments?.find(
          (argument) => argument.required === true && args[argument.name] === undefined,
        );
        if (missing !== undefined) {
          throw RpcError.of(
            STANDARD.invalidParams,
            `'params.arguments.${missing.name}' is missing`,
          );
        }
        return offer.getPrompt(prompt, args, context);
      }),
    ),
    door.serve(METHODS.complete, async (request) => {
      const { _meta, ...completion } = (await complete(door, request)) ?? {
        values: [],
        total: 0,
        hasMore: false,
      };
      // MCP 2025-11-25, server/utilities/completion § Completion Results: at most 100 values.
      const values = completion.values.slice(0, 100);
      return { completion: { ...completion, values }, ...(_meta === undefined ? {} : { _meta }) };
    }),
  ];
}

/** A method of the skills extension (SEP-2640) about one resource, which its server answers. */
function aboutSkill(
  door: McpDoor,
  asked: Method<ReadResourceParams, JsonObject>,
): Route<Connection> {
  return door.serve(
    asked,
    (request) => {
      requireSkills(door, request);
      return inRounds(door, request, asked.name, async (context) => {
        const { uri, _meta: _, ...params } = request.params;
        const question = { method: asked.name, params };
        const result = await door.offer.resources.askAbout(uri, question, context);
        return result ?? notFound(request.client, uri);
      });
    },
    UNCACHED,
  );
}

/** The method exists while a server that the client sees has announced the extension. */
function requireSkills(
  door: McpDoor,
  { client, call }: Pick<McpRequest<unknown>, "client" | "call">,
): void {
  const theirs = door.offer.resources.extensions(
    door.profileOf(client, call.state),
    call.state.principal,
  );
  if (theirs[SKILLS_EXTENSION] !== undefined) return;
  const { code, message } = STANDARD.methodNotFound;
  throw new RpcError(code, message);
}

function notFound({ codec }: Client, uri: string): never {
  throw new RpcError(codec.resourceNotFound.code, `Resource not found: ${uri}`, { uri });
}

/** Runs work that may ask the client, in round trips where the revision has them. */
function inRounds(
  door: McpDoor,
  request: McpRequest<object>,
  method: string,
  work: ResumableRequest["work"],
): JsonObject | Promise<JsonObject> {
  if (!request.client.codec.has.inputRequired) return work(door.contextOf(request));
  return door.serveInRounds(request, { method, work });
}

function promptFor(
  door: McpDoor,
  name: string,
  { client, call }: Pick<McpRequest<unknown>, "client" | "call">,
): Prompt | undefined {
  const { principal } = call.state;
  if (!mayHave(principal)) return undefined;
  const profile = door.profileOf(client, call.state);
  const person = personOf(principal);
  if (profile === undefined) return door.offer.prompts.get(name, person);
  const prompt = door.offer.prompts.get(profile.promptNames.real(name) ?? "", person);
  return prompt !== undefined && profile.hasPrompt(prompt) ? prompt : undefined;
}

async function complete(
  door: McpDoor,
  request: McpRequest<CompleteParams>,
): Promise<Completion | undefined> {
  const { ref, argument, context } = request.params;
  const asked = {
    ...argument,
    ...metaMember(request.params),
    ...(context?.arguments === undefined ? {} : { context: context.arguments }),
  };
  if (ref.type === "ref/prompt") return promptFor(door, ref.name ?? "", request)?.complete?.(asked);
  const { client, call } = request;
  const profile = door.profileOf(client, call.state);
  return door.offer.resources.complete(ref.uri ?? "", asked, call.state.principal, profile);
}

/** Subscriptions: `resources/subscribe` in sessions, `subscriptions/listen` without. */
function serveWatching(door: McpDoor): Route<Connection>[] {
  return [
    door.serve(METHODS.subscribe, async (request) => {
      const { subscribe } = await import("./watch.ts");
      return subscribe(door, request);
    }),
    door.serve(METHODS.unsubscribe, ({ params: { uri }, call }) => {
      call.state.watches.get(uri)?.();
      call.state.watches.delete(uri);
      return {};
    }),
    door.serve(METHODS.listen, async (request) => {
      const { listen } = await import("./watch.ts");
      return listen(door, request);
    }),
  ];
}

/** Loaded with the first task: most clients have none. */
const load = () => import("./task/answer-tasks.ts");

/** Tasks, as 2025-11-25 has them and as the extension of 2026-07-28 does. */
function serveTasks(door: McpDoor): Route<Connection>[] {
  return [
    door.serve(METHODS.getTask, async (request) => {
      return request.client.codec.shapeTask(await (await load()).findTask(door, request));
    }),
    door.serve(METHODS.cancelTask, async (request) => {
      return request.client.codec.cancelTask(await (await load()).findTask(door, request));
    }),
    door.serve(METHODS.updateTask, async (request) => {
      (await (await load()).findTask(door, request)).give(request.params.inputResponses);
      return {};
    }),
    door.serve(METHODS.listTasks, async (request) => (await load()).listTasks(door, request)),
    door.serve(METHODS.taskResult, async (request) => (await load()).taskResult(door, request)),
  ];
}

/**
 * Notifies the client of a session when a task that it began there changes its status. Clients without
 * sessions listen for that (`subscriptions/listen`). Returns a function that stops it.
 */
export function tellOfTasks(
  door: McpDoor,
  connection: Connection,
  peer: Peer<Connection>,
): () => void {
  return door.tasks.onChange((task) => {
    if (!connection.tasks.has(task.id)) return;
    peer.notify(EVENTS.taskStatus, connection.client.codec.shapeTask(task));
  });
}
