import { setTimeout as delay } from "node:timers/promises";

import { TrunklineError } from "../../base/errors.ts";
import { type LimitTable, limitsFor } from "../../base/limit/limits.ts";
import type { Principal } from "../../base/principal.ts";
import { RateLimiter } from "../../base/limit/rate-limiter.ts";
import { VERSION } from "../../base/version.ts";
import type { Call } from "../../rpc/peer.ts";
import { STANDARD } from "../../rpc/codes.ts";
import type { Method } from "../../rpc/method.ts";
import type { PeerOptions } from "../../rpc/peer-options.ts";
import { type Route, route, type RouteLimits, type Routes, routes } from "../../rpc/route.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import {
  gatewayOf,
  holderOf,
  isSilent,
  readGatewayHolder,
  unknownSession,
} from "../../session/session-error.ts";
import type { Session } from "../../session/session.ts";
import type { SessionSetup } from "../../session/session-setup.ts";
import type { Sessions } from "../../session/sessions.ts";
import type { Hello } from "./codec.ts";
import type { AcpConnection } from "./connection.ts";
import { acpDialect } from "./dialect.ts";
import { CLIENT_METHODS, METHODS, ours } from "./methods.ts";
import type { Progress, HolderDialer, RelayObserver } from "./relay/session-links.ts";
import type { InitializeParams, NewSessionParams, OldSessionParams } from "./schema.gen.ts";
import { type KnownAgent, offerFor, serveLogin, withMethods } from "./serve-login.ts";
import { servePrompts } from "./serve-prompts.ts";
import { serveSessions, serveSettings } from "./serve-sessions.ts";
import { toWire } from "./session-errors.ts";

export interface AcpDoorOptions {
  /** Opens the store with the first session, so that `initialize` is answered without waiting. */
  readonly sessions: () => Promise<Sessions>;
  readonly limits?: LimitTable | undefined;
  /** The agent for new sessions, where the client does not name one. */
  readonly agent?: string | undefined;
  /** New sessions get a work tree of their own, where the client does not say otherwise. */
  readonly worktree?: boolean | undefined;
  /** The agent of that name, or the default one, as it was when it was last started. */
  readonly known?: ((name: string | undefined) => KnownAgent | undefined) | undefined;
  /** The command line of this program that an editor has, where its terminal runs on this machine. */
  readonly loginCommand?: readonly string[] | undefined;
  /** Sets a session up differently from what the client asks, for example as a remote run. */
  readonly setUpSession?: (
    params: NewSessionParams,
    principal: Principal,
  ) => Promise<SessionSetup | undefined>;
  /** Whether a process that has sessions open is known to be stopped. */
  readonly isStopped?: ((holder: string) => Promise<boolean>) | undefined;
  /** Reaches processes that have sessions open; without it, only sessions that are free can be opened. */
  readonly reach?: HolderDialer | undefined;
  /**
   * Finds the process in which the session of a request is opened, where that is not this one: it goes
   * on there when this one ends.
   */
  readonly home?: HomeOf | undefined;
  /** Milliseconds within which a session whose holder has ended must be open again somewhere. */
  readonly takeOverWithin?: number | undefined;
  /** Traces the prompts that are forwarded to other processes. */
  readonly relayed?: RelayObserver | undefined;
  /** Remote addresses of the repository that contains a folder, for clients limited to repositories. */
  readonly addressesOf?: (folder: string) => Promise<readonly string[]>;
}

export type HomeOf = (
  params: HomeParams,
  signal: AbortSignal,
  /** Called with its place in the queue if it has to wait for a process that has room. */
  queued: (place: number, why: string) => void,
) => Promise<string | undefined>;

/** The params of a request that opens a session, or begins one. */
export type HomeParams = NewSessionParams & { readonly sessionId?: string };

interface ServeOptions extends Pick<RouteLimits, "answersCancelled" | "isFree" | "uncounted"> {
  /** The route has no timeout; the session counts the time. */
  readonly isPatient?: boolean;
  /** The method whose limits apply. */
  readonly limitedAs?: string;
}

export type Handle<P> = (params: P, call: Call<AcpConnection>) => unknown;

/** The agent side of ACP, shared by all connections. */
export class AcpDoor {
  readonly options: AcpDoorOptions;
  readonly info = { name: "trunkline", version: VERSION };
  readonly #routes: Routes<AcpConnection>;
  /** The sessions, if they were opened. */
  opened: Sessions | undefined;
  #opening: Promise<Sessions> | undefined;

