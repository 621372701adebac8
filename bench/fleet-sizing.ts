// Prints how many gateways, workers and NATS servers a number of sessions needs. What one event and one
// session cost is read from the result of `npm run bench -- --only fleet --json FILE`; how people work is
// assumed, and printed. The same file gives the same table.
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

import type { Report } from "./harness/report.ts";
import { type Costs, DAY, type Fleet, simulate } from "./harness/simulate.ts";

const SIZES = [100, 1_000, 10_000, 100_000];

const { values } = parseArgs({ options: { json: { type: "string" } } });
if (values.json === undefined) {
  console.error("Name the result of the bench: node bench/fleet-sizing.ts --json FILE");
  process.exit(2);
}
const costs = costsOf(JSON.parse(readFileSync(values.json, "utf8")) as { reports: Report[] });

console.log(`Assumed: ${assumptions()}`);
console.log(`Measured: ${JSON.stringify(costs)}\n`);
console.log(
  "| sessions open | turns at once | updates/s | gateways | workers | NATS cores | memory of all | NATS disk a day |",
);
console.log("|---|---|---|---|---|---|---|---|");
for (const sessions of SIZES) console.log(rowOf(sessions, simulate(sessions, costs)));

function rowOf(sessions: number, fleet: Fleet): string {
  const { turns, updates, gateways, workers, natsCores, memory, disk } = fleet;
  const cells = [sessions, turns, updates, gateways, workers].map((each) =>
    each.toLocaleString("en"),
  );
  const rest = [natsCores.toFixed(1), `${memory.toFixed(1)} GB`, `${disk.toFixed(1)} GB`];
  return `| ${[...cells, ...rest].join(" | ")} |`;
}

function assumptions(): string {
  const { busy, updatesEach, eventBytes, cores, machineMemory, load, hours, agentMemory } = DAY;
  return (
    `${busy * 100} % of the sessions have a turn at the busiest moment, each with ${updatesEach} updates/s of ` +
    `${eventBytes} bytes; ${hours} such hours a day; a machine has ${cores} cores and ${machineMemory} GB, of which ${load * 100} % ` +
    `are used; an agent takes ${agentMemory} MB while its turn runs`
  );
}

/** Medians of the bench. */
function costsOf({ reports }: { readonly reports: readonly Report[] }): Costs {
  const value = (bench: string, variant: string, key: string): number => {
    const report = reports.find((each) => each.bench === bench);
    const found = report?.variants.find((each) => each.name === variant)?.quantities[key]?.median;
    if (found === undefined)
      throw new Error(`The result has no '${key}' of '${variant}' in ${bench}.`);
    return found;
  };
  const whole = (key: string): number => value("fleet-sessions", "gateway, 1 worker", key);
  return {
    worker: whole("worker"),
    gateway: whole("cpu") - whole("worker"),
    nats: whole("nats"),
    memory: whole("memory"),
  };
}
