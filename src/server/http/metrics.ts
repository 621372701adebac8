import type { RequestObserver } from "../../rpc/peer-options.ts";
import { STANDARD } from "../../rpc/codes.ts";
import type { Observer } from "../telemetry/observers.ts";

/** The fleet in figures. */
export interface FleetCounts {
  /** Whether there is a connection to NATS. */
  readonly isConnected: boolean;
  readonly nodes: { readonly gateway: number; readonly worker: number };
  /** Slots of workers. One that drains has no free ones. */
  readonly slots: { readonly used: number; readonly free: number };
  /** Requests that wait for a slot. */
  readonly waiting: number;
  /** Sessions that moved to another node since this gateway started. */
  readonly moves: number;
  /** Sessions that workers have open. */
  readonly sessions: { readonly running: number; readonly idle: number };
}

/** Values that are counted elsewhere, read at the time of the answer. */
export interface Gauges {
  /** Sessions that are open in this process, or in the workers of its fleet. */
  readonly sessions: { readonly running: number; readonly idle: number };
  /** Undefined for a gateway that belongs to no fleet. */
  readonly fleet?: FleetCounts | undefined;
  /** Undefined where nothing is sent to a collector. */
  readonly spans: { readonly exported: number; readonly dropped: number } | undefined;
}

/** Counters, gauges and histograms, in the text format of Prometheus. */
export class Metrics {
  /** Observes the work of the gateway. */
  readonly work = workMetrics();
  /** Counts by their labels. */
  readonly #requests = new Map<string, number>();
  readonly #connections = new Map<string, number>();
  readonly #open = new Map<string, number>();
  readonly #started = performance.now();

