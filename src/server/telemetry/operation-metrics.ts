import type { SpanAttributes } from "../../base/trace.ts";
import type { EndedRequest } from "../../rpc/peer-options.ts";
import { STANDARD } from "../../rpc/codes.ts";
import type { Observer } from "./observers.ts";
import type { DurationSeries, DurationSnapshot } from "./otlp-json.ts";

/** Upper bounds in seconds (OpenTelemetry's conventions for MCP § Metrics). */
const BOUNDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300] as const;

/** The most series of a metric: names that others choose must not fill the memory. */
const MOST_SERIES = 500;
const LONGEST = 100;
/** OpenTelemetry, Metrics SDK § Cardinality limits. */
const OVERFLOW: SpanAttributes = { "otel.metric.overflow": true };

interface GrowingSeries extends DurationSeries {
  readonly counts: number[];
  sum: number;
  min: number;
  max: number;
}

const OPERATION = "mcp.server.operation.duration";
const TURN = "trunkline.turn.duration";

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  [OPERATION]: "How long requests of MCP clients took.",
  [TURN]: "How long turns of sessions took, by the agent that worked.",
};

/** How long operations take, with the names of OpenTelemetry's conventions for MCP. */
export class OperationMetrics implements Observer {
  readonly #start = Date.now();
  readonly #metrics = new Map<string, Map<string, GrowingSeries>>();
  /** The tools that there are, by the names that clients call them: any other name could be anything. */
  readonly #tools = new Set<string>();

  readonly calls: NonNullable<Observer["calls"]> = {
    ended: ({ name, tool, context }) => {
      if (tool !== undefined) this.#tools.add(context.profile?.toolNames.shown(name) ?? name);
    },
  };

  readonly requests: NonNullable<Observer["requests"]> = (door) => {
    return (request) => {
      if (door !== "mcp") return;
      const { method, params, milliseconds, error } = request;
      const { name } = (params ?? {}) as { name?: unknown };
      const isCall = method === "tools/call";
      const isKnown = isCall && typeof name === "string" && this.#tools.has(name);
      this.#observe(OPERATION, milliseconds, {
        "mcp.method.name": error === STANDARD.methodNotFound.code ? "_OTHER" : method,
        "gen_ai.operation.name": isCall ? "execute_tool" : undefined,
        "gen_ai.tool.name": isKnown ? name : undefined,
        "error.type": errorOf(request),
        "rpc.response.status_code": error === undefined ? undefined : String(error),
      });
    };
  };

  readonly turns: NonNullable<Observer["turns"]> = {
    begun: ({ agent }) => {
      const started = performance.now();
      return {
        ended: (stopReason) => {
          const attributes = { "gen_ai.agent.name": agent, "trunkline.stop_reason": stopReason };
          this.#observe(TURN, performance.now() - started, attributes);
        },
      };
    },
  };

  /** Undefined as long as nothing was observed. */
  snapshot(): DurationSnapshot | undefined {
    if (this.#metrics.size === 0) return undefined;
    const metrics = Array.from(this.#metrics, ([name, series]) => {
      const all = Array.from(series.values(), (each) => ({ ...each, counts: [...each.counts] }));
      return { name, description: DESCRIPTIONS[name] ?? "", series: all };
    });
    return { start: this.#start, time: Date.now(), bounds: BOUNDS, metrics };
  }

  #observe(metric: string, milliseconds: number, attributes: SpanAttributes): void {
    const seconds = milliseconds / 1_000;
    const series = this.#find(metric, attributes);
    const { counts } = series;
    const at = BOUNDS.findIndex((bound) => seconds <= bound);
    const bucket = at === -1 ? BOUNDS.length : at;
    counts[bucket] = (counts[bucket] ?? 0) + 1;
    series.sum += seconds;
    series.min = Math.min(series.min, seconds);
    series.max = Math.max(series.max, seconds);
  }

  #find(metric: string, given: SpanAttributes): GrowingSeries {
    const all = this.#metrics.getOrInsertComputed(metric, () => new Map<string, GrowingSeries>());
    const short = Object.entries(given).map(([key, value]) => {
      return [
        key,
        typeof value === "string" ? value.slice(0, LONGEST).toWellFormed() : value,
      ] as const;
    });
    const key = JSON.stringify(short);
    const isFull = all.size >= MOST_SERIES && !all.has(key);
    return all.getOrInsertComputed(isFull ? "" : key, () => ({
      attributes: isFull ? OVERFLOW : Object.fromEntries(short),
      counts: Array.from({ length: BOUNDS.length + 1 }, () => 0),
      sum: 0,
      min: Infinity,
      max: 0,
    }));
  }
}

function errorOf({ error, isCancelled, result }: EndedRequest): string | undefined {
  if (isCancelled === true) return "cancelled";
  if (error !== undefined) return String(error);
  const isError = (result as { isError?: unknown } | null | undefined)?.isError === true;
  return isError ? "tool_error" : undefined;
}
