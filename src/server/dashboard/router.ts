import type { IncomingMessage, ServerResponse } from "node:http";

import type { ApiCall, ApiRoute } from "../../base/api-route.ts";
import { diskWords, type ErrorCode, TrunklineError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import {
  limitRefusal,
  mayControl,
  mayUseAll,
  mayUseTool,
  type Principal,
  scopeRefusal,
} from "../../base/principal.ts";
import { maskText } from "../../base/text/mask.ts";
import { readHttpBody } from "../../wire/channel/http-body.ts";
import { fail, send } from "../http/http-answers.ts";

const STATUS: Readonly<Record<ErrorCode, number>> = {
  usage: 400,
  config: 400,
  untrusted: 403,
  "not-found": 404,
  conflict: 409,
  closed: 409,
  cancelled: 409,
  limit: 429,
  timeout: 504,
  unavailable: 503,
};

/** Bytes of a body. A prompt may be long. */
const LARGEST = 1024 * 1024;

/** Finds the route of a request, checks what it needs and answers with JSON. */
export class Router {
  readonly #routes = new Map<string, Map<string, ApiRoute>>();
  readonly #patterns: { readonly pattern: RegExp; readonly path: string }[] = [];
  readonly #log: Log;

  constructor(routes: readonly ApiRoute[], log: Log) {
    this.#log = log;
    for (const route of routes) {
      const known = this.#routes.get(route.path);
      if (known === undefined)
        this.#patterns.push({ pattern: patternOf(route.path), path: route.path });
      this.#routes.set(route.path, (known ?? new Map<string, ApiRoute>()).set(route.method, route));
    }
  }

  handle(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal,
  ): void {
    const { method = "" } = request;
    const match = this.#find(path);
    if (match === undefined) return fail(response, 404, "Nothing is at this path.");
    const route = match.routes.get(method);
    if (route === undefined) {
      response.setHeader("allow", [...match.routes.keys()].join(", "));
      return fail(response, 405, `${path} does not support this method`);
    }
    const query = new URLSearchParams(request.url?.split("?", 2)[1] ?? "");
    const { id, part } = match;
    const call = { principal, request, response, query, id, part, body: {} };
    if (method === "GET") return this.#answer(route, call);
    const type = request.headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
    // Pages of other origins can send other types without asking first.
    if (type !== "application/json") {
      return fail(response, 415, "Send the body as JSON: Content-Type: application/json");
    }
    return readHttpBody(request, LARGEST, (text) => {
      if (typeof text !== "string") {
        return fail(response, 413, `The body is not text, or has more than ${LARGEST} bytes`);
      }
      const body = readObject(text);
      if (body === undefined) return fail(response, 400, "The body is not a JSON object");
      return this.#answer(route, { ...call, body });
    });
  }

  #find(
    path: string,
  ): { routes: ReadonlyMap<string, ApiRoute>; id: string; part: string } | undefined {
    for (const { pattern, path: name } of this.#patterns) {
      const match = pattern.exec(path);
      const routes = match === null ? undefined : this.#routes.get(name);
      if (routes === undefined) continue;
      const { id = "", part = "" } = match?.groups ?? {};
      try {
        return { routes, id: decodeURIComponent(id), part: decodeURIComponent(part) };
      } catch {
        return undefined;
      }
    }
    return undefined;
  }

  #answer(route: ApiRoute, call: ApiCall): void {
    const { response } = call;
    const answered = (value: object | undefined): void => {
      if (value !== undefined) send(response, 200, "application/json", JSON.stringify(value));
    };
    this.#run(route, call).then(answered, (error: unknown) => this.#failed(error, call));
  }

  async #run(route: ApiRoute, call: ApiCall): Promise<object | undefined> {
    const refusal = routeRefusal(call.principal, route);
    if (refusal !== undefined) throw new TrunklineError("untrusted", refusal);
    return route.handle(call);
  }

  #failed(error: unknown, { response, request }: ApiCall): void {
    if (response.headersSent) {
      response.destroy();
      return;
    }
    const words = error instanceof TrunklineError ? error.message : diskWords(error);
    if (words !== undefined) {
      const status = error instanceof TrunklineError ? STATUS[error.code] : 503;
      return fail(response, status, maskText(words));
    }
    const correlation = crypto.randomUUID().slice(0, 8);
    const path = request.url?.split("?", 1)[0];
    this.#log.error("dashboard.failed", { correlation, path, error });
    return fail(response, 500, `Something failed in Trunkline: see '${correlation}' in its log.`);
  }
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/:(\w+)/g, "(?<$1>[^/]+)")}$`);
}

function readObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text === "" ? "{}" : text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Why a principal may not use a route; undefined where it may. This is asked for each route. */
export function routeRefusal(
  principal: Principal,
  { method, path, needs, tool }: Pick<ApiRoute, "method" | "path" | "needs" | "tool">,
): string | undefined {
  const lacking = needs === "nothing" ? undefined : scopeRefusal(principal, needs, path);
  if (lacking !== undefined) return lacking;
  if (needs === "admin" && !mayUseAll(principal)) {
    return `${path} is about what belongs to all, and this token is limited to a part of it.`;
  }
  if (method === "POST" && !mayControl(principal)) {
    return `${path} changes something, and this token only observes. Use one that was created without --observe.`;
  }
  if (tool === undefined || mayUseTool(principal, tool)) return undefined;
  return limitRefusal(principal, path, `--tool ${tool}`);
}
