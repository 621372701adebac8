import { readFileSync } from "node:fs";
import type { Bench, Sample } from "./harness/bench.ts";
import { residentSize } from "./harness/resident-size.ts";
import { WebSocketLoad } from "./harness/websocket-load.ts";

const BARE = "bare ws";
const OURS = "trunkline";

/** Connections before the first measurement, so that code and pools are loaded. */
const FIRST = 200;
/** File descriptors that a process has open beside its connections. */
const OTHER_FILES = 100;

/** Memory of a connection that is silent, and of one that has been answered once. */
export const websocketIdle: Bench = {
  name: "websocket-idle",
  plan: async ({ quick }) => {
    const connections = quick ? 2_000 : 10_000;
    const reason = whyTooFewFiles(connections + FIRST + OTHER_FILES);
    const variants = [
      { name: BARE, measure: () => measureIdle("websocket-bare.ts", connections) },
      { name: OURS, measure: () => measureIdle("websocket-trunkline.ts", connections) },
    ];
    return {
      describe: `${connections} connections held, memory of the server for each`,
      rounds: quick ? 1 : 3,
      quantities: [
        { key: "idle", label: "idle", unit: "KB", digits: 2 },
        { key: "answered", label: "after a request", unit: "KB", digits: 2 },
      ],
      variants: reason === undefined ? variants : [],
      skipped: reason === undefined ? [] : variants.map(({ name }) => ({ name, reason })),
      comparisons: ["idle", "answered"].map((quantity) => ({
        quantity,
        of: OURS,
        against: BARE,
        atMost: 2.5,
      })),
    };
  },
};

async function measureIdle(file: string, connections: number): Promise<Sample> {
  await using load = await WebSocketLoad.start(file);
  const settledSize = async (): Promise<number> => {
    await load.tidy();
    return residentSize(load.serverPid);
  };
  await load.open(FIRST);
  await load.echo(FIRST * 10, 1);
  const before = await settledSize();
  await load.open(connections);
  const idle = ((await settledSize()) - before) / connections;
  await load.echo(FIRST + connections, 1);
  const answered = ((await settledSize()) - before) / connections;
  return { idle, answered };
}

/** Node raises its own soft limit to the hard limit, so only the hard limit matters. */
function whyTooFewFiles(needed: number): string | undefined {
  const limits = readFileSync("/proc/self/limits", "utf8");
  const hard = /^Max open files\s+\S+\s+(\d+)/m.exec(limits)?.[1];
  if (hard === undefined || Number(hard) >= needed) return undefined;
  return (
    `a process may have ${hard} files open, ${needed} are needed; ` +
    `allow more (as root: ulimit -Hn ${needed}) and run it again`
  );
}
