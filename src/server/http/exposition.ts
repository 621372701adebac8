/** Metrics in the text format of Prometheus, version 0.0.4. */

/** A metric with a value for each label. */
export function table(
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
export function gauge(name: string, help: string, value: number): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${name} ${value}\n`;
}
