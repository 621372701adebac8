// Compares Trunkline with the smallest program that does the same work, and with other implementations.
import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { anchors } from "./anchors.ts";
import { busBench, busPlugins } from "./bus.ts";
import { busRebind } from "./bus-rebind.ts";
import { busWholeWay } from "./bus-whole-way.ts";
import { coldList } from "./cold-list.ts";
import { coldRelay } from "./cold-relay.ts";
import { coldStart } from "./cold-start.ts";
import type { Bench, BenchOptions } from "./harness/bench.ts";
import { interleave } from "./harness/interleave.ts";
import { fillMeasured } from "./harness/measured-block.ts";
import { type Report, reportOf } from "./harness/report.ts";
import { renderReport } from "./harness/table.ts";
import { fleetConnection } from "./fleet-connection.ts";
import { fleetEvents } from "./fleet/events.ts";
import { fleetSessions } from "./fleet/sessions.ts";
import { identityBench } from "./identity.ts";
import { mcpGateways } from "./mcp-gateways.ts";
import { mcpHttp } from "./mcp-http.ts";
import { mcpRounds } from "./mcp-rounds.ts";
import { mcpStdio } from "./mcp-stdio.ts";
import { pluginMemory } from "./plugin-memory.ts";
import { programStart } from "./program-start.ts";
import { parseOptions } from "./options.ts";
import { runMessages } from "./remote-run/messages.ts";
import { runPush } from "./remote-run/push.ts";
import { runSetup, runSetupLarge, runStarts } from "./remote-run/setup.ts";
import { reviewNotice } from "./review-notice.ts";
import { reviewAdd } from "./reviews.ts";
import { sessionLogBench } from "./session-log.ts";
import { sessionsBench } from "./sessions.ts";
import { agentDeltas, agentFlood } from "./agent-streams.ts";
import { stdioEcho } from "./stdio-echo.ts";
import { userWaits } from "./user-waits.ts";
import { websocketEcho } from "./websocket-echo.ts";
import { websocketIdle } from "./websocket-idle.ts";

const BENCHES = [
  stdioEcho,
  mcpStdio,
  mcpRounds,
  mcpHttp,
  mcpGateways,
  coldStart,
  coldList,
  coldRelay,
  reviewAdd,
  userWaits,
  reviewNotice,
  anchors,
  sessionLogBench,
  sessionsBench,
  agentDeltas,
  agentFlood,
  websocketEcho,
  websocketIdle,
  busBench,
  busPlugins,
  busWholeWay,
  busRebind,
  pluginMemory,
  programStart,
  fleetConnection,
  fleetEvents,
  fleetSessions,
  identityBench,
  runSetup,
  runSetupLarge,
  runStarts,
  runPush,
  runMessages,
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
  const head = `Node ${node}, ${cores} cores, load ${load.toFixed(1)}; median (lowest–highest)`;
  console.log(head);
  if (load > cores / 2) console.log("The machine is busy with other work: take these as rough.");
  const reports: Report[] = [];
  let failures = 0;
  for (const bench of options.benches) {
    try {
      // Before it is measured, since that takes minutes.
      if (options.doc !== undefined)
        fillMeasured(readFileSync(options.doc, "utf8"), bench.name, "");
      const report = await runBench(bench, options);
      reports.push(report);
      const output = renderReport(report);
      console.log(`\n${output}`);
      if (options.doc !== undefined) quote(options.doc, bench.name, `${head}\n\n${output}`);
    } catch (error) {
      failures++;
      console.error(`\n${bench.name} failed:`, error);
    }
  }
  if (options.json !== undefined) {
    const { quick } = options;
    writeFileSync(options.json, `${JSON.stringify({ ...machine, quick, reports }, null, 2)}\n`);
  }
  return conclude(reports, failures, options);
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

function quote(file: string, bench: string, output: string): void {
  writeFileSync(file, fillMeasured(readFileSync(file, "utf8"), bench, output));
}

/** One line of progress, for a person who waits. */
function status(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

/** Prints the outcome in one line, and returns the exit code. */
function conclude(reports: readonly Report[], failures: number, options: BenchOptions): number {
  const missed = reports.flatMap(({ figures }) => figures.filter(({ isMet }) => !isMet)).length;
  const skipped = reports.flatMap(({ skipped }) => skipped).length;
  console.log(`\nTargets missed: ${missed}; failed: ${failures}; not measured: ${skipped}.`);
  return missed + failures > 0 || (skipped > 0 && !options.offline) ? 1 : 0;
}

process.exitCode = await main(process.argv.slice(2));
