import { mkdirSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { openRepository } from "../src/review/repository.ts";
import { Reviews } from "../src/store/review/reviews.ts";
import type { Bench, Sample } from "./harness/bench.ts";
import { readLines } from "./harness/line-reader.ts";
import { Program, ROOT } from "./harness/program.ts";

const BARE = "bare watch";
const OURS = "trunkline mcp";
const COMMENTS = 100;

/** From storing a comment to notifying a client. */
export const reviewNotice: Bench = {
  name: "review-notice",
  plan: async ({ quick }) => {
    const folder = await mkdtempDisposable(join(tmpdir(), "trunkline-bench-"));
    process.on("exit", () => void folder.remove());
    const bare = (): Promise<Sample> =>
      measure(join(folder.path, "bare"), (data) => ["bench/servers/bare-watch.mjs", data], []);
    const ours = (): Promise<Sample> =>
      measure(join(folder.path, "ours"), () => ["dist/trunkline.js", "mcp"], HELLO);
    return {
      describe: `${COMMENTS} comments, one after the other, with the store's writer in another process`,
      rounds: quick ? 2 : 7,
      quantities: [
        { key: "p50", label: "p50", unit: "ms", digits: 1 },
        { key: "p99", label: "p99", unit: "ms", digits: 1 },
      ],
      variants: [
        { name: BARE, measure: bare },
        { name: OURS, measure: ours },
      ],
      comparisons: [
        { quantity: "p50", of: OURS, atMost: 50 },
        { quantity: "p99", of: OURS, atMost: 50 },
      ],
    };
  },
};

const HELLO = [
  {
    id: 1,
    method: "initialize",
    params: {
      protocolVersion: "2024-11-05",
      capabilities: {},
      clientInfo: { name: "bench", version: "1" },
    },
  },
  { id: 2, method: "resources/subscribe", params: { uri: "lazygit://messages" } },
];

/** Lines with which a program reports that it is ready, or has noticed a comment. */
const READY = /^ready$|"id":2,/;
const NOTICED = /^changed$|notifications\/message/;

async function measure(
  data: string,
  args: (data: string) => string[],
  hello: readonly object[],
): Promise<Sample> {
  mkdirSync(data, { recursive: true });
  using reviews = await Reviews.open(data);
  await using program = new Program(args(data), { env: { TRUNKLINE_DATA: data } });
  let heard = Promise.withResolvers<number>();
  const ready = Promise.withResolvers<void>();
  readLines(program.stdout, (line) => {
    if (READY.test(line)) ready.resolve();
    if (NOTICED.test(line)) heard.resolve(performance.now());
  });
  for (const message of hello) {
    program.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }
  await program.until(ready.promise);
  // It begins to watch after its start.
  await comment(reviews);
  await program.until(heard.promise);
  const delays: number[] = [];
  for (let n = 0; n < COMMENTS; n++) {
    // A late notice of the previous comment must not count for this one.
    await new Promise((resolve) => setTimeout(resolve, 20));
    heard = Promise.withResolvers<number>();
    await comment(reviews);
    const safe = performance.now();
    delays.push(Math.max(0, (await program.until(heard.promise)) - safe));
  }
  await program.finish();
  const sorted = delays.toSorted((one, other) => one - other);
  return {
    p50: sorted[COMMENTS / 2] ?? NaN,
    p99: sorted[Math.ceil(COMMENTS * 0.99) - 1] ?? NaN,
  };
}

async function comment(reviews: Reviews): Promise<void> {
  await reviews.add({
    repository: openRepository(ROOT),
    anchor: { path: "README.md", side: "new" },
    comment: "Please say more.",
    severity: "should",
    by: "ada",
    source: "bench",
  });
}
