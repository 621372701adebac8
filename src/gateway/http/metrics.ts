/** Counters and gauges, in the text format of Prometheus. */
export class Metrics {
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
  render(): string {
    const { user, system } = process.cpuUsage();
    let text = gauge("trunkline_uptime_seconds", "Time since start.", this.uptimeSeconds);
    text += gauge("trunkline_memory_bytes", "Resident memory.", process.memoryUsage.rss());
    text += gauge("trunkline_cpu_seconds", "Processor time used.", (user + system) / 1e6);
    for (const [name, { help, type }] of this.#about) {
      text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
      for (const [labels, value] of this.#series.get(name) ?? []) {
        text += `${name}{${labels}} ${value}\n`;
      }
    }
    return text;
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

function gauge(name: string, help: string, value: number): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${name} ${value}\n`;
}
