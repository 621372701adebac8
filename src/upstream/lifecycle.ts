import { setTimeout as sleep } from "node:timers/promises";

import { atMost } from "../base/abort.ts";
import { background } from "../base/background.ts";
import { Backoff } from "../base/limit/backoff.ts";
import { TrunklineError } from "../base/errors.ts";
import { nextTurn } from "../base/event-loop.ts";
import type { Log } from "../base/log.ts";
import { StderrLog } from "../base/process/stderr-log.ts";
import type { Era } from "../protocol/mcp/connect/handshake.ts";
import { LARGEST_LIST } from "../protocol/mcp/connect/lists.ts";
import { McpClient, type McpClientOptions } from "../protocol/mcp/connect/connect.ts";
import { LostRequest } from "../rpc/pending-requests.ts";
import { RpcError } from "../rpc/rpc-error.ts";
import { type ChannelLimits, resolveChannelLimits } from "../wire/channel.ts";
import { type Link, openLink, type OpenLink } from "./link.ts";
import type { UpstreamLimits, UpstreamSettings } from "./settings.ts";

/**
 * `idle` was not needed yet; `waiting` failed and is tried again soon; `resting` failed too often
 * and is started again after a longer pause.
 */
export type UpstreamState = "idle" | "starting" | "up" | "waiting" | "resting" | "stopped";

export interface LifecycleOptions {
  readonly name: string;
  readonly settings: UpstreamSettings;
  readonly limits: UpstreamLimits;
  readonly log: Log;
  readonly client: Pick<McpClientOptions, "events" | "report" | "limits" | "observer">;
  readonly open?: OpenLink | undefined;
  readonly channelLimits?: Partial<ChannelLimits> | undefined;
  readonly up: (client: McpClient) => void;
  readonly down: () => void;
}

const openPlain: OpenLink = (settings, events, limits) => openLink(settings, events, limits);

/** Milliseconds between checks whether the last calls have been answered. */
const LOOK_AGAIN = 50;

/** A server that is up, and the way to it. */
interface ConnectedUpstream {
  readonly client: McpClient;
  readonly link: Link;
}

/** The lifecycle of an upstream: started when it is first needed, and restarted when it dies. */
export class Lifecycle {
  /** Undefined while the server is down. */
  client: McpClient | undefined;
  /** The handshake that it is known to have. */
  era: Era = "auto";
  readonly backoff: Backoff;
  readonly stderrLog: StderrLog;
  readonly #options: LifecycleOptions;
  readonly #log: Log;
  readonly #stopping = new AbortController();
  state: UpstreamState = "idle";
  /** When the state last changed. */
  since = new Date();
  lastError: string | undefined;
  #starts = 0;
  #link: Link | undefined;
  #starting: Promise<McpClient> | undefined;
  #ending: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Connections that end when their calls have been answered. */
  readonly #leaving = new Map<McpClient, Promise<void>>();
  /** Resolves when it is up again after a restart. */
  #again = promise<McpClient>();

  constructor(options: LifecycleOptions) {
    this.#options = options;
    this.#log = options.log;
    this.backoff = new Backoff(options.limits);
    this.stderrLog = new StderrLog(options.log, "upstream");
  }

