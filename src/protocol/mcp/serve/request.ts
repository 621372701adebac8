import { describeProblem } from "../../../base/check.ts";
import type { Call } from "../../../rpc/call.ts";
import { STANDARD } from "../../../rpc/codes.ts";
import type { Method } from "../../../rpc/method.ts";
import { type Route, route } from "../../../rpc/route.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import { CannotAsk, ToolFault } from "../../../tool/tool.ts";
import { type Client, clientOfRequest, describesClient, missingCapability } from "./client.ts";
import type { JsonObject } from "../json-object.ts";
import type { Connection } from "./connection.ts";
import { neededFor } from "./question.ts";
import type { Caching, Implementation } from "../revision/codec.ts";

/** One request, with the client it comes from. */
export interface McpRequest<P> {
  readonly client: Client;
  readonly params: P;
  readonly call: Call<Connection>;
}

export interface ServeOptions {
  /** The handler maps the errors of its promise itself: no wrapper is needed. */
  readonly mapsErrors?: boolean;
  /** How long a client may keep the answer, where its revision can say so. */
  readonly caching?: Caching;
}

/** Makes routes. Handlers return one shape; the client's codec makes the result of it here. */
export class McpRoutes {
  readonly #server: Implementation;

  constructor(server: Implementation) {
    this.#server = server;
  }

  serve<P>(
    asked: Method<P, JsonObject>,
    handle: (request: McpRequest<P>) => JsonObject | Promise<JsonObject>,
    options: ServeOptions = {},
  ): Route<Connection> {
    const { name, check } = asked;
    // No check in the route: an unknown method is reported before wrong parameters.
    return route<P, JsonObject, Connection>({ name }, (params, call) => {
      const { state } = call;
      // MCP 2026-07-28, basic/versioning § Compatibility Matrix: a request with `_meta` is stateless, on
      // any connection; without it, the session that `initialize` began decides.
      // Before `initialize`, what only revisions without sessions have must describe its client.
      const mustDescribe = !state.isInitialized && state.client.codec.lacks.has(name);
      const client =
        mustDescribe || describesClient(params) ? clientOfRequest(params) : state.client;
      const { codec } = client;
      if (codec.lacks.has(name)) {
        const { code, message } = STANDARD.methodNotFound;
        throw new RpcError(code, message);
      }
      const problem = check?.(params);
      if (problem !== undefined) {
        throw RpcError.of(STANDARD.invalidParams, describeProblem("params", problem));
      }
      const shape = (body: JsonObject): JsonObject =>
        codec.shapeResult(body, this.#server, options.caching);
      try {
        const body = handle({ client, params, call });
        if (!(body instanceof Promise)) return shape(body);
        // A body without an envelope is the whole result already.
        const isDone = options.mapsErrors === true && !codec.has.resultEnvelope;
        return isDone ? body : body.then(shape, rethrow);
      } catch (error) {
        return rethrow(error);
      }
    });
  }
}

/** Turns the errors of tools into those of MCP. */
export function rethrow(error: unknown): never {
  if (error instanceof CannotAsk) throw missingCapability(neededFor(error.question));
  if (error instanceof ToolFault) throw new RpcError(error.code, error.message, error.data);
  throw error;
}
