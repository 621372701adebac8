import type { Bench, Sample } from "./harness/bench.ts";
import { Program } from "./harness/program.ts";

const BARE = "bare relay";
const SESSIONS = "sessions";

/** What it costs that conversations are kept: against a loop that only passes updates on. */
export const sessionsBench: Bench = {
  name: "sessions",
  plan: async ({ quick }) => {
    const open = 1_000;
    const streaming = 100;
    const each = quick ? 200 : 1_000;
    const measure = (mode: string) => ({
      measure: async (): Promise<Sample> => {
        const args = ["--expose-gc", "bench/servers/session-stream.ts", mode];
        const sizes = [open, streaming, each].map(String);
        await using program = new Program([...args, ...sizes], { more: ["ipc"] });
        program.stdout.resume();
        return (await program.nextMessage()) as Sample;
      },
    });
    return {
      describe: `${open} sessions open, ${streaming} of them stream ${each} chunks each; all is stored before it is sent`,
      rounds: quick ? 3 : 7,
      quantities: [
        { key: "cpu", label: "CPU an update", unit: "µs", digits: 1 },
        { key: "memory", label: "memory an idle session", unit: "KB", digits: 1 },
      ],
      variants: [
        { name: BARE, ...measure("bare") },
        { name: SESSIONS, ...measure("sessions") },
      ],
      comparisons: [{ quantity: "cpu", of: SESSIONS, against: BARE, atMost: 2 }],
    };
  },
};
