import { once } from "node:events";

import type { Bench, Sample } from "./harness/bench.ts";
import { readLines } from "./harness/line-reader.ts";
import { Program } from "./harness/program.ts";

const BARE = "bare relay";
const UNSTORED = "sessions, nothing stored";
const SESSIONS = "sessions";
/** Kilobytes that an idle session may take. */
const MOST_MEMORY = 50;

/** The cost of storing conversations, compared with a loop that only forwards updates. */
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
        const order = new Order();
        readLines(program.stdout, (line) => order.look(line));
        const ended = once(program.stdout, "end");
        const sample = (await program.nextMessage()) as Sample;
        await program.finish();
        await ended;
        order.check(streaming, each);
        const { memory = 0 } = sample;
        if (memory > MOST_MEMORY) throw new Error(`An idle session takes ${memory} KB`);
        return sample;
      },
    });
    return {
      describe: `${open} sessions open, ${streaming} of them stream ${each} chunks each; all is stored before it is sent, and its order is checked`,
      rounds: quick ? 3 : 7,
      quantities: [
        { key: "cpu", label: "CPU an update", unit: "µs", digits: 1 },
        { key: "memory", label: "memory an idle session", unit: "KB", digits: 1 },
      ],
      variants: [
        { name: BARE, ...measure("bare") },
        { name: UNSTORED, ...measure("unstored") },
        { name: SESSIONS, ...measure("sessions") },
      ],
      comparisons: [
        { quantity: "cpu", of: SESSIONS, against: BARE, atMost: 2 },
        { quantity: "cpu", of: UNSTORED, against: BARE },
      ],
    };
  },
};

const CHUNK = /"sessionId":"([^"]+)".*"text":"[^"0-9]*(\d+)"/;

/** The updates that each session has shown: chunks counted from 0, twice, the first time to warm up. */
class Order {
  readonly #next = new Map<string, number>();
  #problem: string | undefined;

  look(line: string): void {
    const [, session = "", digits] = CHUNK.exec(line) ?? [];
    if (digits === undefined) return;
    const next = this.#next.get(session) ?? 0;
    const at = Number(digits);
    if (at !== next && at !== 0) this.#problem ??= `chunk ${at} came where ${next} was due`;
    this.#next.set(session, at + 1);
  }

  check(sessions: number, each: number): void {
    const complete = [...this.#next.values()].filter((next) => next === each).length;
    if (complete !== sessions) this.#problem ??= `${complete} of ${sessions} came to their end`;
    if (this.#problem !== undefined) throw new Error(`The order was not kept: ${this.#problem}`);
  }
}
