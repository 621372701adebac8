import { WorkMetrics } from "./work-metrics.ts";

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

/** What is counted elsewhere, at the time of the answer. */
export interface Counted {
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
  readonly work = new WorkMetrics();
  readonly #series = new Map<string, Map<string, number>>();
  readonly #about = new Map<string, { help: string; type: "counter" | "gauge" }>();
  readonly #started = performance.now();

  constructor() {
    this.#declare("trunkline_http_requests_total", "counter", "HTTP requests answered.");
    this.#declare("trunkline_connections_total", "counter", "Conversations begun.");
    this.#declare("trunkline_connections_open", "gauge", "Open connections.");
  }

  httpRequest(route: string, status: number): void {
    this.#add("trunkline_http_requests_total", `route="${route}",status="${status}"`, 1);
  }

  connectionOpened(door: string): void {
    this.#add("trunkline_connections_total", `door="${door}"`, 1);
    this.#add("trunkline_connections_open", `door="${door}"`, 1);
  }

  connectionClosed(door: string): void {
    this.#add("trunkline_connections_open", `door="${door}"`, -1);
  }

  get uptimeSeconds(): number {
    return Math.round((performance.now() - this.#started) / 1000);
  }

  /** The exposition text, version 0.0.4. */
  render({ sessions, spans, fleet }: Counted): string {
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
    for (const [name, { help, type }] of this.#about) {
      text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
      for (const [labels, value] of this.#series.get(name) ?? []) {
        text += `${name}{${labels}} ${value}\n`;
      }
    }
    return text + this.work.render();
  }

  #declare(name: string, type: "counter" | "gauge", help: string): void {
    this.#about.set(name, { help, type });
    this.#series.set(name, new Map());
  }

  #add(name: string, labels: string, amount: number): void {
    const series = this.#series.get(name);
    series?.set(labels, (series.get(labels) ?? 0) + amount);
  }
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
  const samples = Object.entries(values).map(([key, value]) => {
    return `${name}{${label}="${key}"} ${value}\n`;
  });
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${samples.join("")}`;
}

/** A metric with one value. */
function gauge(name: string, help: string, value: number): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${name} ${value}\n`;
}
