import type { SpanAttributes } from "../../base/trace.ts";
import { BOUNDS, type Series, WorkMetrics } from "../http/metrics.ts";
import type { DurationSeries, DurationSnapshot } from "./otlp-json.ts";

/** How long operations take, with the names of OpenTelemetry's conventions for MCP. */
export class OperationMetrics extends WorkMetrics {
  readonly #start = Date.now();

  /** As it is now; undefined as long as nothing was observed. */
  snapshot(): DurationSnapshot | undefined {
    const operations = [
      ...this.requestTimes.series.flatMap((each) => {
        const [door, method = "", outcome] = each.values;
        // Calls have more to say.
        if (door !== "mcp" || method === "tools/call") return [];
        const named = method === "unknown" ? "_OTHER" : method;
        const error = outcome === "ok" ? undefined : outcome;
        return seriesOf(each, { "mcp.method.name": named, "error.type": error });
      }),
      ...this.callTimes.series.flatMap((each) => {
        const [tool, server, plugin, outcome, door] = each.values;
        if (door !== "mcp") return [];
        const known = tool === "unknown" ? {} : { "gen_ai.tool.name": tool };
        return seriesOf(each, {
          "mcp.method.name": "tools/call",
          "gen_ai.operation.name": "execute_tool",
          ...known,
          "error.type": errorOf(outcome),
          "trunkline.server": server || undefined,
          "trunkline.plugin": plugin || undefined,
        });
      }),
    ];
    const turns = this.turnTimes.series.flatMap((each) => {
      const [agent, outcome] = each.values;
      return seriesOf(each, { "gen_ai.agent.name": agent, "trunkline.stop_reason": outcome });
    });
    const all = [
      ["mcp.server.operation.duration", "Requests of MCP clients.", operations],
      ["trunkline.turn.duration", "Turns of sessions, by the agent that worked.", turns],
    ] as const;
    const metrics = all.flatMap(([name, description, series]) => {
      return series.length === 0 ? [] : [{ name, description, series }];
    });
    if (metrics.length === 0) return undefined;
    return { start: this.#start, time: Date.now(), bounds: BOUNDS, metrics };
  }
}

function seriesOf({ counts, sum }: Series, attributes: SpanAttributes): DurationSeries {
  return { attributes, counts: [...counts], sum };
}

/** One of a few names, so that errors can be grouped. */
export function errorOf(outcome: string | undefined): string | undefined {
  if (outcome === "ok") return undefined;
  return outcome === "error" ? "tool_error" : outcome;
}
