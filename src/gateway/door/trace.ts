import type { Log } from "../../base/log.ts";
import type { Trace } from "../../rpc/peer-options.ts";
import { RpcError } from "../../rpc/rpc-error.ts";

/** Writes every message of a connection to the log: what came, what it held, what went back. */
export function traceTo(log: Log): Trace {
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
