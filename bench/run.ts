// Compares Trunkline with the smallest program that does the same work, and with other implementations.
import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { acpUpdates } from "./acp-updates.ts";
import { anchors } from "./anchors.ts";
import { authorship } from "./authorship.ts";
import { authorshipCost } from "./authorship-cost.ts";
import { bus } from "./bus.ts";
import { coldStart } from "./cold-start.ts";
import { dashboard } from "./dashboard.ts";
import { fleetSessions } from "./fleet-sessions.ts";
import type { Bench, BenchOptions } from "./harness/bench.ts";
import { interleave } from "./harness/interleave.ts";
import { fillMeasured, limitsTable } from "./harness/limits-table.ts";
import { type Report, reportOf } from "./harness/report.ts";
import { renderReport } from "./harness/table.ts";
import { idleMemory } from "./idle-memory.ts";
import { manyServersCalled, manyServersListed } from "./many-servers.ts";
import { mcpHttp } from "./mcp-http.ts";
import { mcpStdio } from "./mcp-stdio.ts";
import { parseOptions } from "./options.ts";
import { largeRuns, remoteRun } from "./remote-run.ts";
import { renames } from "./renames.ts";
import { userWaits } from "./user-waits.ts";

const BENCHES = [
  coldStart,
  mcpStdio,
  mcpHttp,
  manyServersCalled,
  manyServersListed,
  acpUpdates,
  bus,
  userWaits,
  dashboard,
  anchors,
  renames,
  authorship,
  authorshipCost,
  idleMemory,
  remoteRun,
  largeRuns,
  fleetSessions,
];

async function main(args: string[]): Promise<number> {
  const options = parseOptions(args, BENCHES);
  if ("says" in options) {
    process[options.exitCode === 0 ? "stdout" : "stderr"].write(options.says);
    return options.exitCode;
  }
  if (process.platform !== "linux") {
    console.error("Cannot measure here: the CPU time of a process is read from Linux's /proc.");
    return 1;
  }
  const machine = { node: process.version, cores: availableParallelism(), load: loadavg()[0] ?? 0 };
  const { node, cores, load } = machine;
  const head = `Node ${node}, ${cores} cores, load ${load.toFixed(1)}`;
  console.log(`${head}; median (lowest–highest)`);
  if (load > cores / 2) console.log("The machine is busy with other work: take these as rough.");
  // Read before anything is measured, since that takes minutes.
  if (options.doc !== undefined) fillMeasured(readFileSync(options.doc, "utf8"), "");
  const reports: Report[] = [];
  let failures = 0;
  for (const bench of options.benches) {
    try {
      const report = await runBench(bench, options);
      reports.push(report);
      console.log(`\n${renderReport(report)}`);
    } catch (error) {
      failures++;
      console.error(`\n${bench.name} failed:`, error);
    }
  }
  const limits = limitsTable(reports);
  console.log(`\n${limits}`);
  if (options.doc !== undefined) {
    const measured = `${today()}, ${head}\n\n${limits}`;
    writeFileSync(options.doc, fillMeasured(readFileSync(options.doc, "utf8"), measured));
  }
  if (options.json !== undefined) {
    const { quick } = options;
    writeFileSync(options.json, `${JSON.stringify({ ...machine, quick, reports }, null, 2)}\n`);
  }
  return conclude(reports, failures);
}

async function runBench(bench: Bench, options: BenchOptions): Promise<Report> {
  const plan = await bench.plan(options);
  try {
    const samples = await interleave(plan.variants, plan.rounds, (round, { name }) => {
      status(`${bench.name} ${round + 1}/${plan.rounds} ${name}`);
    });
    status("");
    return reportOf(bench.name, plan, samples);
  } finally {
    await plan.end?.();
  }
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}

/** One line of progress, for a person who waits. */
function status(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

/** Prints the outcome in one line, and returns the exit code. */
function conclude(reports: readonly Report[], failures: number): number {
  const missed = reports.flatMap(({ figures }) => figures.filter(({ isMet }) => !isMet)).length;
  const skipped = reports.flatMap(({ skipped }) => skipped).length;
  console.log(`\nTargets missed: ${missed}; failed: ${failures}; not measured: ${skipped}.`);
  return missed + failures > 0 ? 1 : 0;
}

process.exitCode = await main(process.argv.slice(2));
