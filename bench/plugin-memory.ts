import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { Bench, Sample } from "./harness/bench.ts";
import { proportionalSizeOfTrees } from "./harness/process-tree.ts";
import { Program, ROOT } from "./harness/program.ts";

const SHARED = "in a process that they share";
const OWN = "in a process for each";
const QUIC = "in a process for each, QUIC";
const COUNT = 10;
/** Milliseconds for all plugins to start on a busy machine. */
const START = 120_000;
/** Milliseconds in which V8 gives memory of the start back. */
const REST = 3_000;

/** What a plugin takes that is a module: in a worker of the shared process, or in a process of its own. */
export const pluginMemory: Bench = {
  name: "plugin-memory",
  plan: async ({ quick }) => ({
    describe: `${COUNT} plugins that are up, what an orchestrator without plugins takes subtracted; proportional set size`,
    rounds: quick ? 1 : 5,
    quantities: [{ key: "each", label: "memory of one", unit: "MB", digits: 1 }],
    variants: [
      { name: SHARED, measure: () => measureMemory("shared", "") },
      { name: OWN, measure: () => measureMemory("own", "") },
      { name: QUIC, measure: () => measureMemory("own", "quic://") },
    ],
    comparisons: [
      { quantity: "each", of: SHARED, against: OWN },
      { quantity: "each", of: SHARED, against: QUIC },
    ],
  }),
};

/** It says that it is up by a file. */
const PLUGIN = `
import { writeFileSync } from "node:fs";
import { definePlugin } from ${JSON.stringify(pathToFileURL(join(ROOT, "dist/plugin.mjs")).href)};
const { ID, UP } = process.env;
definePlugin({
  id: ID,
  version: "1.0.0",
  boot: () => writeFileSync(UP + "/" + ID, ""),
  tools: { ["echo_" + ID]: { description: "Returns its text", call: ({ text }) => text } },
});
`;

type Place = "shared" | "own";

async function measureMemory(place: Place, scheme: string): Promise<Sample> {
  const none = await sizeWith(0, place, scheme);
  const all = await sizeWith(COUNT, place, scheme);
  return { each: (all - none) / 1024 / COUNT };
}

/** Kilobytes of an orchestrator with so many plugins, all processes counted. */
async function sizeWith(count: number, place: Place, scheme: string): Promise<number> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-bench-"));
  await using up = await mkdtempDisposable(join(tmpdir(), "trunkline-bench-"));
  const module = join(folder.path, "plugin.mjs");
  writeFileSync(module, PLUGIN);
  const plugins = Object.fromEntries(
    Array.from({ length: count }, (_, at) => {
      const env = { ID: `tools.p${at}`, UP: up.path };
      return [env.ID, { module, env, process: place }];
    }),
  );
  const data = join(folder.path, "data");
  const set = ["--set", `bus.plugins=${JSON.stringify(plugins)}`];
  const listen = ["--listen", `${scheme}localhost:0`];
  const where = [...listen, "--data", data, "--certs-dir", join(data, "certs")];
  await using orchestrator = new Program(["dist/trunkline.js", "orchestrator", ...where, ...set]);
  const late = AbortSignal.timeout(START);
  while (readdirSync(up.path).length < count || !existsSync(join(data, "certs"))) {
    late.throwIfAborted();
    await orchestrator.until(sleep(100));
  }
  await orchestrator.until(sleep(REST));
  return proportionalSizeOfTrees([orchestrator.pid]);
}