  httpRequest(route: string, status: number): void {
    add(this.#requests, `route="${route}",status="${status}"`, 1);
  }

  connection(door: string, change: "opened" | "closed"): void {
    if (change === "opened") add(this.#connections, `door="${door}"`, 1);
    add(this.#open, `door="${door}"`, change === "opened" ? 1 : -1);
  }

  get uptimeSeconds(): number {
    return Math.round((performance.now() - this.#started) / 1000);
  }

  /** The exposition text, version 0.0.4. */
  render({ sessions, spans, fleet }: Gauges): string {
    const { user, system } = process.cpuUsage();
    let text = gauge("trunkline_uptime_seconds", "Time since start.", this.uptimeSeconds);
    text += gauge("trunkline_memory_bytes", "Resident memory.", process.memoryUsage.rss());
    text += gauge("trunkline_cpu_seconds", "Processor time used.", (user + system) / 1e6);
    text += table("trunkline_sessions", "gauge", "Open sessions.", "state", sessions);
    if (fleet !== undefined) text += renderFleet(fleet);
    if (spans !== undefined) {
      const help = "Spans that the collector took, and those that it never got.";
      text += table("trunkline_telemetry_spans_total", "counter", help, "outcome", spans);
    }
    const [requests, connections] = ["HTTP requests answered.", "Conversations begun."];
    text += series("trunkline_http_requests_total", "counter", requests, this.#requests);
    text += series("trunkline_connections_total", "counter", connections, this.#connections);
    text += series("trunkline_connections_open", "gauge", "Open connections.", this.#open);
    return text + this.work.render();
  }
}

function add(counts: Map<string, number>, labels: string, amount: number): void {
  counts.set(labels, (counts.get(labels) ?? 0) + amount);
}

/** Upper bounds in seconds: from a tool of our own to the turn of an agent. */
const BOUNDS: readonly number[] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300];

/** The most series of a histogram: names that others choose must not fill the memory. */
const MOST_SERIES = 500;
const LONGEST_VALUE = 100;

/** The value of all labels of what is observed beyond that limit. */
const OTHER = "other";

export interface Series {
  /** The labels as text, without braces. */
  readonly labels: string;
  readonly values: readonly string[];
  /** Counts by bound, not cumulative; the last one is for values above all bounds. */
  readonly counts: Float64Array;
  sum: number;
}

/** Durations by label, in the text format of Prometheus. */
export function histogram(name: string, help: string, labels: readonly string[], bounds = BOUNDS) {
  const known = new Map<string, Series>();

  function observe(milliseconds: number, ...values: readonly string[]): void {
    const seconds = milliseconds / 1_000;
    const found = find(values);
    let at = 0;
    while (at < bounds.length && seconds > (bounds[at] ?? 0)) at++;
    found.counts[at] = (found.counts[at] ?? 0) + 1;
    found.sum += seconds;
  }

  function render(): string {
    let text = `# HELP ${name} ${help}\n# TYPE ${name} histogram\n`;
    for (const { labels: texts, counts, sum } of known.values()) {
      let total = 0;
      for (const [at, count] of counts.entries()) {
        total += count;
        text += `${name}_bucket{${texts},le="${bounds[at] ?? "+Inf"}"} ${total}\n`;
      }
      text += `${name}_sum{${texts}} ${sum}\n${name}_count{${texts}} ${total}\n`;
    }
    return text;
  }

  function find(values: readonly string[]): Series {
    const own = known.get(values.join(BETWEEN));
    if (own !== undefined) return own;
    // The values are shortened, because a key is kept for good; two series may not have the same labels.
    const shown = values.map((value) => value.slice(0, LONGEST_VALUE).toWellFormed());
    const same = known.get(shown.join(BETWEEN));
    if (same !== undefined) return same;
    if (known.size < MOST_SERIES) return make(shown);
    const others = values.map(() => OTHER);
    return known.get(others.join(BETWEEN)) ?? make(others);
  }

  function make(values: readonly string[]): Series {
    const texts = labels.map((label, at) => `${label}="${escapeLabel(values[at] ?? "")}"`);
    const counts = new Float64Array(bounds.length + 1);
    const series = { labels: texts.join(","), values, counts, sum: 0 };
    known.set(values.join(BETWEEN), series);
    return series;
  }

  return { observe, render, series: () => [...known.values()] as readonly Series[] };
}

/** Stands between the values of a series in its key. */
const BETWEEN = "\0";

/** Prometheus, Exposition formats § Comments, help text, and type information. */
function escapeLabel(value: string): string {
  return value.replace(/[\\"]/g, String.raw`\$&`).replaceAll("\n", String.raw`\n`);
}

/**
 * How long the work of a gateway takes, by tool, server, plugin, door and agent. Ids of sessions and
 * names that clients make up are no labels: there would be no end of series.
 */
export function workMetrics(bounds = BOUNDS) {
  const callTimes = histogram(
    "trunkline_tool_call_duration_seconds",
    "Calls of tools, by the tool and the server or plugin that has it.",
    ["tool", "server", "plugin", "outcome", "door"],
    bounds,
  );
  const requestTimes = histogram(
    "trunkline_request_duration_seconds",
    "Requests of clients, by door.",
    ["door", "method", "outcome"],
    bounds,
  );
  const turnTimes = histogram(
    "trunkline_turn_duration_seconds",
    "Turns of sessions, by the agent that worked.",
    ["agent", "outcome"],
    bounds,
  );

  const calls: NonNullable<Observer["calls"]> = {
    ended: ({ name, tool, context }, { outcome, milliseconds }) => {
      const { source, bringer = "" } = tool ?? {};
      const known = tool === undefined ? "unknown" : name;
      const labels = [known, source?.server ?? "", bringer, outcome, context.caller.door];
      callTimes.observe(milliseconds, ...labels);
    },
  };

  const turns: NonNullable<Observer["turns"]> = {
    begun: ({ agent }) => {
      const started = performance.now();
      return {
        ended: (stopReason) => turnTimes.observe(performance.now() - started, agent, stopReason),
      };
    },
  };

  const requests = (door: string): RequestObserver => {
    return ({ method, milliseconds, error, isCancelled }) => {
      const known = error === STANDARD.methodNotFound.code ? "unknown" : method;
      const outcome = error !== undefined ? "error" : isCancelled === true ? "cancelled" : "ok";
      requestTimes.observe(milliseconds, door, known, outcome);
    };
  };

  return {
    ...{ callTimes, requestTimes, turnTimes, calls, turns, requests },
    render: () => callTimes.render() + requestTimes.render() + turnTimes.render(),
  };
}

function renderFleet({ isConnected, nodes, slots, waiting, moves }: FleetCounts): string {
  return (
    gauge("trunkline_fleet_connected", "Whether NATS is connected.", Number(isConnected)) +
    table("trunkline_fleet_nodes", "gauge", "Nodes that are alive.", "role", nodes) +
    table("trunkline_fleet_slots", "gauge", "Slots of the workers.", "state", slots) +
    gauge("trunkline_fleet_waiting", "Requests that wait for a slot.", waiting) +
    "# HELP trunkline_fleet_moves_total Sessions that moved to another node.\n" +
    `# TYPE trunkline_fleet_moves_total counter\ntrunkline_fleet_moves_total ${moves}\n`
  );
}

/** A metric with a value for each label. */
function table(
  name: string,
  type: "counter" | "gauge",
  help: string,
  label: string,
  values: Readonly<Record<string, number>>,
): string {
  const labelled = Object.entries(values).map(([key, value]) => {
    return [`${label}="${key}"`, value] as const;
  });
  return series(name, type, help, labelled);
}

/** A metric with a value for each text of labels. */
function series(
  name: string,
  type: "counter" | "gauge",
  help: string,
  values: Iterable<readonly [labels: string, value: number]>,
): string {
  const samples = Array.from(values, ([labels, value]) => `${name}{${labels}} ${value}\n`);
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${samples.join("")}`;
}

/** A metric with one value. */
function gauge(name: string, help: string, value: number): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${name} ${value}\n`;
}
