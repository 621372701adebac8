import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RebindingProxy } from "../test/support/rebinding-proxy.ts";
import type { Bench, Sample } from "./harness/bench.ts";
import { Program } from "./harness/program.ts";

const SAME = "the same address";
const OTHER = "another address";
const ONE = { count: 1, atOnce: 1 };

/** The next call of a client over QUIC whose address has changed, behind a NAT or in another Wi-Fi. */
export const busRebind: Bench = {
  name: "bus-rebind",
  plan: async ({ quick }) => ({
    describe:
      "tools/call over QUIC that may be repeated, begun when the client's address has changed",
    rounds: quick ? 3 : 15,
    quantities: [{ key: "wall", label: "answered after", unit: "ms", digits: 1 }],
    variants: [
      { name: SAME, measure: () => measureCall(false) },
      { name: OTHER, measure: () => measureCall(true) },
    ],
    comparisons: [{ quantity: "wall", of: OTHER, atMost: 1_000 }],
  }),
};

async function measureCall(changes: boolean): Promise<Sample> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-bench-"));
  await using programs = new AsyncDisposableStack();
  const start = (...args: string[]): Program => programs.use(new Program(args, { more: ["ipc"] }));
  const peer = start("bench/servers/bus-peer.ts", "quic://", "1", folder.path);
  const { addresses } = (await peer.nextMessage()) as { readonly addresses: readonly string[] };
  const port = Number(addresses[0]?.split(":").at(-1));
  const nat = programs.use(await RebindingProxy.open(port));
  const address = `quic://127.0.0.1:${nat.port}`;
  const caller = start("bench/servers/bus-caller.ts", "bus-again", folder.path, address);
  await caller.nextMessage();
  await caller.ask(ONE);
  if (changes) await nat.rebind();
  const { p50: wall } = (await caller.ask(ONE)) as { readonly p50: number };
  return { wall };
}
