import type { Bench, Sample } from "./harness/bench.ts";
import { Program } from "./harness/program.ts";
import { type HttpCalls, LEGACY, measureHttp, MODERN, reach } from "./http/http-load.ts";

const BARE = "bare node:http";
const DOOR = "trunkline, /mcp";
const RECORD = "trunkline, 2025-11-25, on record";
const RELAY = "bare relay to a server";
const HOP = "trunkline, 2025-11-25, server behind it";

/** tools/call, one POST each, over keep-alive connections: of 2026-07-28, and in a session of 2025-11-25. */
export const mcpHttp: Bench = {
  name: "mcp-http",
  plan: async ({ quick }) => {
    const calls = quick ? 2_000 : 4_000;
    return {
      describe: `tools/call over HTTP, ${calls} POSTs, 32 at once`,
      rounds: quick ? 3 : 7,
      quantities: [
        { key: "cpu", label: "CPU", unit: "µs", digits: 0 },
        { key: "wall", label: "wall", unit: "µs", digits: 0 },
      ],
      variants: [
        { name: BARE, measure: () => measure(["bench/servers/http-bare.mjs"], calls, MODERN) },
        { name: DOOR, measure: () => measure([TRUNKLINE], calls, MODERN) },
        { name: RECORD, measure: () => measure([TRUNKLINE, "record"], calls, LEGACY) },
        {
          name: RELAY,
          measure: () => measure(["bench/servers/http-relay-bare.mjs"], calls, LEGACY),
        },
        { name: HOP, measure: () => measure([TRUNKLINE, "hop"], calls, LEGACY) },
      ],
      comparisons: [
        { quantity: "cpu", of: DOOR, against: BARE, atMost: 2 },
        { quantity: "cpu", of: RECORD, against: BARE, atMost: 2 },
        { quantity: "cpu", of: HOP, against: RELAY, atMost: 1.7 },
      ],
    };
  },
};

const TRUNKLINE = "bench/servers/http-trunkline.ts";
const NO_TOKEN = `tlk_${"x".repeat(43)}`;

/** Measures a server that tells its port, and the token that it wants. */
export async function measure(
  server: readonly string[],
  count: number,
  calls: HttpCalls,
): Promise<Sample> {
  await using program = new Program(server, { more: ["ipc"] });
  const { port, token = NO_TOKEN } = reachOf(await program.nextMessage());
  const sample = await measureHttp(program, reach(port, token), calls, count);
  await program.finish();
  return sample;
}

function reachOf(message: unknown): { readonly port: number; readonly token?: string } {
  return typeof message === "number" ? { port: message } : (message as { port: number });
}
