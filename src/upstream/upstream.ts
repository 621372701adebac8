import { setTimeout as sleep } from "node:timers/promises";

import { Backoff } from "../base/backoff.ts";
import { TrunklineError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Era } from "../protocol/mcp/client-handshake.ts";
import type { McpClient } from "../protocol/mcp/connect.ts";
import { RpcError } from "../rpc/rpc-error.ts";
import { ToolFault } from "../tool/tool.ts";
import type { ChannelLimits } from "../wire/channel.ts";
import { type Catalogue, CatalogueFile } from "./catalogue.ts";
import { type CatalogueKind, CatalogueRefresh } from "./catalogue-refresh.ts";
import { type Link, openLink, type OpenLink } from "./link.ts";
import { isLost, meet, type Met, whyEnded } from "./meet.ts";
import { Sayings } from "../base/sayings.ts";
import { DEFAULT_UPSTREAM_LIMITS, type UpstreamLimits, type UpstreamSettings } from "./settings.ts";

/**
 * `idle` was not needed yet; `waiting` failed and is tried again soon; `resting` failed too often
 * and is left alone for a while.
 */
export type UpstreamState = "idle" | "starting" | "up" | "waiting" | "resting" | "stopped";

export interface UpstreamStatus {
  readonly name: string;
  readonly state: UpstreamState;
  /** When it came to be so. */
  readonly since: string;
  readonly revision?: string;
  /** Of the process that was started for it, while it is up. */
  readonly pid?: number;
  readonly lastError?: string;
  /** How often it was started after its first time. */
  readonly restarts: number;
  readonly failuresInARow: number;
  readonly callsInFlight: number;
  /** What it last said on stderr. */
  readonly said: readonly string[];
}

export interface UpstreamOptions {
  /** Where it is remembered what upstreams offer. */
  readonly folder: string;
  readonly log: Log;
  /** What it offers has changed. */
  readonly changed: (kind: CatalogueKind) => void;
  readonly updated: (uri: string) => void;
  readonly open?: OpenLink;
  readonly limits?: Partial<UpstreamLimits>;
  readonly channelLimits?: Partial<ChannelLimits>;
}

let made = 0;

/**
 * One configured MCP server. It is started when it is first needed and started again when it dies;
 * while it is down, whoever wants something of it is told so at once.
 */
export class Upstream {
  /** Tells it from another of the same name, before or after a change of the configuration. */
  readonly id = `upstream-${++made}`;
  readonly name: string;
  readonly settings: UpstreamSettings;
  readonly #options: UpstreamOptions;
  readonly #limits: UpstreamLimits;
  readonly #log: Log;
  readonly #file: CatalogueFile;
  readonly #backoff: Backoff;
  readonly #sayings: Sayings;
  readonly #refresh: CatalogueRefresh;
  readonly #watched = new Set<string>();
  readonly #stopping = new AbortController();
  #state: UpstreamState = "idle";
  #since = new Date();
  #lastError: string | undefined;
  #starts = 0;
  #era: Era = "auto";
  #client: McpClient | undefined;
  #link: Link | undefined;
  #starting: Promise<McpClient> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Whoever waits for it to be up again. */
  #again = Promise.withResolvers<McpClient>();

