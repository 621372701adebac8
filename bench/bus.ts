import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Bench, Sample } from "./harness/bench.ts";
import { cpuTimeOfTrees, residentSizeOfTrees } from "./harness/process-tree.ts";
import { Program } from "./harness/program.ts";
import { installReferencePackages } from "./harness/reference-packages.ts";

const HTTP2 = "HTTP/2";
const GRPC = "grpc-js 1.14.7";
const QUIC = "bus, QUIC";
const TLS = "bus, TLS";
const LOCAL = "bus, this machine";
const STDIO = "plugin on stdio";

const AT_ONCE = 32;
const WARM_UP = 1_000;

/** A tool call over the bus, one stream for each; all processes of both sides are counted. */
export const busBench: Bench = {
  name: "bus",
  plan: async ({ quick, offline }) => {
    const calls = quick ? 2_000 : 6_000;
    const missing = installReferencePackages(offline);
    const measure = (kind: string, scheme = "") => ({
      measure: () => measureCalls(kind, scheme, 1, calls),
    });
    return {
      describe: `tools/call with 1 KB there and back, ${calls} calls, ${AT_ONCE} at once; then one by one`,
      rounds: quick ? 3 : 7,
      quantities: [
        { key: "cpu", label: "CPU of both sides", unit: "µs", digits: 0 },
        { key: "p50", label: "one by one, p50", unit: "ms", digits: 3 },
      ],
      variants: [
        { name: HTTP2, ...measure("http2") },
        ...(missing === undefined ? [{ name: GRPC, ...measure("grpc") }] : []),
        { name: QUIC, ...measure("bus", "quic://") },
        { name: TLS, ...measure("bus", "tls://") },
        { name: LOCAL, ...measure("bus") },
        { name: STDIO, ...measure("stdio") },
      ],
      skipped: missing === undefined ? [] : [{ name: GRPC, reason: missing }],
      comparisons: [
        { quantity: "cpu", of: QUIC, against: HTTP2, atMost: 1.2 },
        { quantity: "cpu", of: TLS, against: HTTP2, atMost: 1.2 },
        { quantity: "cpu", of: QUIC, against: GRPC },
        { quantity: "cpu", of: TLS, against: GRPC },
        { quantity: "p50", of: TLS, against: GRPC },
        { quantity: "p50", of: LOCAL, against: TLS },
        { quantity: "p50", of: LOCAL, against: STDIO },
        { quantity: "p50", of: QUIC, against: STDIO },
        { quantity: "cpu", of: LOCAL, against: STDIO },
        { quantity: "cpu", of: QUIC, against: STDIO },
      ],
    };
  },
};

const ONE = "1 plugin";
const MANY = "100 plugins";

/** The same with more plugins: the cost of one must not depend on their number. */
export const busPlugins: Bench = {
  name: "bus-plugins",
  plan: async ({ quick }) => {
    const calls = quick ? 2_000 : 6_000;
    const measure = (plugins: number) => ({
      measure: () => measureCalls("bus", "quic://", plugins, calls),
    });
    return {
      describe: `the same over as many connections as plugins`,
      rounds: quick ? 3 : 5,
      quantities: [
        {
          key: "same",
          label: "CPU of both sides, one by one to one of them",
          unit: "µs",
          digits: 0,
        },
        // Each is idle for longer than an acknowledgement is delayed.
        { key: "serial", label: "to all in turn", unit: "µs", digits: 0 },
        // Concurrent calls on one connection share packets; here hardly any do.
        { key: "cpu", label: `${AT_ONCE} at once`, unit: "µs", digits: 0 },
        { key: "memory", label: "memory of both sides", unit: "MB", digits: 0 },
      ],
      variants: [
        { name: ONE, ...measure(1) },
        { name: "10 plugins", ...measure(10) },
        { name: MANY, ...measure(100) },
      ],
      comparisons: [
        { quantity: "same", of: MANY, against: ONE, atMost: 1.1 },
        { quantity: "serial", of: MANY, against: ONE, atMost: 1.2 },
        { quantity: "cpu", of: MANY, against: ONE },
      ],
    };
  },
};

interface Ready {
  readonly addresses: readonly string[];
}

export async function measureCalls(
  kind: string,
  scheme: string,
  plugins: number,
  calls: number,
  relays = 0,
): Promise<Sample> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-bench-"));
  await using programs = new AsyncDisposableStack();
  const start = (args: readonly string[]): Program =>
    programs.use(new Program(args, { more: ["ipc"] }));
  const peer = start(peerArgs(kind, scheme, plugins, folder.path));
  let { addresses } = (await peer.nextMessage()) as Ready;
  const peers = [peer];
  while (peers.length <= relays) {
    const relay = start(["bench/servers/bus-relay.ts", scheme, folder.path, ...addresses]);
    ({ addresses } = (await relay.nextMessage()) as Ready);
    peers.push(relay);
  }
  const caller = start(["bench/servers/bus-caller.ts", kind, folder.path, ...addresses]);
  await caller.nextMessage();
  const both = [...peers, caller].map(({ pid }) => pid);
  await caller.ask({ count: WARM_UP, atOnce: AT_ONCE });
  const before = cpuTimeOfTrees(both);
  await caller.ask({ count: calls, atOnce: AT_ONCE });
  const cpu = (cpuTimeOfTrees(both) - before) / calls;
  const memory = residentSizeOfTrees(both) / 1024;
  const beforeSerial = cpuTimeOfTrees(both);
  const { p50 } = (await caller.ask({ count: calls / 5, atOnce: 1 })) as { p50: number };
  const beforeSame = cpuTimeOfTrees(both);
  await caller.ask({ count: calls / 5, atOnce: 1, among: 1 });
  const same = (cpuTimeOfTrees(both) - beforeSame) / (calls / 5);
  const serial = (beforeSame - beforeSerial) / (calls / 5);
  return { cpu, p50, serial, same, memory };
}

function peerArgs(kind: string, scheme: string, plugins: number, folder: string): string[] {
  const program = (name: string): string => `bench/servers/${name}`;
  if (kind === "bus") return [program("bus-peer.ts"), scheme, String(plugins), folder];
  if (kind === "grpc") return [program("grpc-echo.mjs"), folder];
  return kind === "http2" ? [program("http2-peer.ts"), folder] : [program("nobody.mjs")];
}
