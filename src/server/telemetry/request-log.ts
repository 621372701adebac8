import { Log } from "../../base/log.ts";
import { META } from "../../protocol/mcp/meta.ts";
import type { RequestEnd, RequestObserver } from "../../rpc/peer-options.ts";
import type { Observer } from "./observers.ts";

/** The door whose calls do not come as requests of a peer. */
const BUS = "bus";
const LONGEST = 200;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Logs one line for each request, without its parameters and its result, whatever the level of the log.
 */
export function requestLog(write: (fields: Fields) => void = toLog()) {
  /** The servers and plugins of the tools that were called, by the names that clients called. */
  const servers = new Map<string, string>();

  const calls: NonNullable<Observer["calls"]> = {
    ended: ({ name, tool, context }, { outcome, milliseconds }) => {
      const server = tool?.source?.server ?? tool?.bringer;
      const called = context.profile?.toolNames.shown(name) ?? name;
      if (server !== undefined) servers.set(called, server);
      if (context.caller.door !== BUS) return;
      line({
        door: BUS,
        client: context.caller.name,
        method: "toolCall",
        tool: name,
        server,
        milliseconds,
        outcome,
      });
    },
  };

  const requests = (door: string): RequestObserver => {
    return (request) => {
      const { method, params, state, milliseconds } = request;
      const tool = method === "tools/call" ? nameIn(params) : undefined;
      const server = tool === undefined ? undefined : servers.get(tool);
      const client = clientOf(params, state);
      line({ door, client, method, tool, server, milliseconds, outcome: outcomeOf(request) });
    };
  };

  function line(fields: Fields & { readonly milliseconds: number }): void {
    const { milliseconds, outcome, ...rest } = fields;
    const line: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(rest)) line[key] = shorten(value);
    write({ ...line, ms: Math.round(milliseconds * 1_000) / 1_000, outcome });
  }

  return { calls, requests };
}

function toLog(): (fields: Fields) => void {
  const log = new Log("info");
  return (fields) => log.info("request", fields);
}

/** How a request ended, in a word or the code of its error. */
export function outcomeOf({ error, result, isCancelled }: RequestEnd): string {
  if (isCancelled === true) return "cancelled";
  if (error !== undefined) return String(error);
  const isError = (result as { isError?: unknown } | null | undefined)?.isError === true;
  return isError ? "tool-error" : "ok";
}

/** The name that a client gave: with the request, or when it connected. */
function clientOf(params: unknown, state: unknown): string | undefined {
  const { _meta } = (params ?? {}) as { _meta?: Fields };
  const { name, client, principal } = (state ?? {}) as {
    name?: unknown;
    client?: { name?: unknown };
    principal?: { name?: unknown };
  };
  const told = (_meta?.[META.clientInfo] as { name?: unknown } | undefined)?.name;
  const found = principal?.name ?? told ?? name ?? client?.name;
  return typeof found === "string" ? found : undefined;
}

function nameIn(params: unknown): string | undefined {
  const { name } = (params ?? {}) as { name?: unknown };
  return typeof name === "string" ? name : undefined;
}

function shorten(value: unknown): unknown {
  return typeof value === "string" && value.length > LONGEST
    ? `${value.slice(0, LONGEST)}…`
    : value;
}
