import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { OWNER } from "../src/base/principal.ts";
import { FleetConnection } from "../src/fleet/connection/connect.ts";
import { reachNode } from "../src/fleet/connection/node-server.ts";
import { Subjects } from "../src/fleet/subjects.ts";
import type { Channel } from "../src/wire/channel.ts";
import { greet } from "../src/wire/channel/greeting.ts";
import { NatsServer, noNats } from "../test/support/nats-server.ts";
import type { Bench, Sample, Variant } from "./harness/bench.ts";
import { cpuTime } from "./harness/cpu-time.ts";
import { sessionUpdate } from "./messages.ts";

const SOCKET = "Unix socket";
const NATS = "NATS";
/** Messages that are on their way at once. */
const WINDOW = 256;
const LARGE = 256 * 1024;

/** The connection between a gateway and a worker, compared with the one between two local processes. */
export const fleetConnection: Bench = {
  name: "fleet-connection",
  plan: async ({ quick }) => {
    const messages = quick ? 2_000 : 20_000;
    const server = noNats === false ? await NatsServer.start() : undefined;
    const folder = mkdtempSync(join(tmpdir(), "trunkline-bench-"));
    const variants: Variant[] = [
      { name: SOCKET, measure: () => measure(join(folder, "socket"), overSocket, messages) },
    ];
    if (server !== undefined) {
      variants.push({ name: NATS, measure: () => measure(server.url, overNats, messages) });
    }
    return {
      describe: `${messages} messages of 300 bytes there and back, 1 and ${WINDOW} at a time, and large ones`,
      rounds: quick ? 3 : 9,
      quantities: [
        { key: "roundTrip", label: "round trip", unit: "µs", digits: 0 },
        { key: "perSecond", label: "messages/s", unit: "", digits: 0 },
        { key: "cpu", label: "CPU of the worker", unit: "µs", digits: 2 },
        { key: "large", label: "256 KiB messages", unit: "MB/s", digits: 0 },
      ],
      variants,
      ...(noNats === false ? {} : { skipped: [{ name: NATS, reason: noNats }] }),
      comparisons: ["roundTrip", "perSecond", "cpu", "large"].map((quantity) => ({
        quantity,
        of: NATS,
        against: SOCKET,
      })),
      end: async () => {
        await server?.[Symbol.asyncDispose]();
        rmSync(folder, { recursive: true });
      },
    };
  },
};

type Connect = (where: string) => Promise<{ channel: Channel<string> } & AsyncDisposable>;

async function overSocket(where: string): ReturnType<Connect> {
  const socket = connect(where);
  await once(socket, "connect");
  const { channel } = greet(socket, { principal: OWNER });
  return { channel, [Symbol.asyncDispose]: () => channel[Symbol.asyncDispose]() };
}

async function overNats(url: string): ReturnType<Connect> {
  const subjects = new Subjects("b");
  const connection = await FleetConnection.open({ url, subjects, name: "gateway" });
  const channel = await reachNode(connection, { id: "1-echo", name: "worker" }, OWNER);
  return {
    channel,
    async [Symbol.asyncDispose]() {
      await channel[Symbol.asyncDispose]();
      await connection[Symbol.asyncDispose]();
    },
  };
}

async function measure(where: string, open: Connect, messages: number): Promise<Sample> {
  if (!where.includes(":")) rmSync(where, { force: true });
  const child = await start(where);
  try {
    await using client = await open(where);
    const echo = new Echo(client.channel);
    await echo.run(messages / 5, WINDOW, sessionUpdate);
    const one = await echo.run(messages / 10, 1, sessionUpdate);
    const cpu = cpuTime(child.pid ?? 0);
    const many = await echo.run(messages, WINDOW, sessionUpdate);
    const used = cpuTime(child.pid ?? 0) - cpu;
    const text = "x".repeat(LARGE);
    const count = Math.ceil(messages / 50);
    const large = await echo.run(count, 4, () => text);
    return {
      roundTrip: (one * 1000) / (messages / 10),
      perSecond: (messages * 1000) / many,
      cpu: used / messages,
      large: (count * LARGE) / 1000 / large,
    };
  } finally {
    const exit = once(child, "exit");
    child.kill("SIGKILL");
    await exit;
  }
}

async function start(where: string): Promise<ChildProcess> {
  const file = join(import.meta.dirname, "servers", "node-echo.ts");
  const child = spawn(process.execPath, [file, where], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  return child;
}

/** Sends messages, and counts those that come back. */
class Echo {
  readonly #channel: Channel<string>;
  #received: (text: string) => void = () => {};

  constructor(channel: Channel<string>) {
    this.#channel = channel;
    channel.receive({
      message: (text) => this.#received(text),
      fault: (fault) => {
        throw new Error(`A message was not delivered: ${fault.kind}`);
      },
      end: () => {},
    });
  }

  /** Resolves to the milliseconds that it took. Throws if another message comes back than was sent. */
  async run(count: number, window: number, message: (number: number) => string): Promise<number> {
    const begin = performance.now();
    const done = Promise.withResolvers<void>();
    let sent = 0;
    let received = 0;
    const send = (): void => {
      void this.#channel.send(message(sent++));
    };
    this.#received = (text) => {
      if (text.length !== message(received++).length) done.reject(new Error("Another message"));
      if (received === count) done.resolve();
      else if (sent < count) send();
    };
    while (sent < Math.min(window, count)) send();
    await done.promise;
    return performance.now() - begin;
  }
}
