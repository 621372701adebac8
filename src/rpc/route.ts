import type { TaskQueue } from "../base/limit/task-queue.ts";
import type { RateLimiter } from "../base/limit/rate-limiter.ts";
import type { Call } from "./call.ts";
import type { Check } from "../base/check.ts";
import type { Method } from "./method.ts";

export type Handler<P, R, S> = (params: P, call: Call<S>) => R | Promise<R>;

/** What holds for one method wherever it is served. */
export interface RouteLimits {
  /** Bytes of the whole message. */
  readonly maxSize?: number;
  /** Bytes of the message that `maxSize` does not count. The parameters are not checked yet. */
  readonly uncounted?: (params: unknown) => number;
  /** Milliseconds without progress; none when left out. */
  readonly timeout?: number;
  /** Shared by all connections, so that a second connection is not a second allowance. */
  readonly rate?: RateLimiter;
  /** Whether the rate does not count a call. */
  readonly isFree?: (params: unknown) => boolean;
  /** Calls with the same key run one after another. */
  readonly queue?: TaskQueue;
  /** The key that the rate is counted for and the queue is chosen by, such as a session id. */
  readonly key?: (params: unknown) => string | undefined;
  /**
   * Who cancels it is answered by the handler, once that has come to its end: what comes next may
   * depend on it. Else the answer does not wait for the handler.
   */
  readonly answersCancelled?: boolean;
}

/** A method and who answers it. Built once for a door, used by all its connections. */
export interface Route<S> extends RouteLimits {
  readonly name: string;
  readonly check?: Check;
  readonly handle: Handler<unknown, unknown, S>;
}

export type Routes<S> = ReadonlyMap<string, Route<S>>;

export function route<P, R, S>(
  method: Method<P, R>,
  handle: Handler<P, R, S>,
  limits: RouteLimits = {},
): Route<S> {
  const { name, check } = method;
  // The check is what makes the parameters a P.
  const untyped = handle as Handler<unknown, unknown, S>;
  return { name, handle: untyped, ...(check === undefined ? {} : { check }), ...limits };
}

export function routes<S>(...all: Route<S>[]): Routes<S> {
  return new Map(all.map((one) => [one.name, one]));
}

/** Has a route handle a request, in its turn where it has a queue. */
export function runRoute<S>(route: Route<S>, params: unknown, call: Call<S>): unknown {
  const { queue, key, handle } = route;
  const name = queue === undefined ? undefined : key?.(params);
  if (queue === undefined || name === undefined) return handle(params, call);
  // Cancelled while it waited for its turn: it has its answer, and must not run.
  return queue.run(() => (call.isSettled ? undefined : handle(params, call)), name);
}
