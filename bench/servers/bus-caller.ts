// The calling side: calls an echo tool over the bus, HTTP/2, gRPC, or a child's standard streams.
import { spawn } from "node:child_process";
import { connect as connectHttp2 } from "node:http2";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { BusCertificates } from "../../src/plugin/bus-certificates.ts";
import { BusClient } from "../../src/protocol/bus/connect.ts";
import { connect } from "../../src/wire/quic/transport.ts";

type Call = (text: string) => Promise<unknown>;

const [kind = "bus", folder = ".", ...addresses] = process.argv.slice(2);
const certificates = new BusCertificates(folder, console.error);
const overBus = async (address: string, again: boolean): Promise<Call> => {
  const credentials = await certificates.of("bench-client");
  const client = new BusClient({ name: "It", dial: () => connect(address, { credentials }) });
  await client.connect();
  return async (text) => {
    const value = { toolName: "echo", arguments: { text }, callerPlugin: "bench" };
    const { response } = await client.ask({ case: "toolCall", value }, { again });
    return response.case === "toolCall" ? response.value.result?.text : undefined;
  };
};
const makers: Record<string, (address: string) => Promise<Call>> = {
  bus: (address) => overBus(address, false),
  "bus-again": (address) => overBus(address, true),
  http2: async (address) => {
    const { ca, cert = "", key = "" } = await certificates.of("bench-client");
    const session = connectHttp2(address, { ca, cert, key });
    return (text) => {
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      const request = session.request({ ":method": "POST", ":path": "/" });
      let answer = "";
      request.setEncoding("utf8").on("data", (part: string) => {
        answer += part;
      });
      request.on("end", () => resolve((JSON.parse(answer) as Answer).result.text));
      request.on("error", reject);
      request.end(message(0, text));
      return promise;
    };
  },
  grpc: async (address) => {
    // Its packages are there only where the bench has installed them.
    const file = new URL("./grpc-echo.mjs", import.meta.url).href;
    const { grpcCaller } = (await import(file)) as {
      grpcCaller: (address: string, folder: string) => Promise<Call>;
    };
    return grpcCaller(address, folder);
  },
  stdio: async () => {
    const program = join(import.meta.dirname, "stdio-plugin.mjs");
    const child = spawn(process.execPath, [program], { stdio: ["pipe", "pipe", "inherit"] });
    const waiting = new Map<number, (text: unknown) => void>();
    let lastId = 0;
    createInterface({ input: child.stdout }).on("line", (line) => {
      const { id, result } = JSON.parse(line) as Answer & { id: number };
      waiting.get(id)?.(result.text);
      waiting.delete(id);
    });
    return (text) => {
      const { promise, resolve } = Promise.withResolvers<unknown>();
      waiting.set(++lastId, resolve);
      child.stdin.write(`${message(lastId, text)}\n`);
      return promise;
    };
  },
};

interface Answer {
  readonly result: { readonly text: unknown };
}

function message(id: number, text: string): string {
  return JSON.stringify({
    id,
    method: "tools/call",
    params: { name: "echo", arguments: { text } },
  });
}

const make = makers[kind];
if (make === undefined) throw new Error(`No such caller: ${kind}`);
const calls = await Promise.all((addresses.length > 0 ? addresses : [""]).map(make));
const text = "x".repeat(1_000);

process.on("message", (work: Load) => void load(work));

async function load({ count, atOnce, among = calls.length }: Load): Promise<void> {
  let begun = 0;
  const times: number[] = [];
  const work = async (): Promise<void> => {
    while (begun < count) {
      const call = calls[begun++ % among];
      const start = performance.now();
      const answer = await call?.(text);
      if (answer !== text) throw new Error("The answer is wrong");
      times.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  process.send?.({ p50: times.toSorted((a, b) => a - b)[times.length >> 1] });
}

interface Load {
  readonly count: number;
  readonly atOnce: number;
  /** How many of the addresses are called, in turn; default all. */
  readonly among?: number;
}

process.on("disconnect", () => process.exit());
process.send?.("ready");
