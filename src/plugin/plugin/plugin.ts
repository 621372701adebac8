import { atMost } from "../../base/abort.ts";
import { background } from "../../base/background.ts";
import { Backoff } from "../../base/limit/backoff.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { StderrLog } from "../../base/process/stderr-log.ts";
import type { Connection } from "../../wire/quic/connection.ts";
import {
  introduce,
  type PluginOffer,
  KnownOffer,
  LONGEST_REASON,
  SHORT_ANSWER,
} from "./known-offer.ts";
import type { PluginFolder } from "./plugin-folder.ts";
import { checkPin } from "./pin.ts";
import { type PluginLink, pluginLink } from "./plugin-link.ts";
import {
  LONGEST_WORDS,
  type PluginPlace,
  type PluginProcess,
  startInFolder,
} from "./plugin-process.ts";
import {
  type CallLimits,
  DEFAULT_PLUGIN_LIMITS,
  type PluginLimits,
  type PluginSettings,
} from "./settings.ts";
import { answerOf } from "../../protocol/bus/answer.ts";
import type { BusClient } from "../../protocol/bus/connect.ts";
import { HealthResult_Status as Status } from "../../protocol/bus/plugin.gen.ts";

/**
 * `idle` was not started yet; `waiting` failed and is started again soon; `resting` failed too often
 * and is started again after a longer pause; `held` has changed since it was approved.
 */
export type PluginState = "idle" | "starting" | "up" | "held" | "waiting" | "resting" | "stopped";

export interface PluginStatus {
  readonly id: string;
  readonly state: PluginState;
  /** When the state last changed. */
  readonly since: string;
  readonly address?: string;
  readonly pid?: number;
  readonly tools: number;
  readonly prompts: number;
  /** Its last answer to a health check. */
  readonly health?: string;
  readonly lastError?: string;
  /** The hosts that it may reach besides the bus, if a sandbox limits it. */
  readonly hosts?: readonly string[];
  /** How often it was started after its first time. */
  readonly restarts: number;
  /** Calls that it answers now, and calls that wait for one of those to end. */
  readonly calls: number;
  readonly waiting: number;
  /** How many of both there may be, and the milliseconds that a call may take. */
  readonly limits: CallLimits;
}

export interface PluginOptions extends PluginPlace {
  readonly log: Log;
  /** Makes the folder in which it finds its certificates. */
  readonly folder: () => Promise<PluginFolder>;
  /** Where the bus listens; asked for at each start. */
  readonly orchestratorAddress: () => string;
  readonly dial: (
    address: string,
    name: string,
    signal: AbortSignal,
    reach: PluginProcess["reach"],
  ) => Promise<Connection>;
  /** The plugins that must be up before it. */
  readonly needs: () => readonly Plugin[];
  /** Called when its offer has changed. */
  readonly changed: () => void;
  /** Its presumed offer until it is known. */
  readonly offer?: PluginOffer | undefined;
  readonly limits?: Partial<PluginLimits>;
}

/** Milliseconds that a call waits for a plugin that is being started. */
const LONGEST_WAIT = 5_000;

/** A plugin that is up. */
interface PluginRun extends Pick<PluginProcess, "child" | "address"> {
  readonly folder: PluginFolder;
  readonly link: PluginLink;
  /** Whether it reaches only what was approved. */
  readonly isLimited: boolean;
  readonly health: ReturnType<typeof watchHealth>;
}

/**
 * One plugin: a process that is started when it is needed, restarted when it dies or stops answering, and
 * ended with us. Requests fail at once while it is down.
 */
export class Plugin {
  /** Tells it from one of the same id that it takes the place of. */
  readonly key: string;
  readonly settings: PluginSettings;
  readonly #options: PluginOptions;
  readonly #limits: PluginLimits;
  readonly #log: Log;
  readonly #stderrLog: StderrLog;
  readonly #backoff: Backoff;
  readonly #stopping = new AbortController();
  readonly #offer: KnownOffer;
  #state: PluginState = "idle";
  #since = new Date();
  #starts = 0;
  /** When it was first started, by the clock of `performance`. */
  firstStart: number | undefined;
  #starting: Promise<void> | undefined;
  #running: PluginRun | undefined;
  #timer: NodeJS.Timeout | undefined;
  #lastError: string | undefined;

  constructor(settings: PluginSettings, options: PluginOptions) {
    this.key = `${settings.id} ${crypto.randomUUID()}`;
    this.settings = settings;
    this.#options = options;
    this.#limits = { ...DEFAULT_PLUGIN_LIMITS, ...options.limits, ...settings.limits };
    this.#log = options.log.with({ plugin: settings.id });
    this.#stderrLog = new StderrLog(this.#log, "plugin");
    this.#backoff = new Backoff(this.#limits);
    this.#offer = new KnownOffer(options.offer, {
      ...{ id: settings.id, log: this.#log, timeout: this.#limits.handshake },
      ...{ signal: this.#stopping.signal, provides: settings.permissions?.provides },
      link: () => this.#running?.link,
      changed: options.changed,
    });
  }

