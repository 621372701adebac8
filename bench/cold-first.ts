import { cpSync, mkdtempSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compiledCode } from "../scripts/compiled-code.ts";
import { INITIALIZE } from "./echo-call.ts";
import type { Bench, Sample } from "./harness/bench.ts";
import { cpuTime } from "./harness/cpu-time.ts";
import { Program, ROOT } from "./harness/program.ts";
import { StdioLoad } from "./harness/stdio-load.ts";

const BARE = "bare loop";
const MCP = "trunkline mcp";
const ACP = "trunkline acp";
const OTHER_MCP = "trunkline mcp, another Node";
const OTHER_ACP = "trunkline acp, another Node";

/**
 * The first start after an installation, when nothing is cached: of a package, which brings the compiled
 * code of its scripts along for the Node that it was built with, and of the same with another Node.
 */
export const coldFirst: Bench = {
  name: "cold-first",
  plan: async ({ quick }) => {
    const home = await mkdtempDisposable(join(tmpdir(), "trunkline-bench-"));
    const plain = join(home.path, "plain");
    const whole = join(home.path, "whole");
    for (const folder of [plain, whole]) cpSync(join(ROOT, "dist"), folder, COPY);
    const code = await compiledCode(join(whole, "trunkline.js"));
    for (const [name, bytes] of code) writeFileSync(join(whole, name), bytes);
    const first = (command: string, folder: string) => ({
      measure: () => start([join(folder, "trunkline.js"), command], home.path, command),
    });
    return {
      describe:
        "node started for the first time after an installation; mcp until tools/list, acp until initialize is answered",
      rounds: quick ? 5 : 31,
      quantities: [
        { key: "cpu", label: "CPU", unit: "ms", digits: 0 },
        { key: "wall", label: "answer", unit: "ms", digits: 0 },
      ],
      variants: [
        { name: BARE, measure: () => start(["bench/servers/bare.mjs"], home.path, "mcp") },
        { name: MCP, ...first("mcp", whole) },
        { name: ACP, ...first("acp", whole) },
        { name: OTHER_MCP, ...first("mcp", plain) },
        { name: OTHER_ACP, ...first("acp", plain) },
      ],
      comparisons: [
        { quantity: "cpu", of: MCP, against: BARE, atMost: 1.3 },
        { quantity: "cpu", of: ACP, against: BARE, atMost: 1.3 },
        { quantity: "cpu", of: OTHER_MCP, against: BARE },
        { quantity: "cpu", of: OTHER_ACP, against: BARE },
      ],
      end: () => home.remove(),
    };
  },
};

/** Without compiled code, which only a package has. */
const COPY = { recursive: true, filter: (path: string) => !/\.cjs\.v[^/]*$/.test(path) };

async function start(args: string[], home: string, command: string): Promise<Sample> {
  const own = mkdtempSync(join(home, "user-"));
  const env = {
    HOME: own,
    XDG_CACHE_HOME: join(own, "cache"),
    XDG_CONFIG_HOME: join(own, "config"),
    TRUNKLINE_DATA: join(own, "data"),
  };
  const began = performance.now();
  await using program = new Program(args, { env });
  const load = new StdioLoad(program, { request: String, isRight: () => false });
  if (command === "acp") {
    await load.open("initialize", { protocolVersion: 1, clientCapabilities: {} });
  } else {
    await load.open("initialize", INITIALIZE);
    await load.list();
  }
  const sample = { cpu: cpuTime(program.pid) / 1000, wall: performance.now() - began };
  await program.finish();
  return sample;
}
