import type { Bench, Sample } from "./harness/bench.ts";
import { cpuTime } from "./harness/cpu-time.ts";
import { Program } from "./harness/program.ts";
import { type RelayTraffic, startRelayLoad } from "./harness/relay-load.ts";

const BARE = "bare relay";
const OURS = "trunkline relay";

/** A message in on one channel, its id rewritten, out on the other. */
export const relayBench: Bench = {
  name: "relay",
  plan: async ({ quick }) => {
    const messages = quick ? 20_000 : 100_000;
    const measure = (file: string) => ({
      measure: () => measureRelay([`bench/servers/${file}`], messages),
    });
    return {
      describe: `messages of about 300 bytes between two channels, ${messages} of each kind`,
      rounds: quick ? 3 : 9,
      quantities: [
        { key: "updates", label: "CPU, session/update", unit: "µs", digits: 2 },
        { key: "calls", label: "CPU, tools/call", unit: "µs", digits: 2 },
        { key: "updatesWall", label: "wall, session/update", unit: "µs", digits: 2 },
        { key: "callsWall", label: "wall, tools/call", unit: "µs", digits: 2 },
      ],
      variants: [
        { name: BARE, ...measure("bare-relay.mjs") },
        { name: OURS, ...measure("trunkline-relay.ts") },
      ],
      comparisons: [
        { quantity: "updates", of: OURS, against: BARE, atMost: 1.3 },
        { quantity: "calls", of: OURS, against: BARE, atMost: 1.3 },
      ],
    };
  },
};

const WARM_UP = 20_000;

async function measureRelay(args: string[], messages: number): Promise<Sample> {
  await using program = new Program(args, { more: ["pipe"] });
  const load = startRelayLoad(program);
  await load.updates(WARM_UP);
  await load.calls(WARM_UP);
  const updates = await cost(program, load.updates, messages);
  const calls = await cost(program, load.calls, messages);
  await program.finish();
  return {
    updates: updates.cpu,
    updatesWall: updates.wall,
    calls: calls.cpu,
    callsWall: calls.wall,
  };
}

/** Microseconds for each message. */
async function cost(program: Program, traffic: RelayTraffic, messages: number) {
  const [cpu, wall] = [cpuTime(program.pid), performance.now()];
  await traffic(messages);
  return {
    cpu: (cpuTime(program.pid) - cpu) / messages,
    wall: ((performance.now() - wall) * 1000) / messages,
  };
}
