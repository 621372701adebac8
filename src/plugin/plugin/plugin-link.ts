import { atMost } from "../../base/abort.ts";
import { TrunklineError } from "../../base/errors.ts";
import { Semaphore } from "../../base/limit/semaphore.ts";
import {
  type BusRequest,
  type AskForManyOptions,
  type AskOptions,
  BusClient,
  type BusClientOptions,
  LostError,
} from "../../protocol/bus/connect.ts";
import type { PluginResponse } from "../../protocol/bus/plugin.gen.ts";
import type { PluginLimits } from "./settings.ts";

export interface PluginLinkOptions extends Pick<BusClientOptions, "dial" | "lost"> {
  readonly id: string;
  readonly limits: PluginLimits;
}

/** The origin of a request. */
export interface CallOrigin {
  /** Whether a plugin makes it, possibly while it answers a call itself. */
  readonly isNested: boolean;
}

/** The link to the process that is started instead. */
type Successor = () => PluginLink | Promise<PluginLink>;

/** Connections for calls: enough for all that may run, so that none waits for a stream. */
const MOST_CONNECTIONS = 40;
/** Milliseconds that a plugin has at least to end by itself. */
const SHORTEST = 1_000;
/** Milliseconds that a plugin may take to hear that no more of an answer is wanted. */
const CANCELLING = 2_000;

/**
 * Sends requests to a plugin.
 *
 * Requests that the plugin's life depends on, such as health checks, have a connection of their own, so
 * that calls cannot delay them.
 *
 * Calls cannot wait for each other in a circle. A call of a client waits for one of a number of
 * slots. A call that a plugin makes never waits for a slot: it is made at once or, over a high
 * limit, refused. So whoever has a slot waits for nobody who has none yet, and a call that leads to
 * further calls, to its own plugin or in a circle, comes to its end.
 */
export class PluginLink implements AsyncDisposable {
  readonly control: BusClient;
  readonly #name: string;
  readonly #calls: BusClient;
  readonly #slots: Semaphore;
  readonly #limits: PluginLimits;
  readonly #draining = new AbortController();
  #successor: Successor | undefined;
  #nested = 0;
  #idle: PromiseWithResolvers<void> | undefined;
  #isOver = false;

  constructor({ id, limits, dial, lost }: PluginLinkOptions) {
    const name = `Plugin '${id}'`;
    this.#name = name;
    this.#limits = limits;
    const { calls, queue } = limits;
    this.#slots = new Semaphore({
      running: calls,
      waitingEach: queue,
      refusal: (waiting) =>
        `${name} answers ${calls} calls, and ${waiting} more wait for it. ` +
        "Try again later, or raise 'calls' or 'queue' of the plugin in the configuration",
    });
    this.control = new BusClient({ name, dial, ...(lost === undefined ? {} : { lost }) });
    this.#calls = new BusClient({
      ...{ name, dial, patience: limits.call, mostConnections: MOST_CONNECTIONS, isKnown: true },
    });
  }

  /** Calls that it answers now. */
  get running(): number {
    return this.#slots.running + this.#nested;
  }

  /** Calls that wait for one of those to end. */
  get waiting(): number {
    return this.#slots.waiting;
  }

  /** Connects now, so that the first call need not wait for that. */
  connect(): Promise<void> {
    return this.#calls.connect();
  }

  async ask(request: BusRequest, options: AskOptions & CallOrigin): Promise<PluginResponse> {
    let entered: Disposable;
    try {
      entered = await this.#enter(options);
    } catch (error) {
      // It was not sent, so the successor can answer it.
      if (this.#successor === undefined || error !== this.#draining.signal.reason) throw error;
      return (await this.#successor()).ask(request, options);
    }
    using _ = entered;
    return await this.#calls.ask(request, options).catch(this.#explain);
  }

  async *askForMany(
    request: BusRequest,
    options: Omit<AskForManyOptions, "cancel"> & CallOrigin & { readonly cancel: BusRequest },
  ): AsyncGenerator<PluginResponse, void, void> {
    const { signal, cancel } = options;
    using _ = await this.#enter(options);
    try {
      yield* this.#calls.askForMany(request, {
        signal,
        cancel: () => {
          this.control.ask(cancel, { timeout: CANCELLING }).catch(() => {});
        },
      });
    } catch (error) {
      this.#explain(error);
    }
  }

  /**
   * Waits until the running calls are answered. Waiting calls go to the successor, or fail for the reason
   * if there is none. Resolves to the milliseconds that are left, which is always a short time.
   */
  async drain(timeout: number, reason: Error, successor?: Successor): Promise<number> {
    const began = performance.now();
    this.#successor = successor;
    this.#draining.abort(reason);
    if (this.running > 0) {
      this.#idle = Promise.withResolvers();
      await atMost(timeout, this.#idle.promise);
    }
    return Math.max(Math.min(timeout, SHORTEST), timeout - (performance.now() - began));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await Promise.all([this.control[Symbol.asyncDispose](), this.#calls[Symbol.asyncDispose]()]);
  }

  async #enter({ isNested, signal }: CallOrigin & Pick<AskOptions, "signal">): Promise<Disposable> {
    const entered = new DisposableStack();
    entered.defer(() => {
      if (this.running === 0) this.#idle?.resolve();
    });
    if (!isNested) {
      entered.use(await (this.#slots.isFree() ? this.#slots.enter() : this.#queue(signal)));
      return entered;
    }
    const { nestedCalls } = this.#limits;
    if (this.#nested >= nestedCalls) {
      const hint = "Does a plugin call itself without end?";
      const why = `already answers ${nestedCalls} calls that plugins have made. ${hint}`;
      throw new TrunklineError("limit", `${this.#name} ${why}`);
    }
    this.#nested++;
    entered.defer(() => this.#nested--);
    return entered;
  }

  /** A request that was not sent yet when the plugin ended is not lost: the plugin is down. */
  readonly #explain = (error: unknown): never => {
    if (!this.#isOver || error instanceof LostError) throw error;
    throw new TrunklineError("unavailable", `${this.#name} has just ended`);
  };

  /** Waits no longer for a slot than for an answer. */
  async #queue(signal: AbortSignal | undefined): Promise<Disposable> {
    const { call, calls } = this.#limits;
    const late = new AbortController();
    using _ = setTimeout(() => {
      const what = `No free slot of ${this.#name} within ${call} ms: it takes ${calls} calls at once`;
      late.abort(new TrunklineError("timeout", what));
    }, call);
    const ends = [late.signal, this.#draining.signal, ...(signal === undefined ? [] : [signal])];
    return await this.#slots.enter({ signal: AbortSignal.any(ends) });
  }
}
