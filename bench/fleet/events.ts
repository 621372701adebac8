import { join } from "node:path";

import { NatsServer, noNats } from "../../test/support/nats-server.ts";
import type { Bench, Sample, Variant } from "../harness/bench.ts";
import { cpuTime } from "../harness/cpu-time.ts";
import { Program } from "../harness/program.ts";

const PIPE = "pipe";
const LOCAL = "log of one machine";
const FLEET = "JetStream";

/** Events of sessions until they are acknowledged: by a process at the end of a pipe, by the disk, by NATS. */
export const fleetEvents: Bench = {
  name: "fleet-events",
  plan: async ({ quick }) => {
    const events = quick ? 4_000 : 40_000;
    const server = noNats === false ? await NatsServer.start() : undefined;
    const variant = (name: string, mode: string): Variant => ({
      name,
      measure: () => measure(mode, events, server),
    });
    return {
      describe: `${events} events of 300 bytes, 256 waiting for their acknowledgement, in one session and in 20; then one at a time`,
      rounds: quick ? 3 : 7,
      quantities: [
        { key: "one", label: "events/s, 1 session", unit: "", digits: 0 },
        { key: "many", label: "events/s, 20 sessions", unit: "", digits: 0 },
        { key: "latency", label: "one event", unit: "µs", digits: 0 },
        { key: "cpu", label: "CPU an event", unit: "µs", digits: 1 },
        { key: "nats", label: "of NATS", unit: "µs", digits: 1 },
      ],
      variants: [
        variant(PIPE, "pipe"),
        variant(LOCAL, "log"),
        ...(server === undefined ? [] : [variant(FLEET, "fleet")]),
      ],
      ...(noNats === false ? {} : { skipped: [{ name: FLEET, reason: noNats }] }),
      comparisons: [
        { quantity: "one", of: FLEET, against: PIPE, atLeast: 0.4 },
        { quantity: "one", of: FLEET, against: LOCAL },
        { quantity: "many", of: FLEET, against: LOCAL },
        { quantity: "latency", of: FLEET, against: PIPE },
        { quantity: "latency", of: FLEET, against: LOCAL },
        { quantity: "cpu", of: FLEET, against: LOCAL },
      ],
      end: async () => server?.[Symbol.asyncDispose](),
    };
  },
};

async function measure(
  mode: string,
  events: number,
  server: NatsServer | undefined,
): Promise<Sample> {
  const file = join(import.meta.dirname, "../servers/fleet-events.ts");
  const before = server === undefined ? 0 : cpuTime(server.pid);
  const args = [file, mode, String(events), server?.url ?? ""];
  await using program = new Program(args, { more: ["ipc"] });
  const sample = (await program.nextMessage()) as Sample;
  await program.finish();
  const nats = server === undefined || mode !== "fleet" ? 0 : cpuTime(server.pid) - before;
  return { ...sample, nats: nats / (events * 2) };
}
