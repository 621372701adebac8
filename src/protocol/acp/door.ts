import { type LimitTable, limitsFor } from "../../base/limit/limits.ts";
import type { Principal } from "../../base/principal.ts";
import { RateLimiter } from "../../base/limit/rate-limiter.ts";
import { VERSION } from "../../base/version.ts";
import type { Call } from "../../rpc/call.ts";
import { STANDARD } from "../../rpc/codes.ts";
import type { Method } from "../../rpc/method.ts";
import type { PeerOptions } from "../../rpc/peer-options.ts";
import { type Route, route, type RouteLimits, type Routes, routes } from "../../rpc/route.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import type { Session } from "../../session/session.ts";
import { type SessionSetup, type Sessions, unknownSession } from "../../session/sessions.ts";
import type { AcpConnection } from "./connection.ts";
import { acpDialect } from "./dialect.ts";
import { METHODS } from "./methods.ts";
import type { NewSessionParams } from "./schema.gen.ts";
import { servePrompts } from "./serve-prompts.ts";
import { serveSessions, serveSettings } from "./serve-sessions.ts";
import { toWire } from "./session-errors.ts";

export interface AcpDoorOptions {
  /** Opened with the first session: an editor that only says hello does not wait for it. */
  readonly sessions: () => Promise<Sessions>;
  readonly limits?: LimitTable | undefined;
  /** Who works in new sessions, where the client does not say. */
  readonly agent?: string | undefined;
  readonly info?: { readonly name: string; readonly version: string };
  /** Where a session works, when that is not simply where the client says. */
  readonly setUpSession?: (
    params: NewSessionParams,
    principal: Principal,
  ) => Promise<SessionSetup | undefined>;
  /** The addresses of the repository that a folder is in, for clients that are limited to some. */
  readonly addressesOf?: (folder: string) => Promise<readonly string[]>;
}

interface ServeOptions {
  /** Its time is counted elsewhere. */
  readonly isPatient?: boolean;
  /** The method whose limits hold for it, too. */
  readonly limitedAs?: string;
  /** It answers itself when it is cancelled. */
  readonly answersCancelled?: boolean;
}

export type Handle<P> = (params: P, call: Call<AcpConnection>) => unknown;

/** The agent's side of ACP, for all connections. */
export class AcpDoor {
  readonly options: AcpDoorOptions;
  readonly info: { readonly name: string; readonly version: string };
  readonly #routes: Routes<AcpConnection>;
  #opened: Sessions | undefined;
  #opening: Promise<Sessions> | undefined;

  constructor(options: AcpDoorOptions) {
    this.options = options;
    this.info = options.info ?? { name: "trunkline", version: VERSION };
    this.#routes = routes(
      ...serveConnection(this),
      ...serveSessions(this),
      ...serveSettings(this),
      ...servePrompts(this),
    );
  }

  /** What a peer needs to speak for this door. */
  get peerOptions(): PeerOptions<AcpConnection> {
    const { rate } = limitsFor("error", this.options.limits);
    return {
      dialect: acpDialect,
      routes: this.#routes,
      ...(rate === undefined ? {} : { errorRate: rate }),
    };
  }

  sessions(): Promise<Sessions> {
    this.#opening ??= this.options.sessions().then(
      (sessions) => (this.#opened = sessions),
      (error: unknown) => {
        this.#opening = undefined;
        throw error;
      },
    );
    return this.#opening;
  }

  /** The sessions, if any was asked for. */
  get opened(): Sessions | undefined {
    return this.#opened;
  }

  /** A session that is open; at once, so that messages about it are handled in their order. */
  session(id: string, client: AcpConnection): Session | Promise<Session> {
    const session = this.#opened?.get(id);
    if (session !== undefined && client.mayUse(session.notes.owner)) return session;
    return this.about(id, client).then((sessions) => sessions.need(id));
  }

  /** The sessions, for a request about one of them. Those of others are not there for a client. */
  async about(id: string, client: AcpConnection): Promise<Sessions> {
    const sessions = await this.sessions();
    const { onlyOwner } = client;
    if (onlyOwner !== undefined && !(await sessions.isOf(id, onlyOwner))) throw unknownSession(id);
    return sessions;
  }

  /** The client is gone; its sessions go on. */
  leave(connection: AcpConnection): void {
    this.#opened?.forget(connection);
  }

  /** A route with the limits that hold for its method. */
  serve<P, R>(
    method: Method<P, R>,
    handle: Handle<P>,
    { isPatient = false, limitedAs = method.name, answersCancelled = false }: ServeOptions = {},
  ): Route<AcpConnection> {
    const guarded: Handle<P> = async (params, call) => {
      const { codec } = call.state;
      if (codec.lacks.has(method.name)) throw RpcError.of(STANDARD.methodNotFound);
      try {
        return codec.answer(method.name, await handle(params, call));
      } catch (error) {
        throw codec.failure(toWire(error), params);
      }
    };
    const limits = routeLimits(limitedAs, this.options.limits);
    const { timeout: _, ...untimed } = limits;
    const own = { ...(isPatient ? untimed : limits), answersCancelled };
    return route(method, guarded as Handle<unknown>, own);
  }
}

function routeLimits(name: string, table: LimitTable | undefined): RouteLimits {
  const { maxSize, timeout, rate } = limitsFor(name, table);
  return {
    ...(maxSize === undefined ? {} : { maxSize }),
    ...(timeout === undefined ? {} : { timeout }),
    ...(rate === undefined ? {} : { rate: new RateLimiter(rate), key: sessionOf }),
  };
}

function sessionOf(params: unknown): string | undefined {
  const { sessionId } = (params ?? {}) as { sessionId?: unknown };
  return typeof sessionId === "string" ? sessionId : undefined;
}

/** Getting to know each other. */
function serveConnection(door: AcpDoor): Route<AcpConnection>[] {
  const { maxSize, timeout } = door.serve(METHODS.initialize, () => {});
  return [
    // Not asynchronous: what is answered first is what an editor waits for when it starts.
    route(METHODS.initialize, (params, call) => call.state.introduce(params).hello(door.info), {
      ...(maxSize === undefined ? {} : { maxSize }),
      ...(timeout === undefined ? {} : { timeout }),
    }),
    door.serve(METHODS.authenticate, ({ methodId }) => {
      const why = `'params.methodId' is '${methodId}', but no authentication is asked for`;
      throw RpcError.of(STANDARD.invalidParams, why);
    }),
    door.serve(METHODS.logout, () => ({})),
  ];
}
