import { BUFFERS } from "../base/limit/byte-budget.ts";
import { limitsFor } from "../base/limit/limits.ts";
import { Log } from "../base/log.ts";
import type { IdentityCommands } from "../identity/identity-commands.ts";
import type { Config } from "./config.ts";
import type { ReloadSource } from "./follow-config.ts";
import type { PeerOptions, Trace } from "../rpc/peer-options.ts";
import { RpcError } from "../rpc/rpc-error.ts";
import type { Observers } from "../server/telemetry/observers.ts";

/** The running program as the doors see it: its configuration and its log. */
export class AppContext {
  readonly config: Config;
  readonly log: Log;
  /** How to read the configuration again when its files change; undefined if it has no files. */
  readonly reloading: ReloadSource | undefined;
  /** Traces, metrics and the request log; undefined if the configuration asks for none. */
  observers: Observers | undefined;
  /** By the ids of people: their last tokens from the gateway's authorization servers. In memory only. */
  readonly subjectTokens = new Map<string, { readonly token: string; readonly until: number }>();

  constructor(config: Config, reloading?: ReloadSource) {
    this.config = config;
    this.reloading = reloading;
    const { maxBuffered, maxMessage } = config.limits;
    BUFFERS.limit = Math.max(maxBuffered, 2 * maxMessage);
    this.log = new Log(config.log.verbose ? "debug" : config.log.level);
  }

  /** The timeout of `roots/list` in milliseconds, if it is configured. */
  get rootsTimeout(): number | undefined {
    return limitsFor("roots/list", this.config.limits.messages).timeout;
  }

  /** The identities in the current configuration of a folder. */
  async identities(folder: string, env: NodeJS.ProcessEnv): Promise<IdentityCommands> {
    const { currentIdentities } = await import("../identity/open/open-identities.ts");
    return currentIdentities(this, folder, env);
  }

  /** Writes to the log, for parts that only take a callback. */
  readonly report = (event: string, fields: Record<string, unknown>): void => {
    this.log.warn(event, fields);
  };

  /** A door's options, with the program's limits and its log. */
  withLimits<S>(door: PeerOptions<S>): PeerOptions<S> {
    const log = this.log.with({ door: door.dialect.name });
    return {
      ...door,
      limits: this.config.limits,
      report: (event, fields) => log.warn(event, fields),
      // Logging a message costs more than handling it.
      observer: this.observers?.requests(door.dialect.name),
      ...(this.config.log.verbose ? { trace: traceTo(log) } : {}),
    };
  }
}

/** Logs every message of a connection. */
function traceTo(log: Log): Trace {
  return {
    received: (message) => log.debug("rpc.received", describe(message)),
    sent: (text, session) => log.debug("rpc.sent", describe(JSON.parse(text), session)),
  };
}

function describe(message: unknown, known?: unknown): Record<string, unknown> {
  if (message instanceof RpcError) return { unreadable: message.message };
  if (Array.isArray(message)) return { batch: message.map((one) => describe(one)) };
  if (typeof message !== "object" || message === null) return { message };
  const { id, method, params, result, error } = message as Record<string, unknown>;
  const session = sessionOf(params) ?? sessionOf(result) ?? known;
  return { id, method, session, params, result, error };
}

function sessionOf(value: unknown): unknown {
  return typeof value === "object" && value !== null && "sessionId" in value
    ? value.sessionId
    : undefined;
}
