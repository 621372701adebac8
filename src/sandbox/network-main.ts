// Makes listeners and connections in another network, and passes them to the process that started it.
import { connect, createServer, type Server, type Socket } from "node:net";
import { createInterface } from "node:readline";

import type { HandleMessage } from "../base/process/child-process.ts";

async function handOutListeners(ports: readonly number[]): Promise<void> {
  // Named ports first, so that none of them is picked for another listener.
  const named = new Map<number, Server>();
  for (const port of ports.filter((one) => one !== 0)) named.set(port, await listening(port));
  const listeners: Server[] = [];
  for (const port of ports) listeners.push(named.get(port) ?? (await listening(port)));
  for (const listener of listeners) {
    await handOut({ isLast: false }, listener);
    // This process accepts no connections of it.
    listener.close();
  }
}

/** The other side confirms that it has it. */
async function handOut(said: HandleMessage, handle?: Server | Socket): Promise<void> {
  const taken = new Promise((resolve) => process.once("message", resolve));
  await new Promise<void>((resolve, reject) => {
    process.send?.(said, handle, {}, (error) => (error === null ? resolve() : reject(error)));
  });
  await taken;
}

/** Connects to ports of the sandbox's network, one after the other, until its input ends. */
async function handOutConnections(): Promise<void> {
  for await (const line of createInterface({ input: process.stdin })) {
    // Paused, since what is read here is lost for whoever gets it.
    const socket = connect(Number(line), "127.0.0.1").pause();
    const problem = await new Promise<string | undefined>((resolve) => {
      socket.once("connect", () => resolve(undefined));
      socket.once("error", ({ message }) => resolve(message));
    });
    if (problem === undefined) await handOut({ isLast: false }, socket);
    else await handOut({ isLast: false, problem });
  }
}

async function listening(port: number): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.once("error", ({ message }) => {
      process.stderr.write(`trunkline: cannot listen in the sandbox: ${message}\n`);
      process.exit(126);
    });
    server.listen(port, "127.0.0.1", resolve);
  });
  return server;
}

// Its arguments are ports of listeners, 0 for any; lines of stdin are ports to connect to.
await handOutListeners(process.argv.slice(1).map(Number));
await handOutConnections();
process.exit(0);
