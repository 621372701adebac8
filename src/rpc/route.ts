import { refuseHuge } from "./message/message.ts";
import { describeProblem, type Problem, type Check } from "../base/check.ts";
import { STANDARD, TRUNKLINE } from "./codes.ts";
import { RpcError } from "./rpc-error.ts";
import type { RateLimiter } from "../base/limit/rate-limiter.ts";
import type { Call } from "./peer.ts";
import type { TaskQueue } from "../base/limit/task-queue.ts";
import type { Method } from "./method.ts";

export type Handler<P, R, S> = (params: P, call: Call<S>) => R | Promise<R>;

/** The limits of one method. */
export interface RouteLimits {
  /** Bytes of the whole message. */
  readonly maxSize?: number | undefined;
  /** Bytes of the message that `maxSize` does not count. The parameters are not checked yet. */
  readonly uncounted?: (params: unknown) => number;
  /** Milliseconds without progress; none when left out. */
  readonly timeout?: number | undefined;
  /** Shared by all connections, so that a second connection is not a second allowance. */
  readonly rate?: RateLimiter;
  /** Calls that do not count against the rate. */
  readonly isFree?: (params: unknown) => boolean;
  /** Calls with the same key run one after another. */
  readonly queue?: TaskQueue;
  /** The key that the rate is counted for and the queue is chosen by, such as a session id. */
  readonly key?: (params: unknown) => string | undefined;
  /**
   * A cancelled request is answered when its handler ends, because the next request may depend on that.
   * Otherwise it is answered at once.
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
  // `refuse` has checked that the parameters are a P.
  const untyped = handle as Handler<unknown, unknown, S>;
  return { name, handle: untyped, ...(check === undefined ? {} : { check }), ...limits };
}

export function routes<S>(...all: Route<S>[]): Routes<S> {
  return new Map(all.map((one) => [one.name, one]));
}

/** Runs the handler of a route, after earlier calls of the same queue and key. */
export function runRoute<S>(route: Route<S>, params: unknown, call: Call<S>): unknown {
  const { queue, key, handle } = route;
  const name = queue === undefined ? undefined : key?.(params);
  if (queue === undefined || name === undefined) return handle(params, call);
  // Cancelled while it waited for its turn: it has its answer, and must not run.
  return queue.run(() => (call.isSettled ? undefined : handle(params, call)), name);
}

/**
 * JSON-RPC 2.0 § 4.2: parameters are an object or an array. A method without a check of its own can
 * rely on that much.
 */
const UNSTRUCTURED: Problem = { path: [], says: "must be an object or an array" };

/**
 * Why a message may not reach its handler: it is too large, its parameters are wrong, or it comes too
 * often. Undefined where it may. The parameters are looked at before the rate counts the call, so
 * that a wrong call does not cost a right one its turn.
 */
export function refuse(
  route: Omit<Route<never>, "handle">,
  params: unknown,
  text: string,
): RpcError | undefined {
  const { maxSize, check, rate } = route;
  const huge = refuseHuge(params, text);
  if (huge !== undefined) return huge;
  if (maxSize !== undefined && isLarger(text, maxSize)) {
    const size = Buffer.byteLength(text) - (route.uncounted?.(params) ?? 0);
    if (size > maxSize) return tooLarge(route.name, size, maxSize);
  }
  const problem = check?.(params) ?? (typeof params === "object" ? undefined : UNSTRUCTURED);
  if (problem !== undefined) {
    return RpcError.of(STANDARD.invalidParams, describeProblem("params", problem));
  }
  if (rate === undefined || route.isFree?.(params) === true) return undefined;
  const retryAfterMs = rate.take(route.key?.(params) ?? "");
  if (retryAfterMs === 0) return undefined;
  const { limit, windowMs } = rate.rate;
  const detail = `'${route.name}' may be called ${limit} times in ${windowMs / 1000} s`;
  return RpcError.of(TRUNKLINE.rateLimited, detail, { retryAfterMs });
}

function tooLarge(name: string, size: number, limit: number): RpcError {
  const detail = `'${name}' may be at most ${limit} bytes, this is ${size}`;
  return RpcError.of(STANDARD.invalidRequest, detail, { size, limit });
}

/** UTF-8 takes one to three bytes for each UTF-16 unit, so most texts need no counting. */
function isLarger(text: string, limit: number): boolean {
  if (text.length > limit) return true;
  return text.length * 3 > limit && Buffer.byteLength(text) > limit;
}

const LONGEST_NAME = 256;

/** Cuts a text of the caller that is repeated in an error. */
export function shorten(text: string): string {
  return text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME)}…` : text;
}