  constructor(name: string, settings: UpstreamSettings, options: UpstreamOptions) {
    this.name = name;
    this.settings = settings;
    this.#options = options;
    this.#limits = { ...DEFAULT_UPSTREAM_LIMITS, ...options.limits };
    this.#log = options.log.with({ upstream: name });
    this.#file = new CatalogueFile(options.folder, name, settings);
    this.#backoff = new Backoff(this.#limits);
    this.#sayings = new Sayings(this.#log, "upstream");
    this.#again.promise.catch(() => {});
    this.#refresh = new CatalogueRefresh({
      gather: this.#limits.gather,
      changed: (kind) => this.#learned(kind),
      failed: (kind, error) => this.#log.warn("upstream.list-failed", { kind, error }),
    });
  }

  /** What it offers, as far as that is known. */
  get catalogue(): Catalogue | undefined {
    return this.#refresh.catalogue;
  }

  status(): UpstreamStatus {
    return {
      name: this.name,
      state: this.#state,
      since: this.#since.toISOString(),
      ...(this.#client === undefined ? {} : { revision: this.#client.revision }),
      ...(this.#client === undefined || this.#link?.pid === undefined
        ? {}
        : { pid: this.#link.pid }),
      ...(this.#lastError === undefined ? {} : { lastError: this.#lastError }),
      restarts: Math.max(0, this.#starts - 1),
      failuresInARow: this.#backoff.failures,
      callsInFlight: this.#client?.callsInFlight ?? 0,
      said: [...this.#sayings.tail],
    };
  }

  /** Reads what is known from the last time. */
  async recall(): Promise<void> {
    const remembered = await this.#file.read();
    if (remembered === undefined || this.catalogue !== undefined) return;
    this.#era = remembered.era;
    this.#refresh.catalogue = remembered.catalogue;
  }

  /** Waits until it is known what it offers, for a bounded time; starts it for that if need be. */
  async known(): Promise<void> {
    if (this.catalogue !== undefined || this.#state === "stopped") return;
    const patience = new AbortController();
    // Counted from its start: one that takes long does not delay each list anew.
    const spent = this.#state === "starting" ? Date.now() - this.#since.getTime() : 0;
    const wait = Math.max(0, this.#limits.firstList - spent);
    const late = sleep(wait, undefined, { signal: patience.signal });
    const listed = this.#ready().then(() => this.#refresh.settled());
    await Promise.race([listed.catch(() => {}), late.catch(() => {})]);
    patience.abort();
  }

  /**
   * Has something done. What it answers with as an error is a `ToolFault`. When it dies over the
   * work, that is done once more only if it is harmless (`again`), since nobody knows how far it got.
   */
  use<T>(work: (client: McpClient) => Promise<T>, again = false): Promise<T> {
    const lost = (error: unknown): Promise<T> => {
      if (!isLost(error)) throw this.#answered(error);
      if (!again) throw this.#down("ended before it had answered");
      return this.#restarted().then((client) =>
        this.#do(client, work, (second) => {
          throw isLost(second)
            ? this.#down("ended before it had answered, twice")
            : this.#answered(second);
        }),
      );
    };
    // The usual case waits for nothing but the answer.
    return this.#client === undefined
      ? this.#ready().then((client) => this.#do(client, work, lost))
      : this.#do(this.#client, work, lost);
  }

  #do<T>(
    client: McpClient,
    work: (client: McpClient) => Promise<T>,
    failed: (error: unknown) => Promise<T>,
  ): Promise<T> {
    return work(client).then((result) => {
      this.#backoff.succeeded();
      return result;
    }, failed);
  }

  watch(uri: string): void {
    this.#watched.add(uri);
    this.#ready()
      .then((client) => client.watch(uri))
      .catch((error: unknown) => this.#log.warn("upstream.watch-failed", { uri, error }));
  }

  unwatch(uri: string): void {
    if (!this.#watched.delete(uri)) return;
    this.#client?.unwatch(uri).catch(() => {});
  }

  /** Ends it. It is not started again. */
  async stop(): Promise<void> {
    this.#become("stopped");
    clearTimeout(this.#timer);
    this.#refresh.stop();
    this.#again.reject(this.#down("is stopped"));
    this.#stopping.abort(this.#down("is stopped"));
    await this.#starting?.catch(() => {});
    await this.#client?.close();
    await this.#link?.end();
    await this.#file.written();
  }

  #ready(): Promise<McpClient> {
    switch (this.#state) {
      case "up":
      case "starting":
      case "idle":
        return this.#start();
      case "waiting":
        return Promise.reject(this.#down("is down and will be started again"));
      case "resting":
        return Promise.reject(this.#down("failed too often and is left alone for a while"));
      case "stopped":
        return Promise.reject(this.#down("is stopped"));
    }
  }

  #start(): Promise<McpClient> {
    if (this.#client !== undefined) return Promise.resolve(this.#client);
    this.#starting ??= this.#connect().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async #connect(): Promise<McpClient> {
    this.#become("starting");
    this.#starts++;
    try {
      const met = await this.#meet();
      this.#isUp(met);
      return met.client;
    } catch (error) {
      // Learned from a server that has changed since.
      if (error instanceof RpcError) this.#era = "auto";
      this.#failed(error instanceof Error ? error.message : String(error));
      throw this.#down("could not be started");
    }
  }

  #meet(): Promise<Met> {
    return meet({
      settings: this.settings,
      open: this.#options.open ?? openLink,
      era: this.#era,
      sayings: this.#sayings,
      channelLimits: this.#options.channelLimits ?? {},
      signal: this.#stopping.signal,
      client: {
        timeout: this.#limits.start,
        report: (event, fields) => this.#log.warn(event, fields),
        events: {
          toolsChanged: () => this.#refresh.due("tools"),
          promptsChanged: () => this.#refresh.due("prompts"),
          resourcesChanged: () => this.#refresh.due("resources"),
          resourceUpdated: (uri) => this.#options.updated(uri),
          logged: (level, data, logger) => {
            this.#log.debug("upstream.logged", { level, logger, data });
          },
        },
      },
    });
  }

  #isUp({ client, link }: Met): void {
    this.#link = link;
    this.#client = client;
    this.#era = client.isModern ? "modern" : "legacy";
    this.#become("up");
    this.#log.info("upstream.up", { revision: client.revision, server: client.info });
    this.#refresh.connected(client);
    for (const uri of this.#watched) client.watch(uri).catch(() => {});
    this.#again.resolve(client);
    this.#again = Promise.withResolvers<McpClient>();
    this.#again.promise.catch(() => {});
    void client.ended.then(async () => {
      if (this.#client !== client) return;
      this.#client = undefined;
      this.#refresh.disconnected();
      if (this.#state === "stopped") return;
      // Nobody may use it from here on, however long its end takes.
      this.#become("waiting");
      await Promise.all([client.close(), link.end()]);
      this.#failed(await whyEnded(link, this.#sayings));
    });
  }

  #failed(why: string): void {
    this.#lastError = why;
    if (this.#state === "stopped") return;
    const wait = this.#backoff.failed();
    const isOpen = this.#backoff.isOpen;
    this.#become(isOpen ? "resting" : "waiting");
    this.#log.warn("upstream.down", { why, failures: this.#backoff.failures, retryInMs: wait });
    if (isOpen) {
      this.#again.reject(this.#down("failed too often and is left alone for a while"));
      this.#again = Promise.withResolvers<McpClient>();
      this.#again.promise.catch(() => {});
    }
    this.#timer = setTimeout(() => {
      this.#start().catch(() => {});
    }, wait).unref();
  }

  #restarted(): Promise<McpClient> {
    if (this.#client !== undefined) return Promise.resolve(this.#client);
    const late = sleep(this.#limits.start, undefined, { ref: false }).then(() => {
      throw this.#down("did not come back in time");
    });
    return Promise.race([this.#again.promise, late]);
  }

  /** An error that it answered with shows that it works, and is the caller's to see, code and all. */
  #answered(error: unknown): unknown {
    if (!(error instanceof RpcError)) return error;
    this.#backoff.succeeded();
    return new ToolFault(error.code, error.message, error.data);
  }

  #learned(kind: CatalogueKind): void {
    const { catalogue } = this;
    if (catalogue === undefined) return;
    this.#file.write({ era: this.#era, catalogue }).catch((error: unknown) => {
      this.#log.warn("upstream.not-remembered", { error });
    });
    this.#options.changed(kind);
  }

  #down(what: string): TrunklineError {
    const why = this.#lastError === undefined ? "" : ` ${this.#lastError}`;
    const message = `MCP server '${this.name}' ${what}.${why}`;
    return new TrunklineError("unavailable", message);
  }

  #become(state: UpstreamState): void {
    if (this.#state === "stopped" || this.#state === state) return;
    this.#state = state;
    this.#since = new Date();
  }
}
