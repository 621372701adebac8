import { fstatSync } from "node:fs";
import { background } from "../../../base/background.ts";
import { Log } from "../../../base/log.ts";
import { connect, listen } from "../../../wire/quic/transport.ts";
import type { PluginFlags } from "../flags.ts";
import type { PluginParts } from "../parts.ts";
import { type RunningPlugin, startServing } from "../running-plugin.ts";

/** Milliseconds for the shutdown if a signal or the end of the input caused it. */
const LONGEST_END = 5_000;

/** Serves a plugin until it is told to end, then ends the process. */
export async function serveProgram(parts: PluginParts, flags: PluginFlags): Promise<void> {
  const { id } = parts.manifest;
  const log = new Log(process.env.TRUNKLINE_VERBOSE === "1" ? "debug" : "info").with({
    plugin: id,
  });
  let running: RunningPlugin;
  try {
    running = await startServing({ parts, flags, transport: { listen, connect }, log });
  } catch (error) {
    fail(1, `Cannot start plugin '${id}': ${(error as Error).message}`);
    return;
  }
  const isOver = untilOver(running);
  process.stderr.write(`READY ${running.address}\n`);
  await isOver;
  setTimeout(() => fail(1, `Plugin '${id}' took too long to end`), LONGEST_END).unref();
  const isClean = await running.shutdown(0);
  await running[Symbol.asyncDispose]();
  process.exit(isClean ? 0 : 1);
}

/** Resolves at the first reason to end. A signal after that ends the process at once. */
function untilOver({ ended }: RunningPlugin): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  background(ended.then(resolve), "Ending the plugin");
  let hasSignal = false;
  const stop = (): void => {
    if (hasSignal) process.exit(1);
    hasSignal = true;
    resolve();
  };
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, stop);
  if (hasOwner()) {
    process.stdin.on("end", resolve).on("close", resolve).on("error", resolve).resume();
  }
  return promise;
}

/** A piped input ends when the process at its other end does. */
function hasOwner(): boolean {
  try {
    const input = fstatSync(0);
    return input.isFIFO() || input.isSocket();
  } catch {
    return false;
  }
}

function fail(code: number, message: string): void {
  process.stderr.write(`${message}\n`);
  process.exit(code);
}
