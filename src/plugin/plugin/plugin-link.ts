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
export type PluginLink = ReturnType<typeof pluginLink>;

export function pluginLink({ id, limits, dial, lost }: PluginLinkOptions) {
  const whom = `Plugin '${id}'`;
  const control = new BusClient({ name: whom, dial, ...(lost === undefined ? {} : { lost }) });
  const calls = new BusClient({
    ...{ name: whom, dial, patience: limits.call },
    ...{ mostConnections: MOST_CONNECTIONS, isKnown: true },
  });
  const slots = new Semaphore({
    running: limits.calls,
    waitingEach: limits.queue,
    refusal: (waiting) =>
      `${whom} answers ${limits.calls} calls, and ${waiting} more wait for it. ` +
      "Try again later, or raise 'calls' or 'queue' of the plugin in the configuration",
  });
  const draining = new AbortController();
  let next: Successor | undefined;
  let nested = 0;
  let idle: PromiseWithResolvers<void> | undefined;
  let isOver = false;
  /** A request that was not sent yet when the plugin ended is not lost: the plugin is down. */
  const explain = (error: unknown): never => {
    if (!isOver || error instanceof LostError) throw error;
    throw new TrunklineError("unavailable", `${whom} has just ended`);
  };
  const running = (): number => slots.running + nested;
  const enter = async (options: CallOrigin & Pick<AskOptions, "signal">): Promise<Disposable> => {
    const { isNested, signal } = options;
    const entered = new DisposableStack();
    entered.defer(() => {
      if (running() === 0) idle?.resolve();
    });
    if (!isNested) {
      entered.use(await (slots.isFree() ? slots.enter() : queued(signal)));
      return entered;
    }
    const { nestedCalls } = limits;
    if (nested >= nestedCalls) {
      const hint = "Does a plugin call itself without end?";
      const why = `already answers ${nestedCalls} calls that plugins have made. ${hint}`;
      throw new TrunklineError("limit", `${whom} ${why}`);
    }
    nested++;
    entered.defer(() => nested--);
    return entered;
  };
  /** Waits no longer for a slot than for an answer. */
  const queued = async (signal: AbortSignal | undefined): Promise<Disposable> => {
    const { call, calls: most } = limits;
    const late = new AbortController();
    using _ = setTimeout(() => {
      const what = `No free slot of ${whom} within ${call} ms: it takes ${most} calls at once`;
      late.abort(new TrunklineError("timeout", what));
    }, call);
    const ends = [late.signal, draining.signal, ...(signal === undefined ? [] : [signal])];
    return await slots.enter({ signal: AbortSignal.any(ends) });
  };
  return {
    control,
    /** Calls that it answers now. */
    get running(): number {
      return running();
    },
    /** Calls that wait for one of those to end. */
    get waiting(): number {
      return slots.waiting;
    },
    /** Connects now, so that the first call need not wait for that. */
    connect: (): Promise<void> => calls.connect(),
    async ask(request: BusRequest, options: AskOptions & CallOrigin): Promise<PluginResponse> {
      let entered: Disposable;
      try {
        entered = await enter(options);
      } catch (error) {
        // It was not sent, so the successor can answer it.
        if (next === undefined || error !== draining.signal.reason) throw error;
        return (await next()).ask(request, options);
      }
      using _ = entered;
      return await calls.ask(request, options).catch(explain);
    },
    async *askForMany(
      request: BusRequest,
      options: Omit<AskForManyOptions, "cancel"> & CallOrigin & { readonly cancel: BusRequest },
    ): AsyncGenerator<PluginResponse, void, void> {
      const { signal, cancel } = options;
      using _ = await enter(options);
      try {
        yield* calls.askForMany(request, {
          signal,
          cancel: () => {
            control.ask(cancel, { timeout: CANCELLING }).catch(() => {});
          },
        });
      } catch (error) {
        explain(error);
      }
    },
    /**
     * Waits until the running calls are answered. Waiting calls go to the successor, or fail for the reason
     * if there is none. Resolves to the milliseconds that are left, which is always a short time.
     */
    async drain(timeout: number, reason: Error, successor?: Successor): Promise<number> {
      const began = performance.now();
      next = successor;
      draining.abort(reason);
      if (running() > 0) {
        idle = Promise.withResolvers();
        await atMost(timeout, idle.promise);
      }
      return Math.max(Math.min(timeout, SHORTEST), timeout - (performance.now() - began));
    },
    async [Symbol.asyncDispose](): Promise<void> {
      isOver = true;
      await Promise.all([control[Symbol.asyncDispose](), calls[Symbol.asyncDispose]()]);
    },
  };
}
