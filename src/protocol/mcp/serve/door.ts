import { background } from "../../../base/background.ts";
import { VERSION } from "../../../base/version.ts";
import type { Call } from "../../../rpc/call.ts";
import type { Peer } from "../../../rpc/peer.ts";
import type { PeerOptions } from "../../../rpc/peer-options.ts";
import { routes } from "../../../rpc/route.ts";
import type { Offer } from "../../../tool/offer/offer.ts";
import type { Profile } from "../../../tool/profile/profile.ts";
import type { Client } from "./client.ts";
import type { JsonObject } from "../json-object.ts";
import type { Connection } from "./connection.ts";
import { mcpDialect } from "../dialect.ts";
import type { Asking, InputRequired } from "./input-required.ts";
import { metaOf } from "../meta.ts";
import { EVENTS } from "../methods.ts";
import { relayNotices } from "./relay-notices.ts";
import { type McpRequest, McpRoutes } from "./request.ts";
import type { Implementation, Revision } from "../revision/codec.ts";
import { serveLists } from "./serve-lists.ts";
import { serveSession } from "./serve-session.ts";
import { serveTasks, tellOfTasks } from "./task/serve-tasks.ts";
import { serveTools } from "./serve-tools.ts";
import { serveWatching } from "./serve-watching.ts";
import { Tasks, type TasksOptions } from "./task/tasks.ts";
import { McpToolContext, callerContextOf } from "./tool-context.ts";

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
    const profile = this.profileOf(client, call.state);
    const callerContext = callerContextOf(client, call.state, {
      profile,
      rootsTimeout: this.#rootsTimeout,
    });
    return new McpToolContext(callerContext, request, metaOf(params));
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