  constructor(options: AcpDoorOptions) {
    this.options = options;
    this.#routes = routes(
      ...serveConnection(this),
      ...serveLogin(this),
      ...serveSessions(this),
      ...serveSettings(this),
      ...servePrompts(this),
    );
  }

  /** Options for the peer of each connection. */
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
      (sessions) => (this.opened = sessions),
      (error: unknown) => {
        this.#opening = undefined;
        throw error;
      },
    );
    return this.#opening;
  }

  /** An open session. Synchronous where possible, so that messages are handled in order. */
  session(id: string, client: AcpConnection): Session | Promise<Session> {
    const session = this.opened?.get(id);
    if (session !== undefined && client.mayUse(session.notes.owner)) return session;
    return this.about(id, client).then((sessions) => sessions.need(id));
  }

  /** The sessions, for a request about one of them. Throws "not found" for a session of another owner. */
  async about(id: string, client: AcpConnection): Promise<Sessions> {
    const sessions = await this.sessions();
    const { onlyOwner } = client;
    if (onlyOwner !== undefined && !(await sessions.isOf(id, onlyOwner))) throw unknownSession(id);
    return sessions;
  }

  /** Detaches a client that has disconnected. Its sessions continue. */
  leave(connection: AcpConnection): void {
    this.opened?.forget(connection);
  }

  /** Answers a request here or, where another process has its session open, through that process. */
  async #atHolder<P>(
    call: Call<AcpConnection>,
    given: P,
    here: (params: P) => Promise<unknown>,
  ): Promise<unknown> {
    const { method, state: client } = call;
    const { takeOverWithin = NOTICED_WITHIN } = this.options;
    // Counts from the first holder that could not be reached, because opening may itself take long.
    let until = Infinity;
    const silent = new Set<string>();
    const deposeSilent = async (error: unknown, holder: string): Promise<void> => {
      until = Math.min(until, performance.now() + takeOverWithin);
      if (!isSilent(error) || silent.has(holder)) return;
      silent.add(holder);
      // A fork leaves the other session where it is.
      const id = method === METHODS.forkSession.name ? undefined : sessionOf(given);
      if (id !== undefined) await (await this.about(id, client)).depose(id, holder);
      until = performance.now() + takeOverWithin;
    };
    const progress: Progress = { shown: 0 };
    // Also where another process opens the session: this one shows its events to the client.
    if (OPENING.has(method)) client.countEvents((given as HomeParams)._meta);
    let home = await this.#homeOf(call, given);
    for (;;) {
      const params = continued(given, progress.shown);
      let failure: unknown;
      try {
        if (home !== undefined) return await this.#atHome(home, call, params, progress);
      } catch (error) {
        if (!isGone(error)) throw error;
        failure = error;
        await deposeSilent(error, home ?? "");
      }
      try {
        return await here(continued(given, progress.shown));
      } catch (error) {
        const holder = holderOf(error);
        const isLate = performance.now() > until;
        if (client.links === undefined || isLate) throw failure ?? error;
        if (holder === undefined) {
          // The process that was to begin the session has ended, and this one begins none.
          if (failure === undefined || !isNew(method) || !isGone(error)) throw error;
          home = await this.#homeOf(call, given);
        } else {
          home = undefined;
          try {
            const now = continued(given, progress.shown) as OldSessionParams;
            const { last } = (error instanceof Error && gatewayOf(error)) || {};
            // It was open here, and the client has seen all of it.
            if (last !== undefined && !OPENING.has(method) && !client.links.has(now.sessionId))
              await client.follow(now.sessionId, holder, last);
            return await client.links.request(holder, method, now, progress);
          } catch (lost) {
            // If the holder has ended, the session can be opened here once the system has noticed.
            if (!isGone(lost)) throw lost;
            if (readGatewayHolder(holder) !== undefined) throw error;
            await deposeSilent(lost, holder);
          }
        }
      }
      await delay(RETRY);
    }
  }

  /** The process in which the session of a request is opened, where that is not this one. */
  async #homeOf(call: Call<AcpConnection>, params: unknown): Promise<string | undefined> {
    const { method, state, signal } = call;
    if (!OPENING.has(method) || state.links === undefined) return undefined;
    if (this.opened?.get(sessionOf(params) ?? "") !== undefined) return undefined;
    return await this.options.home?.(params as HomeParams, signal, (place, why) => {
      const message = `The session waits for a free slot, as number ${place} in the queue: ${why}.`;
      call.notify(CLIENT_METHODS.queued, { place, message });
      call.progressed();
    });
  }

  async #atHome(
    home: string,
    { method, state: client }: Call<AcpConnection>,
    params: unknown,
    progress: Progress,
  ): Promise<unknown> {
    const agent = client.agent ?? this.options.agent;
    const full = withDefaults(params as NewSessionParams, {
      ...(client.providers.size === 0 ? {} : { providers: Object.fromEntries(client.providers) }),
      ...(agent === undefined ? {} : { agent }),
      ...(this.options.worktree === true && isNew(method) ? { worktree: true } : {}),
    });
    return await client.links?.request(home, method, full, progress);
  }

  /** A route with the limits that hold for its method. */
  serve<P, R>(
    method: Method<P, R>,
    handle: Handle<P>,
    { isPatient = false, limitedAs = method.name, ...more }: ServeOptions = {},
  ): Route<AcpConnection> {
    const guarded: Handle<P> = async (params, call) => {
      const { codec } = call.state;
      if (codec.lacks.has(method.name)) throw RpcError.of(STANDARD.methodNotFound);
      try {
        return await this.#atHolder(call, params, async (now) =>
          codec.answer(method.name, await handle(now, call)),
        );
      } catch (error) {
        throw codec.failure(toWire(withMethods(error, this, call.state)), params);
      }
    };
    const limits = routeLimits(limitedAs, this.options.limits);
    const { timeout: _, ...untimed } = limits;
    const own = { ...(isPatient ? untimed : limits), ...more };
    return route(method, guarded as Handle<unknown>, own);
  }
}

