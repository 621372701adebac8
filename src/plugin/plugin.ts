import { Backoff } from "../base/backoff.ts";
import type { OwnedChild } from "../base/child-process.ts";
import { TrunklineError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { Sayings } from "../base/sayings.ts";
import { BusClient } from "../protocol/bus/connect.ts";
import type { Connection } from "../wire/quic/connection.ts";
import { HealthCheck } from "./health-check.ts";
import { introduce, type PluginOffer } from "./introduce.ts";
import { LONGEST_WORDS, startPlugin } from "./plugin-process.ts";
import { DEFAULT_PLUGIN_LIMITS, type PluginLimits, type PluginSettings } from "./settings.ts";

/**
 * `idle` was not started yet; `waiting` failed and is started again soon; `resting` failed too often
 * and is left alone for a while.
 */
export type PluginState = "idle" | "starting" | "up" | "waiting" | "resting" | "stopped";

export interface PluginStatus {
  readonly id: string;
  readonly state: PluginState;
  /** When it came to be so. */
  readonly since: string;
  readonly address?: string;
  readonly pid?: number;
  readonly tools: number;
  readonly prompts: number;
  /** How it last said it was. */
  readonly health?: string;
  readonly lastError?: string;
  /** How often it was started after its first time. */
  readonly restarts: number;
}

export interface PluginOptions {
  readonly log: Log;
  readonly certsDir: string;
  /** Where the bus listens; asked for at each start. */
  readonly orchestratorAddress: () => string;
  readonly dial: (address: string, name: string, signal: AbortSignal) => Promise<Connection>;
  /** What must be up before it. */
  readonly needs: () => readonly Plugin[];
  /** What it offers has changed. */
  readonly changed: () => void;
  readonly limits?: Partial<PluginLimits>;
}

/** What there is while a plugin is up. */
interface Running {
  readonly child: OwnedChild;
  readonly client: BusClient;
  readonly address: string;
  readonly health: HealthCheck;
}

/**
 * One plugin: a process that is started when it is wanted, started again when it dies or no longer
 * answers, and ended with us. While it is down, whoever wants something of it is told so at once.
 */
export class Plugin {
  readonly settings: PluginSettings;
  readonly #options: PluginOptions;
  readonly #limits: PluginLimits;
  readonly #log: Log;
  readonly #sayings: Sayings;
  readonly #backoff: Backoff;
  readonly #stopping = new AbortController();
  #state: PluginState = "idle";
  #since = new Date();
  #starts = 0;
  #starting: Promise<void> | undefined;
  #running: Running | undefined;
  #timer: NodeJS.Timeout | undefined;
  #lastError: string | undefined;
  #offer: PluginOffer = { tools: [], prompts: [] };

  constructor(settings: PluginSettings, options: PluginOptions) {
    this.settings = settings;
    this.#options = options;
    this.#limits = { ...DEFAULT_PLUGIN_LIMITS, ...options.limits };
    this.#log = options.log.with({ plugin: settings.id });
    this.#sayings = new Sayings(this.#log, "plugin");
    this.#backoff = new Backoff(this.#limits);
  }

  get id(): string {
    return this.settings.id;
  }

  get state(): PluginState {
    return this.#state;
  }

  /** What it offered when it was last up. */
  get offer(): PluginOffer {
    return this.#offer;
  }

  /** What it last said on stderr. */
  get said(): readonly string[] {
    return this.#sayings.tail;
  }

  /** How to ask it something. Throws why that is not possible now. */
  get client(): BusClient {
    if (this.#running !== undefined) return this.#running.client;
    // Between its end and its next start it is still called up.
    throw this.#down(this.#state === "up" ? "has just ended" : STATES[this.#state]);
  }

  status(): PluginStatus {
    const running = this.#running;
    return {
      id: this.id,
      state: this.#state,
      since: this.#since.toISOString(),
      ...(running === undefined ? {} : { address: running.address, pid: running.child.pid }),
      tools: this.#offer.tools.length,
      prompts: this.#offer.prompts.length,
      ...(running?.health.last === undefined ? {} : { health: running.health.last }),
      ...(this.#lastError === undefined ? {} : { lastError: this.#lastError }),
      restarts: Math.max(0, this.#starts - 1),
    };
  }

  /** Resolves when it is up, or rejects with why it is not. Starts it if nobody has yet. */
  start(): Promise<void> {
    if (this.#running !== undefined) return Promise.resolve();
    if (this.#state === "stopped") return Promise.reject(this.#down(STATES.stopped));
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  /** Ends the process and starts a new one, whatever it failed of before. */
  async restart(): Promise<void> {
    clearTimeout(this.#timer);
    this.#backoff.succeeded();
    await this.#starting?.catch(() => {});
    await this.#end();
    await this.start();
  }

  /** Ends it for good. */
  async stop(): Promise<void> {
    this.#become("stopped");
    clearTimeout(this.#timer);
    this.#stopping.abort(this.#down(STATES.stopped));
    await this.#starting?.catch(() => {});
    await this.#end();
  }

  async #start(): Promise<void> {
    this.#become("starting");
    clearTimeout(this.#timer);
    try {
      await Promise.all(this.#options.needs().map((needed) => needed.start()));
      this.#starts++;
      await this.#connect();
    } catch (error) {
      this.#failed(error instanceof Error ? error.message : String(error));
      throw this.#down("could not be started");
    }
  }

  async #connect(): Promise<void> {
    const { signal } = this.#stopping;
    const { child, address } = await startPlugin({
      settings: this.settings,
      orchestratorAddress: this.#options.orchestratorAddress(),
      certsDir: this.#options.certsDir,
      timeout: this.#limits.ready,
      signal,
      said: (line) => this.#sayings.add(line),
    });
    const client = new BusClient({
      name: `Plugin '${this.id}'`,
      dial: (given) => this.#options.dial(address, `orchestrator-to-${this.id}`, given),
      patience: this.#limits.call,
      lost: ({ message }) => {
        // Of one that is asked to end, it is no news.
        if (this.#running?.client !== client) return;
        this.#log.warn("plugin.connection-lost", { reason: message });
      },
    });
    try {
      this.#offer = await introduce(client, this.settings, this.#limits.handshake);
      signal.throwIfAborted();
    } catch (error) {
      await Promise.all([client[Symbol.asyncDispose](), child.end()]);
      throw error;
    }
    this.#isUp({ child, client, address });
  }

  #isUp({ child, client, address }: Omit<Running, "health">): void {
    const health = new HealthCheck(client, this.#limits, (why) => {
      this.#log.warn("plugin.unhealthy", { why });
      this.#lastError = why;
      child.kill();
    });
    const running = { child, client, address, health };
    this.#running = running;
    this.#become("up");
    this.#backoff.succeeded();
    this.#log.info("plugin.up", { address, pid: child.pid, tools: this.#offer.tools.length });
    this.#options.changed();
    void child.exit.then(async (exit) => {
      if (this.#running !== running) return;
      this.#running = undefined;
      health.stop();
      await client[Symbol.asyncDispose]();
      const how = typeof exit === "number" ? `exited with code ${exit}` : `was ended by ${exit}`;
      const last = this.#sayings.last?.slice(0, LONGEST_WORDS);
      this.#failed(`It ${how}${last === undefined ? "" : `, after saying: ${last}`}`);
    });
  }

  /** Asks it to end, then ends it. */
  async #end(): Promise<void> {
    const running = this.#running;
    if (running === undefined) return;
    this.#running = undefined;
    const { child, client, health } = running;
    health.stop();
    const timeout = this.#limits.shutdown;
    const value = { timeoutSeconds: Math.ceil(timeout / 1000) };
    await client.ask({ case: "shutdown", value }, { timeout }).catch((error: unknown) => {
      this.#log.info("plugin.no-clean-end", { error });
    });
    await client[Symbol.asyncDispose]();
    await child.end();
  }

  #failed(why: string): void {
    this.#lastError = why;
    if (this.#state === "stopped") return;
    const wait = this.#backoff.failed();
    this.#become(this.#backoff.isOpen ? "resting" : "waiting");
    this.#log.warn("plugin.down", { why, failures: this.#backoff.failures, retryInMs: wait });
    this.#timer = setTimeout(() => {
      this.start().catch(() => {});
    }, wait).unref();
  }

  #down(what: string): TrunklineError {
    const why = this.#lastError === undefined ? "" : ` ${this.#lastError}`;
    return new TrunklineError("unavailable", `Plugin '${this.id}' ${what}.${why}`);
  }

  #become(state: PluginState): void {
    if (this.#state === "stopped" || this.#state === state) return;
    this.#state = state;
    this.#since = new Date();
  }
}

const STATES: Record<PluginState, string> = {
  idle: "is not started yet",
  starting: "is being started",
  up: "is up",
  waiting: "is down and will be started again",
  resting: "failed too often and is left alone for a while",
  stopped: "is stopped",
};
