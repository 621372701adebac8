import { execFile } from "node:child_process";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { usualVariables } from "../../base/process/environment.ts";
import type { PluginManifest } from "../../protocol/bus/plugin.gen.ts";
import { type BusHandlers, serveExchange } from "../../protocol/bus/serve.ts";
import { BusCertificates } from "../bus-certificates.ts";
import type { BusTransport } from "../orchestrator.ts";
import { startPlugin } from "../plugin/plugin-process.ts";
import { pluginSettings } from "../plugin/settings.ts";
import { type OpenedSubject, openSubject, type OpenSubjectOptions } from "./open-subject.ts";

export interface StartSubjectOptions extends Pick<OpenSubjectOptions, "call" | "stream"> {
  readonly command: string;
  readonly args: readonly string[];
  /** Breaks the start off. */
  readonly signal: AbortSignal;
  readonly transport: BusTransport;
  /** What it writes to stderr. */
  readonly said: (line: string) => void;
}

/** Milliseconds for its READY line, and for its manifest. */
const READY = 10_000;

/** Starts a plugin as an orchestrator does, with certificates that are made for it. */
export async function startSubject(options: StartSubjectOptions): Promise<OpenedSubject> {
  const { command, args, transport, said, signal } = options;
  await using opening = new AsyncDisposableStack();
  const certs = await mkdtempDisposable(join(tmpdir(), "trunkline-conformance-"));
  opening.defer(() => certs.remove());
  const certificates = new BusCertificates(certs.path, () => {});
  const registered = Promise.withResolvers<PluginManifest>();
  const service = { handlers: orchestrator(registered.resolve), report: () => {} };
  const listener = opening.use(
    await transport.listen("localhost:0", {
      credentials: await certificates.of("orchestrator"),
      stream: (stream, connection) =>
        background(serveExchange(stream, connection, service), "Answering a plugin"),
    }),
  );
  const settings = pluginSettings({ id: "conformance", binary: command, args });
  const { child, address } = await startPlugin({
    settings,
    orchestratorAddress: listener.address.replace("quic://", ""),
    // A folder of its own with the authority's key: Orchestra's SDK wants one, and it is worth nothing.
    certsDir: certs.path,
    timeout: READY,
    ...{ signal, said },
  }).catch((error: unknown) => {
    signal.throwIfAborted();
    const why = (error as Error).message.replace(/^It /, "it ");
    const next =
      "A plugin prints READY HOST:PORT on stderr once it listens; --verbose shows what it says";
    const message = `Cannot test '${[command, ...args].join(" ")}': ${why}. ${next}.`;
    throw new TrunklineError("unavailable", message, { cause: error });
  });
  opening.defer(() => child.end());
  const subject = opening.use(
    await openSubject({ ...options, address, certsDir: certs.path, role: "plugin" }),
  );
  const printing = { env: usualVariables(), timeout: READY };
  const open = opening.move();
  return {
    ...subject,
    name: `The plugin '${[command, ...args].join(" ")}'`,
    started: {
      printed: async () =>
        (await promisify(execFile)(command, [...args, "--manifest"], printing)).stdout,
      registered: registered.promise,
      exit: child.exit,
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** As much of an orchestrator as a plugin needs to begin. */
function orchestrator(registered: (manifest: PluginManifest) => void): BusHandlers {
  return {
    register: (manifest) => {
      registered(manifest);
      return { case: "register", value: { accepted: true } };
    },
    subscribe: ({ subscriptionId, topic }) => ({
      case: "eventDelivery",
      value: { subscriptionId, topic },
    }),
    publish: () => undefined,
  };
}