  get id(): string {
    return this.settings.id;
  }

  get state(): PluginState {
    return this.#state;
  }

  /** What it offered when it was last up; undefined when it never was. */
  get offer(): PluginOffer | undefined {
    return this.#offer.current;
  }

  /** The last lines of its stderr. */
  get said(): readonly string[] {
    return this.#stderrLog.tail;
  }

  /** The link to it; a promise while it is being started. Throws the reason if it is down. */
  link(): PluginLink | Promise<PluginLink> {
    if (this.#running !== undefined) return this.#running.link;
    if (this.#starting !== undefined) return this.#linkOnceUp(this.#starting);
    // Between its end and its next start the state is still "up".
    throw this.#down(this.#state === "up" ? "has just ended" : STATES[this.#state]);
  }

  status(): PluginStatus {
    const running = this.#running;
    const { call, calls, queue } = this.#limits;
    return {
      id: this.id,
      state: this.#state,
      since: this.#since.toISOString(),
      ...(running === undefined ? {} : { address: running.address, pid: running.child.pid }),
      tools: this.offer?.tools.length ?? 0,
      prompts: this.offer?.prompts.length ?? 0,
      ...(running?.health.last === undefined ? {} : { health: running.health.last }),
      ...(this.#lastError === undefined ? {} : { lastError: this.#lastError }),
      ...(running?.isLimited === true ? { hosts: this.settings.permissions?.hosts ?? [] } : {}),
      restarts: Math.max(0, this.#starts - 1),
      calls: running?.link.running ?? 0,
      waiting: running?.link.waiting ?? 0,
      limits: { call, calls, queue },
    };
  }

  /**
   * Starts it, unless it is being started, after `before` has settled. Resolves when it is up, and rejects
   * with the reason if it is not.
   */
  start(before?: Promise<void>): Promise<void> {
    if (this.#running !== undefined) return Promise.resolve();
    if (this.#state === "stopped") return Promise.reject(this.#down(STATES.stopped));
    this.#starting ??= this.#start(before).finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  /** It has registered, maybe because it offers something else than before. */
  registered(): void {
    this.#offer.outdated();
  }

  /** Ends the process and starts a new one, however often it has failed before. */
  async restart(): Promise<void> {
    clearTimeout(this.#timer);
    this.#backoff.succeeded();
    await this.#starting?.catch(() => {});
    await this.start(this.#end(() => this.link()));
  }

  /** Ends it for good. */
  async stop(): Promise<void> {
    this.#become("stopped");
    clearTimeout(this.#timer);
    this.#stopping.abort(this.#down(STATES.stopped));
    await this.#starting?.catch(() => {});
    await this.#end();
  }

  async #start(before?: Promise<void>): Promise<void> {
    this.#become("starting");
    this.firstStart ??= performance.now();
    clearTimeout(this.#timer);
    try {
      await before;
      this.#stopping.signal.throwIfAborted();
      await Promise.all(this.#options.needs().map((needed) => needed.start()));
      await this.#hold();
      this.#stopping.signal.throwIfAborted();
      this.#starts++;
      await this.#connect();
    } catch (error) {
      this.#failed(error instanceof Error ? error.message : String(error));
      throw this.#down("could not be started");
    }
  }

  /** Throws where its code is not what was approved: it is started again once its settings say so. */
  async #hold(): Promise<void> {
    try {
      await checkPin(this.settings);
    } catch (error) {
      this.#become("held");
      throw error;
    }
  }

  async #connect(): Promise<void> {
    await using opening = new AsyncDisposableStack();
    const folder = opening.use(await this.#options.folder());
    const { signal } = this.#stopping;
    const { child, address, reach } = await startInFolder(folder, {
      ...this.#options,
      settings: this.settings,
      orchestratorAddress: this.#options.orchestratorAddress(),
      timeout: this.#limits.ready,
      signal,
      said: (line) => this.#stderrLog.add(line),
    });
    const link = pluginLink({
      id: this.id,
      limits: this.#limits,
      dial: (given) => this.#options.dial(address, `orchestrator-to-${this.id}`, given, reach),
      lost: ({ message }) => {
        // A plugin that was asked to end is expected to exit.
        if (this.#running?.link !== link) return;
        this.#log.warn("plugin.connection-lost", { reason: message });
      },
    });
    opening.defer(async () => {
      await Promise.all([link[Symbol.asyncDispose](), child.end()]);
    });
    // Connecting into a sandbox takes long, so it begins now. If it fails, the call reports it.
    if (reach !== undefined) link.connect().catch(() => {});
    await introduce(link.control, this.settings, this.#limits.handshake, signal);
    await this.#offer.ask(link);
    signal.throwIfAborted();
    opening.move();
    this.#isUp({ child, folder, link, address, isLimited: reach !== undefined });
  }

  #isUp(started: Omit<PluginRun, "health">): void {
    const { child, folder, link, address } = started;
    const health = watchHealth(link.control, this.#limits, (why) => {
      this.#log.warn("plugin.unhealthy", { why });
      this.#lastError = why;
      child.kill();
    });
    const running = { ...started, health };
    this.#running = running;
    this.#become("up");
    this.#backoff.succeeded();
    this.#log.info("plugin.up", { address, pid: child.pid, tools: this.offer?.tools.length });
    this.#options.changed();
    this.#offer.isUp();
    background(
      child.exit.then(async (exit) => {
        if (this.#running !== running) return;
        this.#running = undefined;
        health.stop();
        await Promise.all([link[Symbol.asyncDispose](), folder[Symbol.asyncDispose]()]);
        const how = typeof exit === "number" ? `exited with code ${exit}` : `was ended by ${exit}`;
        const last = this.#stderrLog.last?.slice(0, LONGEST_WORDS);
        this.#failed(`It ${how}${last === undefined ? "" : `, after saying: ${last}`}`);
      }),
      "Noting the end of a plugin",
    );
  }

  /**
   * Waits for the running calls, sends a shutdown request, then ends the process. Waiting calls go to the
   * successor, if there is one.
   */
  async #end(successor?: () => PluginLink | Promise<PluginLink>): Promise<void> {
    const running = this.#running;
    if (running === undefined) return;
    this.#running = undefined;
    const { child, folder, link, health } = running;
    health.stop();
    const reason = this.#down("is being ended");
    const timeout = await link.drain(this.#limits.shutdown, reason, successor);
    const value = { timeoutSeconds: Math.ceil(timeout / 1000) };
    await link.control.ask({ case: "shutdown", value }, { timeout }).catch((error: unknown) => {
      this.#log.info("plugin.no-clean-end", { error });
    });
    await link[Symbol.asyncDispose]();
    await child.end();
    await folder[Symbol.asyncDispose]();
  }

  async #linkOnceUp(starting: Promise<void>): Promise<PluginLink> {
    await atMost(LONGEST_WAIT, starting, () => this.#down(STATES.starting));
    return this.link();
  }

  #failed(why: string): void {
    this.#lastError = why;
    if (this.#state === "stopped") return;
    if (this.#state === "held") return this.#log.warn("plugin.held", { why });
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

/** The part of a plugin that callers need. */
export type AskedPlugin = Pick<Plugin, "id" | "link">;

const STATES: Record<PluginState, string> = {
  idle: "is not started yet",
  starting: "is being started",
  up: "is up",
  held: "is held",
  waiting: "is down and will be started again",
  resting: "failed too often and is started again later",
  stopped: "is stopped",
};

/**
 * Sends health checks to a running plugin at intervals, and gives it up after several failures: then
 * `givenUp` is called once, with the reason.
 */
export function watchHealth(
  client: Pick<BusClient, "ask">,
  limits: PluginLimits,
  givenUp: (why: string) => void,
) {
  let failures = 0;
  let isAsking = false;
  const watch = {
    /** Its last answer. */
    last: undefined as string | undefined,
    stop: () => clearInterval(timer),
  };
  const look = async (): Promise<void> => {
    if (isAsking) return;
    isAsking = true;
    const why = await ask();
    isAsking = false;
    failures = why === undefined ? 0 : failures + 1;
    if (why === undefined || failures < limits.mostUnhealthy) return;
    watch.stop();
    givenUp(why);
  };
  /** Why it is unhealthy; undefined if it is not. */
  const ask = async (): Promise<string | undefined> => {
    try {
      const asking = { timeout: limits.health, most: SHORT_ANSWER };
      const answer = await client.ask({ case: "health", value: {} }, asking);
      const { status, message: all } = answerOf("It", answer, "health");
      const message = all.slice(0, LONGEST_REASON);
      watch.last = [NAMES[status] ?? "unknown", message].filter((part) => part !== "").join(": ");
      return status === Status.UNHEALTHY ? `It says that it is unhealthy: ${message}` : undefined;
    } catch (error) {
      return `It does not answer: ${(error as Error).message}`;
    }
  };
  const check = (): void => background(look(), "Checking the health of a plugin");
  const timer = setInterval(check, limits.healthEvery).unref();
  return watch;
}

const NAMES: Readonly<Record<number, string>> = {
  [Status.HEALTHY]: "healthy",
  [Status.DEGRADED]: "degraded",
  [Status.UNHEALTHY]: "unhealthy",
};
