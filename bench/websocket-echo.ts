import type { Bench, Sample } from "./harness/bench.ts";
import { cpuTime } from "./harness/cpu-time.ts";
import { WebSocketLoad } from "./harness/websocket-load.ts";

const BARE = "bare ws";
const OURS = "trunkline";

const CONNECTIONS = 64;

/** JSON-RPC over WebSocket, on many connections at once. */
export const websocketEcho: Bench = {
  name: "websocket-echo",
  plan: async ({ quick }) => {
    const messages = CONNECTIONS * (quick ? 250 : 1_000);
    const measure = (file: string) => ({ measure: () => measureEcho(file, messages) });
    return {
      describe: `${messages} requests over ${CONNECTIONS} connections, 1 and 16 at a time on each`,
      rounds: quick ? 3 : 9,
      quantities: [
        { key: "cpu", label: "CPU", unit: "µs", digits: 2 },
        { key: "perSecond", label: "requests/s", unit: "", digits: 0 },
        { key: "pipelinedCpu", label: "CPU, 16 at a time", unit: "µs", digits: 2 },
        { key: "pipelinedPerSecond", label: "requests/s, 16 at a time", unit: "", digits: 0 },
      ],
      variants: [
        { name: BARE, ...measure("websocket-bare.ts") },
        { name: OURS, ...measure("websocket-trunkline.ts") },
      ],
      comparisons: [
        { quantity: "cpu", of: OURS, against: BARE, atMost: 1.5 },
        { quantity: "pipelinedCpu", of: OURS, against: BARE, atMost: 1.5 },
        { quantity: "perSecond", of: OURS, against: BARE },
        { quantity: "pipelinedPerSecond", of: OURS, against: BARE },
      ],
    };
  },
};

async function measureEcho(file: string, messages: number): Promise<Sample> {
  await using load = await WebSocketLoad.start(file);
  await load.open(CONNECTIONS);
  await load.echo(messages / 5, 1);
  const one = await cost(load, messages, 1);
  const many = await cost(load, messages, 16);
  return {
    cpu: one.cpu,
    perSecond: one.perSecond,
    pipelinedCpu: many.cpu,
    pipelinedPerSecond: many.perSecond,
  };
}

async function cost(load: WebSocketLoad, messages: number, window: number) {
  const cpu = cpuTime(load.serverPid);
  const milliseconds = await load.echo(messages, window);
  return {
    cpu: (cpuTime(load.serverPid) - cpu) / messages,
    perSecond: (messages * 1000) / milliseconds,
  };
}
