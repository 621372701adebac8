import { fstatSync } from "node:fs";
import { background } from "../../../base/background.ts";
import { TrunklineError } from "../../../base/errors.ts";
import { Log } from "../../../base/log.ts";
import { PLUGIN_UNIT, Certificates } from "../../../protocol/bus/certificates/certificates.ts";
import { BusClient } from "../../../protocol/bus/connect.ts";
import { parseAddress } from "../../../wire/quic/address.ts";
import type { Listener } from "../../../wire/quic/connection.ts";
import { connect, listen } from "../../../wire/quic/transport.ts";
import { busCertificates } from "../../bus-certificates.ts";
import { expectOrchestrator, isPlugin } from "../../guests.ts";
import type { BusTransport } from "../../orchestrator.ts";
import type { PluginFlags } from "../flags.ts";
import type { PluginParts } from "../parts.ts";
import { Registration } from "../registration.ts";
import { pluginService } from "./plugin-service.ts";

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

interface RunningPluginOptions {
  readonly parts: PluginParts;
  readonly flags: PluginFlags;
  readonly transport: BusTransport;
  readonly log: Log;
}

/** Calls that call the plugin again must not wait for each other. */
const LISTEN_LIMITS = { maxStreams: 2_112 };

type RunningPlugin = Awaited<ReturnType<typeof startServing>>;

/** Has a plugin serve, and stay connected to its orchestrator. */
export async function startServing({ parts, flags, transport, log }: RunningPluginOptions) {
  const { manifest } = parts;
  const ended = Promise.withResolvers<void>();
  const warn = (message: string): void => log.warn("plugin.certificates", { message });
  // The certificates of an existing CA. A plugin that serves creates no CA: if the bus has ended, its
  // folder may be about to be removed, and nobody would trust the new CA.
  const certificates = busCertificates(flags.certsDir, warn, { makesAuthority: false });
  await using opening = new AsyncDisposableStack();
  const client = opening.use(
    new BusClient({
      name: "The orchestrator",
      dial: async (signal) => {
        if (flags.orchestrator === "") {
          const says = "The plugin was started without --orchestrator-addr";
          throw new TrunklineError("unavailable", says);
        }
        const credentials = await certificates.of(`${manifest.id}-client`, { unit: PLUGIN_UNIT });
        const given = { credentials, signal };
        return expectOrchestrator(await transport.connect(flags.orchestrator, given));
      },
      connected: () => registration.connected(),
      lost: (reason) => log.warn("plugin.orchestrator-lost", { reason: reason.message }),
    }),
  );
  const service = pluginService({
    ...{ parts, client, log, ended: ended.resolve },
    registered: () => registration.known(),
  });
  const { events } = parts;
  const { deliver } = service;
  const registration = new Registration({
    ...{ client, manifest: () => parts.manifest, events, deliver, log },
  });
  opening.defer(() => registration.end());
  parts.onChange?.(() => registration.changed());
  // One that a person starts may be the first to need a CA.
  await new Certificates(flags.certsDir, { warn }).trusted();
  const { host } = parseAddress(flags.listen);
  const listening = Promise.withResolvers<Listener>();
  const followed = await certificates.follow(
    manifest.id,
    { hosts: isLocal(host) ? [] : [host], unit: PLUGIN_UNIT },
    async (credentials) => (await listening.promise).renew(credentials),
    (error) => log.error("plugin.not-renewed", { error }),
  );
  opening.defer(followed.stop);
  const listener = opening.use(
    await transport.listen(flags.listen, {
      credentials: followed.credentials,
      limits: LISTEN_LIMITS,
      stream: (stream, connection) => {
        // Plugins call each other through the orchestrator, which knows what they may call.
        if (isPlugin(connection)) stream.reset();
        else service.serve(stream, connection);
      },
      connected: (connection) => {
        if (!isPlugin(connection)) return;
        log.warn("plugin.refused", { reason: `Plugin '${connection.peer?.name}' dialled it` });
        background(connection.close(), "Closing a connection");
      },
      refused: (reason) => log.warn("plugin.refused", { reason: reason.message }),
      lost: (reason) => log.error("plugin.listener-lost", { reason: reason.message }),
    }),
  );
  listening.resolve(listener);
  // Now, and whenever the connection is lost.
  if (flags.orchestrator !== "") {
    client.connect().catch((error: unknown) => {
      log.warn("plugin.not-connected", { error: (error as Error).message });
    });
  }
  const open = opening.move();
  return {
    /** Resolves when the orchestrator has told it to end, and knows that it will. */
    ended: ended.promise,
    address: dialled(listener.address),
    /** Waits for running calls, for at most so many milliseconds, then cleans up. */
    shutdown: (timeout: number) => service.shutdown(timeout),
    async [Symbol.asyncDispose](): Promise<void> {
      await service.answered();
      await open.disposeAsync();
    },
  };
}

/** The address to dial. It has a scheme only if it is not QUIC: other orchestrators know none. */
function dialled(address: string): string {
  // The orchestrator is on the same machine.
  return address
    .replace(/^quic:\/\//, "")
    .replace(/(^|\/)0\.0\.0\.0:/, "$1127.0.0.1:")
    .replace(/(^|\/)\[::\]:/, "$1[::1]:");
}

/** Every certificate is valid for this machine, and none for the addresses that mean all interfaces. */
function isLocal(host: string): boolean {
  return ["localhost", "127.0.0.1", "::1", "0.0.0.0", "::"].includes(host);
}
