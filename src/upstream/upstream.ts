import { LostRequest } from "../rpc/pending-requests.ts";
import { RpcError } from "../rpc/rpc-error.ts";
import { ToolFault, type ToolContext, type ToolResult } from "../tool/tool.ts";
import { isLost, Lifecycle, type UpstreamState } from "./lifecycle.ts";
import { atMost } from "../base/abort.ts";
import { defined } from "../base/defined.ts";
import { TrunklineError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { McpClientEvents } from "../protocol/mcp/connect/routes.ts";
import type { McpClient } from "../protocol/mcp/connect/connect.ts";
import type { CallObserver } from "../tool/call-observer.ts";
import type { Notice } from "../tool/notices.ts";
import type { ChannelLimits } from "../wire/channel.ts";
import { ClientInstances, type InstanceMode } from "./client-instances.ts";
import { type Catalogue, CatalogueFile, type CatalogueKind, isKnown } from "./catalogue.ts";
import { CatalogueRefresh } from "./catalogue-refresh.ts";
import type { OpenLink } from "./link.ts";
import { DEFAULT_UPSTREAM_LIMITS, type UpstreamLimits, type UpstreamSettings } from "./settings.ts";
import { Throttle } from "../base/limit/rate-limiter.ts";

export interface UpstreamStatus {
  readonly name: string;
  readonly state: UpstreamState;
  /** When the state last changed. */
  readonly since: string;
  readonly revision?: string;
  /** Of the process that was started for it, while it is up. */
  readonly pid?: number;
  readonly lastError?: string;
  /** Of one that is up: why its tools could not be listed. It offers those of before, if any. */
  readonly listError?: string;
  /** Why it has no tools, in words that complete "it has no tools: …". */
  readonly noTools?: string;
  /** How often it was started after its first time. */
  readonly restarts: number;
  readonly failuresInARow: number;
  readonly callsInFlight: number;
  readonly instance: InstanceMode;
  /** Each client has an instance of its own because the server asks questions, not by the settings. */
  readonly isSwitched?: true;
  /** Instances that run now. */
  readonly instances: number;
  /** What it last said on stderr. */
  readonly said: readonly string[];
}

export interface UpstreamOptions {
  /** Where it is remembered what upstreams offer; nowhere where left out. */
  readonly folder?: string | undefined;
  readonly log: Log;
  /** What it offers has changed. */
  readonly changed: (kind: CatalogueKind) => void;
  readonly updated: (uri: string) => void;
  /** Whether its tool of that name is still offered, and not gone or held. */
  readonly isOffered: (name: string) => boolean;
  /** It has something to say to people that belongs to no call. */
  readonly logged?: (notice: Notice) => void;
  readonly observer?: CallObserver | undefined;
  readonly open?: OpenLink | undefined;
  readonly limits?: Partial<UpstreamLimits> | undefined;
  readonly channelLimits?: Partial<ChannelLimits> | undefined;
  /** Of a further instance of a server: whose it is. */
  readonly owner?: () => ToolContext | undefined;
  /** Who alone uses it. */
  readonly person?: string | undefined;
  /** Called for all that is done for a caller, who may have to log in first. */
  readonly gate?:
    | (<T>(server: string, context: ToolContext, work: () => Promise<T>) => Promise<T>)
    | undefined;
}

/** How often a request is sent that does not reach the server. */
const MOST_ATTEMPTS = 3;
/** Questions that it may have open at once, to all clients. */
const MOST_QUESTIONS = 256;
/** Messages that belong to no call. */
const MESSAGES = { limit: 100, windowMs: 10_000 };
/** Faults of it that reach the log. */
const FAULTS = { limit: 100, windowMs: 10_000 };

let made = 0;

/**
 * One configured MCP server. It is started when it is first needed and started again when it dies;
 * while it is down, whoever wants something of it is told so at once.
 */
export class Upstream {
  /** Differs from that of an upstream with the same name before a change of the configuration. */
  readonly id = `upstream-${++made}`;
  readonly name: string;
  readonly settings: UpstreamSettings;
  /** Who alone uses it, as themselves. */
  readonly person: string | undefined;
  readonly #options: UpstreamOptions;
  readonly #limits: UpstreamLimits;
  readonly #log: Log;
  readonly #file: CatalogueFile | undefined;
  readonly #refresh: CatalogueRefresh;
  readonly #life: Lifecycle;
  readonly #watched = new Set<string>();
  readonly #messages = new Throttle(MESSAGES);
  readonly #instances: ClientInstances;

  constructor(name: string, settings: UpstreamSettings, options: UpstreamOptions) {
    const { folder, open, channelLimits } = options;
    this.name = name;
    this.settings = settings;
    this.person = options.person;
    this.#options = options;
    this.#limits = { ...DEFAULT_UPSTREAM_LIMITS, ...options.limits };
    this.#log = options.log.with({ upstream: name });
    this.#file = folder === undefined ? undefined : new CatalogueFile(folder, name, settings);
    this.#refresh = new CatalogueRefresh({
      gather: this.#limits.gather,
      changed: (kind) => this.#learned(kind),
      failed: (kind, error) => this.#log.warn("upstream.list-failed", { kind, error }),
    });
    this.#instances = new ClientInstances({
      main: this,
      log: this.#log,
      limits: this.#limits,
      make: (owner, folder) => this.#makeFurther(owner, folder),
    });
    const faults = new Throttle(FAULTS);
    this.#life = new Lifecycle({
      name,
      settings,
      limits: this.#limits,
      log: this.#log,
      client: {
        events: this.#events(),
        observer: options.observer,
        limits: { maxInFlight: MOST_QUESTIONS },
        report: (event, fields) => {
          const count = faults.take();
          if (count === undefined) return;
          if (count > 0) this.#log.warn("upstream.faults", { count });
          this.#log.warn(event, fields);
        },
      },
      open,
      channelLimits,
      up: (client) => {
        this.#refresh.connected(client);
        for (const uri of this.#watched) client.watch(uri).catch(() => {});
      },
      down: () => this.#refresh.disconnected(),
    });
  }

  /** What it offers, as far as that is known. */
  get catalogue(): Catalogue | undefined {
    return this.#refresh.catalogue;
  }

  status(): UpstreamStatus {
    const { state, since, client, pid, lastError, restarts, backoff, stderrLog } = this.#life;
    return {
      name: this.name,
      state,
      since: since.toISOString(),
      ...defined({ revision: client?.revision, pid, lastError }),
      ...this.#refresh.state(client),
      restarts,
      failuresInARow: backoff.failures,
      callsInFlight: client?.callsInFlight ?? 0,
      instance: this.#instances.mode,
      ...(this.#instances.isSwitched ? { isSwitched: true } : {}),
      instances: this.#instances.running + (client === undefined ? 0 : 1),
      said: [...stderrLog.tail],
    };
  }

  /** Reads what is known from the last time. */
  async recall(): Promise<void> {
    const remembered = await this.#file?.read();
    if (remembered === undefined || this.catalogue !== undefined) return;
    this.#life.era = remembered.era;
    this.#refresh.catalogue = remembered.catalogue;
  }

  /** Waits until it is known what it offers, for a bounded time; starts it for that if need be. */
  async known(): Promise<void> {
    const { state, since } = this.#life;
    if (isKnown(this.catalogue) || state === "stopped") return;
    // Counted from its start: one that takes long does not delay each list anew.
    const spent = state === "starting" ? Date.now() - since.getTime() : 0;
    const wait = Math.max(0, this.#limits.firstList - spent);
    const listed = this.#life.ready().then(() => this.#refresh.settled());
    await atMost(
      wait,
      listed.catch(() => {}),
    );
  }

  /** Whether its first list of tools is still to come: it has not failed either. */
  get isComing(): boolean {
    const { state } = this.#life;
    if (this.catalogue !== undefined) return false;
    return state === "up"
      ? this.#refresh.listing !== undefined
      : state === "idle" || state === "starting";
  }

  /** Starts it if need be, and resolves when it has listed its tools or has failed to. */
  async arrival(): Promise<void> {
    const listed = this.#life.ready().then(() => this.#refresh.listing);
    // `missing` says why.
    await listed.catch(() => {});
  }

  /** Why its tools are not known, in a sentence without its full stop; undefined when they are. */
  get missing(): string | undefined {
    return this.#missing()?.replace(/\.$/, "");
  }

  #missing(): string | undefined {
    if (this.catalogue !== undefined) return undefined;
    const { state, since, stderrLog } = this.#life;
    switch (state) {
      case "up": {
        const { problem } = this.#refresh;
        const why = problem === undefined ? "has not said yet" : "could not say";
        const because = problem === undefined ? "" : `: ${problem}`;
        return `MCP server '${this.name}' ${why} which tools it has${because}`;
      }
      case "starting": {
        const seconds = Math.round((Date.now() - since.getTime()) / 1000);
        const said = stderrLog.last === undefined ? "" : `; its last line: ${stderrLog.last}`;
        return `MCP server '${this.name}' is still starting, after ${seconds} s${said}`;
      }
      case "idle":
        return `MCP server '${this.name}' was not started yet`;
      case "waiting":
      case "resting":
        return this.#life.down("could not be started").message;
      case "stopped":
        return undefined;
    }
  }

  /**
   * Sends a request, and retries where that is safe. An error that the server answers with becomes a
   * `ToolFault`. A request that never reached the server is sent again. One whose answer was lost is
   * repeated once, only if it is harmless, since it may have been carried out. The catalogue may be from
   * an earlier run: a tool that has changed since is not called before it is listed again.
   */
  async use<T>(
    work: (client: McpClient) => Promise<T>,
    isHarmless: boolean,
    tool?: string,
  ): Promise<T> {
    const life = this.#life;
    for (let attempt = 1; ; attempt++) {
      try {
        const client =
          attempt === 1 ? (life.client ?? (await life.ready())) : await life.restarted();
        if (tool !== undefined && this.#refresh.listing !== undefined) await this.#listed(tool);
        const result = await work(client);
        life.backoff.succeeded();
        return result;
      } catch (error) {
        await this.#repeatable(error, attempt, isHarmless);
      }
    }
  }

  /** Throws what a failed attempt ends with, unless another one may be made. */
  async #repeatable(error: unknown, attempt: number, isHarmless: boolean): Promise<void> {
    if (error instanceof RpcError) {
      // The server works: it has answered.
      this.#life.backoff.succeeded();
      throw new ToolFault(error.code, error.message, error.data);
    }
    if (!isLost(error)) throw error;
    const isUnsent = error instanceof LostRequest && error.isUnsent;
    const mayRepeat = isUnsent ? attempt < MOST_ATTEMPTS : isHarmless && attempt === 1;
    if (!mayRepeat) throw await this.#lost(error, attempt);
  }

  async #lost(error: unknown, attempts: number): Promise<TrunklineError> {
    const times = attempts > 1 ? `, ${attempts} times` : "";
    if (!(error instanceof LostRequest)) {
      await this.#life.explained();
      return this.#life.down(`ended before it had answered${times}`);
    }
    const known = error.isUnsent
      ? "It was not called."
      : "It is not known whether the call was carried out.";
    const message = `MCP server '${this.name}' ${error.message}${times}. ${known}`;
    return new TrunklineError("unavailable", message);
  }

  /** Uses the instance for a caller, for what may be repeated. */
  useFor<T>(context: ToolContext, work: (client: McpClient) => Promise<T>): Promise<T> {
    return this.gated(context, () => this.#instances.for(context).use(work, true));
  }

  /** Tries to start it now if it is down. */
  wake(): void {
    this.#life.wake();
  }

  /** Does something for a caller, who may have to log in first. */
  gated<T>(context: ToolContext, work: () => Promise<T>): Promise<T> {
    return this.#options.gate?.(this.name, context, work) ?? work();
  }

  /**
   * Calls a tool on the instance for a caller. The main instance may become that of several clients while
   * the call runs. Where a question of it was refused meanwhile, a call that failed is repeated on an
   * instance of its own if that does no harm; otherwise the answer says why.
   */
  callToolFor(
    context: ToolContext,
    name: string,
    call: (client: McpClient) => Promise<ToolResult>,
    isHarmless: boolean,
  ): Promise<ToolResult> {
    const instances = this.#instances;
    const before = instances.refusals;
    const instance = instances.for(context);
    const wasRefused = (): boolean => instance === this && before !== instances.refusals;
    const again = (said: ToolResult["content"]): ToolResult | Promise<ToolResult> =>
      isHarmless ? instances.for(context).use(call, isHarmless, name) : instances.unasked(said);
    return instance.use(call, isHarmless, name).then(
      (result) => (result.isError === true && wasRefused() ? again(result.content) : result),
      (error: unknown) => {
        if (wasRefused()) return again([]);
        throw error;
      },
    );
  }

  /** A client is gone. */
  gone(client: string): void {
    this.#instances.gone(client);
  }

  /** Ends it until it is needed again. */
  async rest(): Promise<void> {
    await this.#life.rest();
    if (this.#watched.size > 0) this.#life.ready().catch(() => {});
  }

  async #listed(name: string): Promise<void> {
    await this.#refresh.listing;
    if (this.#options.isOffered(name)) return;
    const why = `MCP server '${this.name}' describes it otherwise now, or has it no more`;
    throw new TrunklineError("not-found", `'${name}' is not offered any more: ${why}.`);
  }

  watch(uri: string): void {
    this.#watched.add(uri);
    this.#life
      .ready()
      .then((client) => client.watch(uri))
      .catch((error: unknown) => this.#log.warn("upstream.watch-failed", { uri, error }));
  }

  unwatch(uri: string): void {
    if (!this.#watched.delete(uri)) return;
    this.#life.client?.unwatch(uri).catch(() => {});
  }

  /** Ends it. It is not started again. */
  async stop(): Promise<void> {
    this.#refresh.stop();
    await Promise.all([this.#life.stop(), this.#instances.stop()]);
    await this.#file?.written();
  }

  #events(): McpClientEvents {
    return {
      toolsChanged: () => this.#refresh.due("tools"),
      promptsChanged: () => this.#refresh.due("prompts"),
      resourcesChanged: () => this.#refresh.due("resources"),
      // An upstream may only report updates of resources that are watched at it.
      resourceUpdated: (uri) => {
        if (this.#watched.has(uri)) this.#options.updated(uri);
      },
      logged: (level, data, logger = this.name, more = {}) => {
        const leftOut = this.#messages.take();
        if (leftOut === undefined) return;
        if (leftOut > 0) {
          const more = "It said more than is passed on; some messages were left out";
          this.#options.logged?.({ level: "warn", logger, server: this.name, data: more });
        }
        this.#log.debug("upstream.logged", { level, logger, data });
        this.#options.logged?.({ level, logger, server: this.name, data, more });
      },
      asked: (context) => this.#instances.asked(context),
      ambiguous: () => this.#instances.refused(),
      owner: () => this.#options.owner?.() ?? this.#instances.owner,
    };
  }

  /** A further instance of the same server. When its lists differ, they are news for all. */
  #makeFurther(owner: () => ToolContext | undefined, folder: string | undefined): Upstream {
    const settings = folder === undefined ? this.settings : { ...this.settings, folder };
    const further = new Upstream(this.name, settings, {
      ...this.#options,
      owner,
      changed: (kind) => {
        this.#refresh.catalogue = further.catalogue;
        this.#learned(kind);
      },
    });
    further.#life.era = this.#life.era;
    further.#refresh.catalogue = this.catalogue;
    return further;
  }

  #learned(kind: CatalogueKind): void {
    const { catalogue } = this;
    if (catalogue === undefined) return;
    this.#options.changed(kind);
    if (this.#options.owner !== undefined) return;
    this.#file?.write({ era: this.#life.era, catalogue }).catch((error: unknown) => {
      this.#log.warn("upstream.not-remembered", { error });
    });
  }
}