  /** How often it was started after its first time. */
  get restarts(): number {
    return Math.max(0, this.#starts - 1);
  }

  /** Of the process that was started for it, while it is up. */
  get pid(): number | undefined {
    return this.client === undefined ? undefined : this.#link?.pid;
  }

  /** Resolves when it is up, starting it if need be; rejects at once while it is down. */
  ready(): Promise<McpClient> {
    switch (this.state) {
      case "up":
      case "starting":
      case "idle":
        return this.#start();
      case "waiting":
        return Promise.reject(this.down("is down and will be started again"));
      case "resting":
        return Promise.reject(this.down("failed too often and is started again later"));
      case "stopped":
        return Promise.reject(this.down("is stopped"));
    }
  }

  /** Starts it now, where it was to be started again later. */
  wake(): void {
    if (this.state !== "waiting" && this.state !== "resting") return;
    clearTimeout(this.#timer);
    this.#become("idle");
    this.#start().catch(() => {});
  }

  /** Resolves when it is up again after it died. */
  restarted(): Promise<McpClient> {
    if (this.client?.hasEnded === false) return Promise.resolve(this.client);
    // It was ended on purpose: nothing else would start it.
    if (this.state === "idle") return this.#start();
    const late = (): Error => this.down("did not come back in time");
    return atMost(this.#options.limits.start, this.#again.promise, late);
  }

  /** After it has ended: waits for the reason, such as its exit code. Ending it takes a grace at most. */
  async explained(): Promise<void> {
    // The caller's request may have failed before we have noticed the end.
    await nextTurn();
    await this.#ending;
  }

  /** Ends it. It is not started again. */
  async stop(): Promise<void> {
    this.#become("stopped");
    clearTimeout(this.#timer);
    this.#again.reject(this.down("is stopped"));
    this.#stopping.abort(this.down("is stopped"));
    await this.#starting?.catch(() => {});
    await this.client?.close();
    await this.#link?.end();
    await Promise.all([...this.#leaving].map(([client, left]) => client.close().then(() => left)));
  }

  /** Ends it until it is needed again. Calls that are under way have their answers first. */
  async rest(): Promise<void> {
    await this.#starting?.catch(() => {});
    const { client } = this;
    const link = this.#link;
    if (client === undefined || this.state === "stopped") return;
    this.client = undefined;
    this.#options.down();
    this.#become("idle");
    const left = this.#leave(client, link)
      .catch((error: unknown) => this.#log.warn("upstream.not-ended", { error }))
      .finally(() => this.#leaving.delete(client));
    this.#leaving.set(client, left);
  }

  /** The error for callers while it is down. */
  down(what: string): TrunklineError {
    const why = this.lastError === undefined ? "" : ` ${this.lastError}`;
    const message = `MCP server '${this.#options.name}' ${what}.${why}`;
    return new TrunklineError("unavailable", message);
  }

  #start(): Promise<McpClient> {
    if (this.client !== undefined) return Promise.resolve(this.client);
    this.#starting ??= this.#connect().finally(() => (this.#starting = undefined));
    return this.#starting;
  }

  async #connect(): Promise<McpClient> {
    this.#become("starting");
    this.#starts++;
    try {
      const connected = await this.#handshake();
      this.#isUp(connected);
      return connected.client;
    } catch (error) {
      // The remembered handshake failed: the server has changed since.
      if (error instanceof RpcError) this.era = "auto";
      this.#failed(error instanceof Error ? error.message : String(error));
      throw this.down("could not be started");
    }
  }

  async #handshake(): Promise<ConnectedUpstream> {
    try {
      return await this.#handshakeAs(this.era);
    } catch (error) {
      // Some programs exit on a first message other than `initialize`: start again with that.
      if (this.era !== "auto" || !isLost(error) || this.#stopping.signal.aborted) throw error;
      return this.#handshakeAs("legacy");
    }
  }

  /** Ends the process that was started if the handshake fails. */
  async #handshakeAs(era: Era): Promise<ConnectedUpstream> {
    const { name, settings, open = openPlain, limits, channelLimits = {} } = this.#options;
    // One answer may contain a whole list.
    const maxMessage = Math.max(resolveChannelLimits(channelLimits).maxMessage, LARGEST_LIST);
    const said = (line: string): void => this.stderrLog.add(line);
    const link = await open(settings, { said }, { ...channelLimits, maxMessage }, name);
    try {
      const { originOf, canCall, extension } = link;
      const client = await McpClient.connect(link.channel, {
        ...this.#options.client,
        name,
        era,
        signal: this.#stopping.signal,
        timeout: limits.start,
        probe: limits.probe,
        questionLimits: limits.questions,
        originOf,
        canCall,
        extension,
      });
      return { client, link };
    } catch (error) {
      await link.end();
      if (!isLost(error)) throw error;
      const why = error instanceof LostRequest ? `It ${error.message}` : await this.#whyEnded(link);
      throw new TrunklineError("closed", why, { cause: error });
    }
  }

  /** Why the connection ended, with the last line of stderr. */
  async #whyEnded(link: Link): Promise<string> {
    const why = (await link.ended) ?? "closed the connection";
    const { last } = this.stderrLog;
    return `It ${why}${last === undefined ? "" : `, after saying: ${last}`}`;
  }

  #isUp({ client, link }: ConnectedUpstream): void {
    this.#link = link;
    this.client = client;
    this.era = client.codec.era;
    this.#become("up");
    this.#log.info("upstream.up", { revision: client.revision, server: client.info });
    this.#options.up(client);
    this.#again.resolve(client);
    this.#again = promise();
    background(
      client.ended.then(() => {
        if (this.client !== client) return;
        this.client = undefined;
        this.#options.down();
        if (this.state === "stopped") return;
        // One that was up for long has worked, also if nobody called: a proxy ends silent connections.
        const isLong = Date.now() - this.since.getTime() > this.#options.limits.longestWait;
        if (isLong) this.backoff.succeeded();
        // No new calls from here on, even if ending it takes long.
        this.#become("waiting");
        this.#ending = this.#end(client, link);
      }),
      "Noting that a server is gone",
    );
  }

  async #end(client: McpClient, link: Link): Promise<void> {
    await Promise.all([client.close(), link.end()]);
    this.#failed(await this.#whyEnded(link));
  }

  async #leave(client: McpClient, link: Link | undefined): Promise<void> {
    while (client.callsInFlight > 0 && !client.hasEnded) {
      await sleep(LOOK_AGAIN, undefined, { ref: false });
    }
    await client.close();
    await link?.end();
  }

  #failed(why: string): void {
    this.lastError = why;
    if (this.state === "stopped") return;
    const wait = this.backoff.failed();
    const isOpen = this.backoff.isOpen;
    this.#become(isOpen ? "resting" : "waiting");
    this.#log.warn("upstream.down", { why, failures: this.backoff.failures, retryInMs: wait });
    if (isOpen) {
      this.#again.reject(this.down("failed too often and is started again later"));
      this.#again = promise();
    }
    this.#timer = setTimeout(() => {
      this.#start().catch(() => {});
    }, wait).unref();
  }

  #become(state: UpstreamState): void {
    if (this.state === "stopped" || this.state === state) return;
    this.state = state;
    this.since = new Date();
  }
}

/** Whether the connection was lost, so that no answer will come. */
export function isLost(error: unknown): boolean {
  return error instanceof TrunklineError && error.code === "closed";
}

/** A promise that may reject without anybody waiting for it. */
function promise<T>(): PromiseWithResolvers<T> {
  const made = Promise.withResolvers<T>();
  made.promise.catch(() => {});
  return made;
}
