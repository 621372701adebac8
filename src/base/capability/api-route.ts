import type { IncomingMessage, ServerResponse } from "node:http";

import { type Check, keyText } from "../check.ts";
import { TrunklineError } from "../errors.ts";
import type { Principal } from "../principal.ts";

/** One request to the dashboard's API. */
export interface ApiCall {
  readonly principal: Principal;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly query: URLSearchParams;
  /** The part of the path that `:id` stands for. */
  readonly id: string;
  /** The part that `:part` stands for. */
  readonly part: string;
  /** The body of a POST, which is a JSON object. */
  readonly body: Readonly<Record<string, unknown>>;
}

/**
 * What a principal needs for a route beside the scope `dashboard`. "nothing": the route shows each principal
 * only what it may see. "sessions", "review": that scope. "admin": the data belongs to others or to
 * everybody. "programs": it decides which commands are started for everybody, and needs `admin` as well.
 */
export type RequiredAccess = "nothing" | "sessions" | "review" | "admin" | "programs";

/** The answer as JSON; undefined where the handler has answered itself. */
export type ApiHandler = (call: ApiCall) => Promise<object | undefined>;

export interface ApiRoute {
  readonly method: "GET" | "POST";
  /** Such as `/api/sessions/:id/traffic/:part`. */
  readonly path: string;
  readonly needs: RequiredAccess;
  /** The tool that does the same. A token that is limited to some tools must allow it. */
  readonly tool?: string;
  /** Bytes of the body of a POST; a megabyte where it is left out. */
  readonly largest?: number;
  readonly handle: ApiHandler;
}

/** A route: `route("GET /api/tokens", "admin", handle)`. */
export function route(
  address: `${ApiRoute["method"]} /api/${string}`,
  needs: RequiredAccess,
  handle: ApiHandler,
  tool?: string,
): ApiRoute {
  const [method, path] = address.split(" ") as [ApiRoute["method"], string];
  return { method, path, needs, handle, ...(tool === undefined ? {} : { tool }) };
}

/** A whole number in the query, within bounds. Throws "usage" for anything else. */
export function numberIn(
  query: URLSearchParams,
  name: string,
  {
    least = 0,
    most = Number.MAX_SAFE_INTEGER,
    usual,
  }: { least?: number; most?: number; usual: number },
): number {
  const text = query.get(name);
  if (text === null) return usual;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
  if (value >= least && value <= most) return value;
  const says = `'${name}' has to be a whole number from ${least} to ${most}.`;
  throw new TrunklineError("usage", says);
}

/** A text in a body. Throws "usage" where it is missing. */
export function textIn(body: ApiCall["body"], name: string): string {
  const value = body[name];
  if (typeof value === "string" && value.trim() !== "") return value;
  throw new TrunklineError("usage", `'${name}' is missing.`);
}

/** A body as it has to be. Throws "usage" for the first member that is wrong. */
export function bodyAs<T>(body: ApiCall["body"], check: Check<T>): T {
  const problem = check(body);
  if (problem === undefined) return body as T;
  throw new TrunklineError("usage", `'${keyText(problem.path)}' ${problem.says}.`);
}
