import { TrunklineError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { errorResult, type ToolContext, type ToolResult } from "../tool/tool.ts";
import { isOfProject, type UpstreamLimits } from "./settings.ts";
import type { Upstream } from "./upstream.ts";

/** Whether all clients use one instance of a server, or each has its own. */
export type InstanceMode = "shared" | "client";

export interface ClientInstancesOptions {
  readonly main: Upstream;
  readonly log: Log;
  readonly limits: Pick<UpstreamLimits, "instances" | "instanceIdle">;
  /** A further instance. Questions of it that belong to no call are for its owner. */
  readonly make: (owner: () => ToolContext | undefined, folder: string | undefined) => Upstream;
}

interface Instance {
  readonly upstream: Upstream;
  readonly timer: NodeJS.Timeout;
  /** The client's last call. */
  context: ToolContext;
}

/** Clients without a connection never report that they are gone, so at most this many are remembered. */
const MOST_CLIENTS = 100;

/**
 * The instances of one server. A server on stdio does not say which call a question belongs to, and may
 * do nothing else until it has the answer. So a shared server that asks something while several clients
 * use it is switched to an instance for each client, for as long as this process runs.
 *
 * The first client with an instance of its own has the main one, which also serves lists and
 * subscriptions. An instance ends with its client.
 */
export class ClientInstances {
  readonly #options: ClientInstancesOptions;
  readonly #instances = new Map<string, Instance>();
  /** The last call of each client that uses the shared instance. */
  readonly #clients = new Map<string, ToolContext>();
  /** Clients that have an open question of the main instance. */
  readonly #asked = new Map<string, number>();
  mode: InstanceMode;
  /** Each works in the project of its caller, and none for callers whose project is not known. */
  readonly #isOfProject: boolean;
  /** Whose the main instance is, when each client has its own. */
  #owner: { readonly client: string; context: ToolContext } | undefined;
  #hasAsked = false;
  /** How many questions of the main instance were refused because they could be for several clients. */
  refusals = 0;

  constructor(options: ClientInstancesOptions) {
    this.#options = options;
    const { settings } = options.main;
    this.mode = settings.instance ?? "shared";
    this.#isOfProject = isOfProject(settings);
  }

  /** Whether the server was switched because it asked something. */
  get isSwitched(): boolean {
    return this.mode !== (this.#options.main.settings.instance ?? "shared");
  }

  /** The instances besides the main one that run now. */
  get running(): number {
    const all = [...this.#instances.values()];
    return all.filter(({ upstream }) => upstream.status().state === "up").length;
  }

  /** The instance for a caller. */
  for(context: ToolContext): Upstream {
    const { client } = context.caller;
    if (this.#isOfProject) {
      const folder = this.#folderOf(context);
      return this.#ownInstance(`${client}\n${folder}`, context, folder);
    }
    if (this.mode === "shared") {
      this.#clients.set(client, context);
      if (this.#clients.size > MOST_CLIENTS) {
        const [oldest = ""] = this.#clients.keys();
        this.#clients.delete(oldest);
      }
      if (!this.#hasAsked || this.#clients.size === 1) return this.#options.main;
      const others = [...this.#asked.keys(), ...this.#clients.keys()];
      this.#switch(others.find((other) => other !== client));
    }
    return this.#instanceOf(client, context);
  }

  /**
   * Records that the main instance asks this caller a question. Returns a function to call when it is
   * answered.
   */
  asked({ caller: { client } }: ToolContext): () => void {
    this.#hasAsked = true;
    if (this.mode === "shared" && this.#clients.size > 1) this.#switch(client);
    this.#asked.set(client, (this.#asked.get(client) ?? 0) + 1);
    return () => {
      const left = (this.#asked.get(client) ?? 1) - 1;
      if (left === 0) this.#asked.delete(client);
      else this.#asked.set(client, left);
    };
  }

  /** Records that a question of the main instance was refused because it could be for several clients. */
  refused(): void {
    this.refusals++;
    this.#hasAsked = true;
    if (this.mode === "shared") this.#switch(undefined);
  }

  /** The last call of the client that has the main instance. */
  get owner(): ToolContext | undefined {
    return this.#owner?.context;
  }

  /** The answer to a call that failed because a question of the main instance was refused. */
  unasked(said: ToolResult["content"]): ToolResult {
    const { name } = this.#options.main;
    const words =
      `MCP server '${name}' asked a question while several clients were using it, and did not say ` +
      "which of them it meant, so nobody was asked. From now on each client has an instance of its " +
      "own: call the tool again.";
    return { content: [...errorResult(words).content, ...said], isError: true };
  }

  /** A client is gone: so is its instance. */
  gone(client: string): void {
    this.#clients.delete(client);
    this.#asked.delete(client);
    if (this.#owner?.client === client) {
      this.#owner = undefined;
      this.#end(this.#options.main.rest());
    }
    for (const key of [...this.#instances.keys()]) {
      if (key === client || key.startsWith(`${client}\n`)) this.#remove(key);
    }
  }

  async stop(): Promise<void> {
    const all = [...this.#instances.values()];
    this.#instances.clear();
    for (const { timer } of all) clearTimeout(timer);
    await Promise.all(all.map(({ upstream }) => upstream.stop()));
  }

  /** From now on each client has an instance. The main one goes to a client that has used it. */
  #switch(client = ""): void {
    this.mode = "client";
    this.#options.log.info("upstream.instance-per-client", {
      why: "It asks questions while several clients use it",
      clients: this.#clients.size,
    });
    const context = this.#clients.get(client);
    if (context !== undefined) this.#owner = { client, context };
    this.#clients.clear();
  }

  #instanceOf(client: string, context: ToolContext): Upstream {
    const { main } = this.#options;
    const isFree = main.status().callsInFlight === 0;
    this.#owner ??= isFree ? { client, context } : undefined;
    if (this.#owner?.client === client) {
      this.#owner.context = context;
      return main;
    }
    return this.#ownInstance(client, context);
  }

  /** The caller's project. Its principal may be one that may not work there. */
  #folderOf({ project, folder }: ToolContext): string {
    const known = project === undefined ? folder : project.folder;
    if (known !== undefined && project?.refusal === undefined) return known;
    const why =
      project?.refusal ?? project?.problem ?? "The client does not say which folder it works in";
    throw new TrunklineError(
      "usage",
      `MCP server '${this.#options.main.name}' works in the caller's project ` +
        `('\${workspaceFolder}' in its settings). ${why}`,
    );
  }

  #ownInstance(client: string, context: ToolContext, folder?: string): Upstream {
    const instance = this.#instances.get(client) ?? this.#make(client, context, folder);
    instance.context = context;
    instance.timer.refresh();
    // The most recently used instance is last.
    this.#instances.delete(client);
    this.#instances.set(client, instance);
    return instance.upstream;
  }

  #make(client: string, context: ToolContext, folder?: string): Instance {
    this.#makeRoom();
    const upstream = this.#options.make(() => instance.context, folder);
    const timer = setTimeout(() => this.#rest(client), this.#options.limits.instanceIdle).unref();
    const instance: Instance = { upstream, timer, context };
    return instance;
  }

  /** Ends the instance that was not used for the longest time, if there are too many. */
  #makeRoom(): void {
    const { limits, main } = this.#options;
    if (this.#instances.size < limits.instances) return;
    for (const [client, { upstream }] of this.#instances) {
      if (upstream.status().callsInFlight > 0) continue;
      this.#remove(client);
      return;
    }
    const why = `${limits.instances} clients are using it, each with an instance of its own`;
    throw new TrunklineError(
      "limit",
      `MCP server '${main.name}' is busy: ${why}. Try again later.`,
    );
  }

  #rest(client: string): void {
    const instance = this.#instances.get(client);
    if (instance === undefined) return;
    if (instance.upstream.status().callsInFlight > 0) instance.timer.refresh();
    else this.#remove(client);
  }

  #remove(client: string): void {
    const instance = this.#instances.get(client);
    if (instance === undefined) return;
    clearTimeout(instance.timer);
    this.#instances.delete(client);
    this.#end(instance.upstream.stop());
  }

  #end(ending: Promise<void>): void {
    ending.catch((error: unknown) => this.#options.log.warn("upstream.not-ended", { error }));
  }
}
