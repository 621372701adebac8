import { readFileSync } from "node:fs";

import type { ChaosFleet } from "./chaos-fleet.ts";

/** The most resident memory of a process of each kind, in MiB. */
export type Sizes = Readonly<Record<string, number>>;

const PAGES = 256;

/** Looks at the memory of all nodes each second. */
export function watchSizes(fleet: ChaosFleet): Disposable & { readonly largest: Sizes } {
  const largest: Record<string, number> = {};
  const timer = setInterval(() => {
    const nodes = [...fleet.nodes, { role: "nats", pid: fleet.nats.pid }];
    for (const { role, pid } of nodes) {
      largest[role] = Math.max(largest[role] ?? 0, residentOf(pid));
    }
    largest["clients"] = Math.max(largest["clients"] ?? 0, residentOf(process.pid));
  }, 1_000);
  return { largest, [Symbol.dispose]: () => clearInterval(timer) };
}

function residentOf(pid: number): number {
  try {
    const [, pages = "0"] = readFileSync(`/proc/${pid}/statm`, "utf8").split(" ");
    return Math.round(Number(pages) / PAGES);
  } catch {
    return 0;
  }
}
