import { attempt } from "../../base/attempt.ts";
import type { ApiCall, ApiRoute, RequiredAccess } from "../../base/capability/api-route.ts";
import { TrunklineError } from "../../base/errors.ts";
import { Semaphore } from "../../base/limit/semaphore.ts";
import type { Log } from "../../base/log.ts";
import {
  limitRefusal,
  mayControl,
  mayUseAll,
  mayUseTool,
  type Principal,
  scopeRefusal,
} from "../../base/principal.ts";
import {
  fail,
  failWith,
  type HandleRequest,
  readJson,
  refuseMethod,
  sendJson,
} from "../http/http-answers.ts";
import { tooMany } from "../telemetry/audit-routes.ts";

/** Bytes of a body. A prompt may be long. */
const LARGEST = 1024 * 1024;

/** Requests of one principal that are worked on at once, and that wait: git may wait long in a repository. */
const MOST_AT_ONCE = 64;
const MOST_WAITING = 64;

/** Finds the route of a request, checks what it needs and answers with JSON. */
export function router(routes: readonly ApiRoute[], log: Log): HandleRequest {
  const byPath = Map.groupBy(routes, ({ path }) => path);
  const patterns = Array.from(byPath, ([path, all]) => ({ pattern: patternOf(path), all }));
  const shares = new Semaphore({
    ...{ runningEach: MOST_AT_ONCE, waitingEach: MOST_WAITING },
    refusal: () => tooMany("requests", MOST_AT_ONCE),
  });

  function find(path: string): { all: ApiRoute[]; id: string; part: string } | undefined {
    for (const { pattern, all } of patterns) {
      const match = pattern.exec(path);
      if (match === null) continue;
      const { id = "", part = "" } = match.groups ?? {};
      return attempt(() => ({ all, id: decodeURIComponent(id), part: decodeURIComponent(part) }));
    }
    return undefined;
  }

  function answer(route: ApiRoute, call: ApiCall): void {
    const { response, request } = call;
    const answered = (value: object | undefined): void => {
      if (value !== undefined) sendJson(response, value);
    };
    const [path = ""] = request.url?.split("?", 1) ?? [];
    run(route, call).then(answered, (error: unknown) => failWith(response, error, path, log));
  }

  async function run(route: ApiRoute, call: ApiCall): Promise<object | undefined> {
    const refusal = routeRefusal(call.principal, route);
    if (refusal !== undefined) throw new TrunklineError("untrusted", refusal);
    using _share = await shares.enter({ key: call.principal.id });
    if (route.method === "GET") return await route.handle(call);
    return await route.handle({
      ...call,
      body: await readJson(call.request, route.largest ?? LARGEST),
    });
  }

  return (path, request, response, principal) => {
    const { method = "" } = request;
    const match = find(path);
    if (match === undefined) return fail(response, 404, "Nothing is at this path.");
    const { all, id, part } = match;
    const route = all.findLast((each) => each.method === method);
    if (route === undefined) {
      const allow = [...new Set(all.map((each) => each.method))].join(", ");
      return refuseMethod(response, path, allow);
    }
    const query = new URLSearchParams(request.url?.split("?", 2)[1] ?? "");
    const call = { principal, request, response, query, id, part, body: {} };
    const type = request.headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
    // Pages of other origins can send other types without asking first.
    return method === "POST" && type !== "application/json"
      ? fail(response, 415, "Send the body as JSON: Content-Type: application/json")
      : answer(route, call);
  };
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/:(\w+)/g, "(?<$1>[^/]+)")}$`);
}

/** Why a principal may not use a route; undefined where it may. This is asked for each route. */
export function routeRefusal(
  principal: Principal,
  { method, path, needs, tool }: Pick<ApiRoute, "method" | "path" | "needs" | "tool">,
): string | undefined {
  const isForAll = needs === "admin" || needs === "programs";
  const scopes = new Set<RequiredAccess>(isForAll ? ["admin", needs] : [needs]);
  for (const scope of scopes) {
    const lacking = scope === "nothing" ? undefined : scopeRefusal(principal, scope, path);
    if (lacking !== undefined) return lacking;
  }
  if (isForAll && !mayUseAll(principal)) {
    return `${path} is about what belongs to all, and this token is limited to a part of it.`;
  }
  if (method === "POST" && !mayControl(principal)) {
    return `${path} changes something, and this token only observes. Use one that was created without --observe.`;
  }
  if (tool === undefined || mayUseTool(principal, tool)) return undefined;
  return limitRefusal(principal, path, `--tool ${tool}`);
}
