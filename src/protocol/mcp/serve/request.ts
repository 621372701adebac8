import { describeProblem } from "../../../base/check.ts";
import type { Call } from "../../../rpc/call.ts";
import { STANDARD } from "../../../rpc/codes.ts";
import type { Method } from "../../../rpc/method.ts";
import { type Route, route } from "../../../rpc/route.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import { CannotAsk, ToolFault } from "../../../tool/tool.ts";
import {
  claimsModern,
  type Client,
  isModern,
  type JsonObject,
  missingCapability,
  modernClient,
} from "./client.ts";
import type { Connection } from "./connection.ts";
import { neededFor } from "./question.ts";
import { type Caching, type ServerInfo, shapeResult } from "./result.ts";

/** One request, with the client it comes from. */
export interface McpRequest<P> {
  readonly client: Client;
  readonly params: P;
  readonly call: Call<Connection>;
}

export interface ServeOptions {
  /** Which revisions have the method; all when left out. */
  readonly eras?: "legacy" | "modern";
  /** A promise that the handler returns rejects as this protocol has it. */
  readonly mapsErrors?: boolean;
  /** What a client of 2026-07-28 may keep. */
  readonly caching?: Caching;
}

/** Makes routes whose handlers know one shape; what a revision wants is put around them here. */
export class McpRoutes {
  readonly #server: ServerInfo;

  constructor(server: ServerInfo) {
    this.#server = server;
  }

  serve<P>(
    asked: Method<P, JsonObject>,
    handle: (request: McpRequest<P>) => JsonObject | Promise<JsonObject>,
    options: ServeOptions = {},
  ): Route<Connection> {
    const { name, check } = asked;
    // Whether there is such a method comes before what is wrong with its parameters.
    return route<P, JsonObject, Connection>({ name }, (params, call) => {
      const isStranger = options.eras === "modern" && call.state.revision === undefined;
      const client = isStranger || claimsModern(params) ? modernClient(params) : call.state.client;
      if (options.eras !== undefined && (options.eras === "modern") !== isModern(client)) {
        const { code, message } = STANDARD.methodNotFound;
        throw new RpcError(code, message);
      }
      const problem = check?.(params);
      if (problem !== undefined) {
        throw RpcError.of(STANDARD.invalidParams, describeProblem("params", problem));
      }
      const shape = (body: JsonObject): JsonObject =>
        shapeResult(client, body, this.#server, options.caching);
      try {
        const body = handle({ client, params, call });
        if (!(body instanceof Promise)) return shape(body);
        // Before 2026-07-28 a body is the whole result.
        const isDone = options.mapsErrors === true && !isModern(client);
        return isDone ? body : body.then(shape, rethrow);
      } catch (error) {
        return rethrow(error);
      }
    });
  }
}

/** What the waist throws, as this protocol says it. */
export function rethrow(error: unknown): never {
  if (error instanceof CannotAsk) throw missingCapability(neededFor(error.question));
  if (error instanceof ToolFault) throw new RpcError(error.code, error.message, error.data);
  throw error;
}
