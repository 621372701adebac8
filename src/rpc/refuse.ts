import { describeProblem, type Problem } from "../base/check.ts";
import { STANDARD, TRUNKLINE } from "./codes.ts";
import type { RouteLimits } from "./route.ts";
import type { Check } from "../base/check.ts";
import { RpcError } from "./rpc-error.ts";

interface Refusing extends RouteLimits {
  readonly name: string;
  readonly check?: Check;
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
export function refuse(route: Refusing, params: unknown, text: string): RpcError | undefined {
  const { maxSize, check, rate } = route;
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

/** What a caller made up, cut to what is worth repeating to it. */
export function shorten(text: string): string {
  return text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME)}…` : text;
}
