import type { RequestObserver } from "../../rpc/peer-options.ts";
import { STANDARD } from "../../rpc/codes.ts";
import { Histogram } from "./histogram.ts";
import type { Observer } from "../telemetry/observers.ts";

/**
 * How long the work of a gateway takes, by tool, server, plugin, door and agent. Ids of sessions and
 * names that clients make up are no labels: there would be no end of series.
 */
export class WorkMetrics implements Observer {
  readonly #calls = new Histogram(
    "trunkline_tool_call_duration_seconds",
    "Calls of tools, by the tool and the server or plugin that has it.",
    ["tool", "server", "plugin", "outcome"],
  );
  readonly #requests = new Histogram(
    "trunkline_request_duration_seconds",
    "Requests of clients, by door.",
    ["door", "method", "outcome"],
  );
  readonly #turns = new Histogram(
    "trunkline_turn_duration_seconds",
    "Turns of sessions, by the agent that worked.",
    ["agent", "outcome"],
  );

  readonly calls: NonNullable<Observer["calls"]> = {
    ended: ({ name, tool }, { outcome, milliseconds }) => {
      const { source, bringer = "" } = tool ?? {};
      const known = tool === undefined ? "unknown" : name;
      this.#calls.observe(milliseconds, known, source?.server ?? "", bringer, outcome);
    },
  };

  readonly turns: NonNullable<Observer["turns"]> = {
    begun: ({ agent }) => {
      const started = performance.now();
      return {
        ended: (stopReason) => this.#turns.observe(performance.now() - started, agent, stopReason),
      };
    },
  };

  readonly requests = (door: string): RequestObserver => ({
    begun: (method) => {
      const started = performance.now();
      return ({ error, isCancelled }) => {
        const known = error === STANDARD.methodNotFound.code ? "unknown" : method;
        const outcome = error !== undefined ? "error" : isCancelled === true ? "cancelled" : "ok";
        this.#requests.observe(performance.now() - started, door, known, outcome);
      };
    },
  });

  render(): string {
    return this.#calls.render() + this.#requests.render() + this.#turns.render();
  }
}
