import { execFile } from "node:child_process";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { usualVariables } from "../../base/process/environment.ts";
import { PLUGIN_UNIT, problemOfName } from "../../protocol/bus/certificates/certificates.ts";
import type { PluginManifest } from "../../protocol/bus/plugin.gen.ts";
import { serveExchange, type BusHandlers } from "../../protocol/bus/serve.ts";
import type { Connection, Credentials } from "../../wire/quic/connection.ts";
import { busCertificates } from "../bus-certificates.ts";
import type { BusTransport } from "../orchestrator.ts";
import { parseManifest } from "../declared-manifest.ts";
import { PluginFolder } from "../plugin/plugin-folder.ts";
import { startInFolder } from "../plugin/plugin-process.ts";
import { pluginSettings } from "../plugin/settings.ts";
import type { Role, SafeCall, InvalidClient, Subject } from "./probe.ts";

export interface OpenSubjectOptions {
  readonly address: string;
  readonly certsDir: string;
  readonly transport: BusTransport;
  /** Default by its certificate: the name `orchestrator` is an orchestrator, all others are plugins. */
  readonly role?: Role | undefined;
  readonly call?: SafeCall | undefined;
  readonly stream?: SafeCall | undefined;
  /** The name that its certificate has to have. */
  readonly id?: string;
}

/** A program that can be checked until it is disposed of. */
export type OpenedSubject = Subject & AsyncDisposable;

/** The name of an orchestrator's certificate. */
const ORCHESTRATOR = "orchestrator";
const CLIENT = "transport.conformance-client";
const PLUGIN = "conformance.plugin";
const OTHER_PROTOCOL = "conformance-other";

/** Connects to a running program. Throws if it cannot be reached. */
export async function openSubject(options: OpenSubjectOptions): Promise<OpenedSubject> {
  const { address, certsDir, transport } = options;
  const certificates = busCertificates(certsDir, () => {}, { makesAuthority: false });
  const first = await transport.connect(address, { credentials: await certificates.of(CLIENT) });
  const name = first.peer?.name ?? "";
  await first.close();
  if (options.id !== undefined && name !== options.id) {
    const says = `it serves with the certificate of '${name}', not with '${options.id}.crt'`;
    throw new TrunklineError("unavailable", `Cannot test plugin '${options.id}': ${says}.`);
  }
  const role = options.role ?? (name === ORCHESTRATOR ? "orchestrator" : "plugin");
  const shown = role === "orchestrator" ? CLIENT : `orchestrator-to-${name || "plugin"}`;
  const dial = async (): Promise<Connection> =>
    transport.connect(address, { credentials: await certificates.of(shown) });
  const elsewhere = await mkdtempDisposable(join(tmpdir(), "trunkline-conformance-"));
  const foreign = async (): Promise<Credentials> => {
    const { ca } = await certificates.of(shown);
    const { cert, key } = await busCertificates(elsewhere.path, () => {}).of(shown);
    return { ca, cert, key };
  };
  const asPlugin = async (): Promise<Connection> => {
    const credentials = await certificates.of(`${PLUGIN}-client`, { unit: PLUGIN_UNIT });
    return transport.connect(address, { credentials });
  };
  return {
    ...{ role, name: `The ${role} at ${address}`, dial },
    ...{ call: options.call, stream: options.stream },
    ...(role === "orchestrator" ? { asPlugin: { id: PLUGIN, dial: asPlugin } } : {}),
    dialAs: async (stranger: InvalidClient) => {
      const own = await certificates.of(shown);
      const alpn = stranger === "another protocol" ? { alpn: OTHER_PROTOCOL } : {};
      const credentials = { ...alpn, credentials: own };
      if (stranger === "another authority") credentials.credentials = await foreign();
      if (stranger === "no certificate") credentials.credentials = { ca: own.ca };
      return transport.connect(address, credentials);
    },
    [Symbol.asyncDispose]: () => elsewhere.remove(),
  };
}

export interface StartSubjectOptions extends Pick<OpenSubjectOptions, "call" | "stream"> {
  readonly command: string;
  readonly args: readonly string[];
  /** Aborts the start. */
  readonly signal: AbortSignal;
  readonly transport: BusTransport;
  /** Called with the lines that it writes to stderr. */
  readonly said: (line: string) => void;
}

/** Milliseconds for its READY line, and for its manifest, which is asked for first. */
const READY = 10_000;
const PRINTED = 20_000;

/** Starts a plugin as the bus does: with its two certificates, and without the authority's key. */
export async function startSubject(options: StartSubjectOptions): Promise<OpenedSubject> {
  const { command, args, transport, said, signal } = options;
  await using opening = new AsyncDisposableStack();
  const certs = await mkdtempDisposable(join(tmpdir(), "trunkline-conformance-"));
  opening.defer(() => certs.remove());
  const authority = join(certs.path, "authority");
  const certificates = busCertificates(authority, () => {});
  const printing = { env: usualVariables(), timeout: PRINTED, signal };
  const printed = promisify(execFile)(command, [...args, "--manifest"], printing);
  const id = idIn((await printed.catch(() => undefined))?.stdout);
  const folder = opening.use(await PluginFolder.make(join(certs.path, "plugin"), id, certificates));
  const registered = Promise.withResolvers<PluginManifest>();
  const service = { handlers: orchestrator(registered.resolve), report: () => {} };
  const listener = opening.use(
    await transport.listen("localhost:0", {
      credentials: await certificates.of("orchestrator"),
      stream: (stream, connection) =>
        background(serveExchange(stream, connection, service), "Answering a plugin"),
    }),
  );
  const { child, address } = await startInFolder(folder, {
    settings: pluginSettings({ id, binary: command, args }),
    orchestratorAddress: listener.address.replace("quic://", ""),
    prefersTls: true,
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
    await openSubject({ ...options, id, address, certsDir: authority, role: "plugin" }),
  );
  const open = opening.move();
  return {
    ...subject,
    name: `The plugin '${[command, ...args].join(" ")}'`,
    started: {
      printed: async () => (await printed).stdout,
      registered: registered.promise,
      exit: child.exit,
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** The id in a manifest; another one where there is none that can be used. */
function idIn(text: string | undefined): string {
  const { id = "" } = (text === undefined ? undefined : parseManifest(text)) ?? {};
  return problemOfName(id) === undefined ? id : "conformance";
}

/** A minimal orchestrator, sufficient for a plugin to start. */
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