/** Methods after which a session is open. */
const OPENING: ReadonlySet<string> = new Set([
  METHODS.newSession.name,
  METHODS.createSession.name,
  METHODS.loadSession.name,
  METHODS.resumeSession.name,
  METHODS.forkSession.name,
]);

function isNew(method: string): boolean {
  return method === METHODS.newSession.name || method === METHODS.createSession.name;
}

/** Whether the process that was asked has ended. */
function isGone(error: unknown): boolean {
  return error instanceof TrunklineError && error.code === "unavailable";
}

/**
 * The same request, repeated after its holder has ended, with the number of the last event that the client
 * was shown.
 */
function continued<P>(params: P, shown: number): P {
  if (shown === 0) return params;
  const { _meta } = params as NewSessionParams;
  return { ...params, _meta: { ..._meta, trunkline: { ...ours(_meta), after: shown } } };
}

/** The same parameters, with the defaults for new sessions of this door. */
function withDefaults(params: NewSessionParams, defaults: object): NewSessionParams {
  if (Object.keys(defaults).length === 0) return params;
  const trunkline = { ...defaults, ...ours(params._meta) };
  return { ...params, _meta: { ...params._meta, trunkline } };
}

/** Milliseconds within which the system notices that a process has ended, and between two attempts. */
const NOTICED_WITHIN = 2_000;
const RETRY = 50;

function routeLimits(name: string, table: LimitTable | undefined): RouteLimits {
  const { maxSize, timeout, rate } = limitsFor(name, table);
  return { maxSize, timeout, ...(rate && { rate: new RateLimiter(rate), key: sessionOf }) };
}

function sessionOf(params: unknown): string | undefined {
  const { sessionId } = (params ?? {}) as { sessionId?: unknown };
  return typeof sessionId === "string" ? sessionId : undefined;
}

/** Routes of the connection itself. */
function serveConnection(door: AcpDoor): Route<AcpConnection>[] {
  const { maxSize, timeout } = door.serve(METHODS.initialize, () => {});
  const hello = (params: InitializeParams, client: AcpConnection): Hello =>
    client.introduce(params).hello(door.info, offerFor(door, client));
  return [
    // Answered synchronously: editors wait for it when they start.
    route(METHODS.initialize, (params, { state }) => hello(params, state), { maxSize, timeout }),
    route(METHODS.ping, () => ({})),
    route(METHODS.mcpMessage, (params, { state }) => state.serverSaid(params)),
  ];
}
