import { realpathSync } from "node:fs";
import type { Socket } from "node:net";
import { isAbsolute } from "node:path";

import { atMost, onAbort } from "../../base/abort.ts";
import { background } from "../../base/background.ts";
import { type ChildOptions, type Confiner, OwnedChild } from "../../base/process/child-process.ts";
import { TrunklineError } from "../../base/errors.ts";
import { readLines } from "../../base/process/lines.ts";
import { LastStderrLine } from "../../base/process/stderr-log.ts";
import { maskText } from "../../base/text/mask.ts";
import { usualVariables } from "../../base/process/environment.ts";
import { PREFERRED_TRANSPORT } from "../sdk/flags.ts";
import { isLimited, type PermittedPaths, permittedPaths, portsOf } from "./permissions.ts";
import type { PluginFolder } from "./plugin-folder.ts";
import type { PluginSettings } from "./settings.ts";

export interface PluginProcess {
  readonly child: Pick<OwnedChild, "pid" | "exit" | "end" | "kill">;
  /** Where it serves, as it says itself. */
  readonly address: string;
  /** Connects to a port in its network, where it has one of its own. */
  readonly reach?: PluginConfinement["connect"] | undefined;
}

/** A plugin that is to reach only what was approved. */
export interface ConfinedPlugin extends PermittedPaths {
  readonly id: string;
  readonly run: boolean;
  readonly hosts: readonly string[];
  /** Ports of this machine that it may reach, and by which name. */
  readonly ports: ReadonlyMap<number, string>;
  /** Takes each connection that it makes to the bus. */
  readonly bus: (socket: Socket) => void;
}

/** The confinement of a running plugin to its permissions. */
export interface PluginConfinement extends AsyncDisposable {
  readonly confine: Confiner;
  /** Where it reaches the bus. */
  readonly busAddress: string;
  /** Connects to a port that it listens at. */
  connect(port: number, signal?: AbortSignal): Promise<Socket>;
}

/** Undefined where a person has switched the sandbox off. Throws where there is none. */
export type ConfinePlugin = (plugin: ConfinedPlugin) => Promise<PluginConfinement | undefined>;

/** The options for starting plugins that are the same for all of them. */
export interface PluginPlace {
  /** We dial it over TLS if we can, so it need not serve QUIC. */
  readonly prefersTls?: boolean | undefined;
  /** Confines a plugin to its permissions. */
  readonly confine?: ConfinePlugin | undefined;
  /** Takes connections to the bus from the network of such a plugin. */
  readonly bus?: ((socket: Socket) => void) | undefined;
}

export interface PluginStart extends PluginPlace {
  readonly settings: PluginSettings;
  /** Where we serve. */
  readonly orchestratorAddress: string;
  readonly certsDir: string;
  /** Milliseconds until it must be ready. */
  readonly timeout: number;
  readonly signal: AbortSignal;
  /** Called with the lines that it prints beside its READY line. */
  readonly said: (line: string) => void;
}

/** Characters of a plugin's last line that are shown with the reason of its end. */
export const LONGEST_WORDS = 200;

const READY = /^READY\s+(\S+)\s*$/;

/** Starts a plugin and waits until it says where it serves. When it does not, it is ended. */
export async function startPlugin(start: PluginStart): Promise<PluginProcess> {
  const { signal, timeout, said } = start;
  signal.throwIfAborted();
  const ready = Promise.withResolvers<string>();
  ready.promise.catch(() => {});
  const words = new LastStderrLine();
  const { child, reach } = await launch(start, (line) => {
    const address = READY.exec(line)?.[1];
    if (address !== undefined) return ready.resolve(address);
    words.add(line);
    said(line);
  });
  using ends = new DisposableStack();
  ends.defer(onAbort(signal, ready.reject));
  background(
    child.exit.then((exit) => {
      const last = maskText(words.line ?? "").slice(0, LONGEST_WORDS);
      const saying = last === "" ? "" : `, after saying: ${last}`;
      ready.reject(fault(`ended (${exit}) before it was READY${saying}`));
    }),
    "Noting the end of a plugin",
  );
  await using opening = new AsyncDisposableStack();
  opening.defer(() => child.end());
  const late = (): Error => fault(`did not say READY within ${timeout} ms`);
  const address = await atMost(timeout, ready.promise, late);
  opening.move();
  return { child, address, reach };
}

/** Starts a plugin with the certificates in its folder. */
export async function startInFolder(
  folder: PluginFolder,
  start: Omit<PluginStart, "certsDir">,
): Promise<PluginProcess> {
  const begin = (): Promise<PluginProcess> => startPlugin({ ...start, certsDir: folder.path });
  const first = begin();
  await first.catch(() => {});
  if (!folder.hasOwnAuthority) return first;
  // It trusts only its own authority now.
  await first.then(
    ({ child }) => child.end(),
    () => {},
  );
  await folder.restore();
  return begin();
}

type LaunchedPlugin = Omit<PluginProcess, "address">;

async function launch(start: PluginStart, stderr: (line: string) => void): Promise<LaunchedPlugin> {
  const { binary: command, permissions } = start.settings;
  if (isLimited(permissions)) return launchLimited(start, stderr);
  const args = argumentsOf(start, start.orchestratorAddress);
  return { child: await begin(start, { command, args, env: variablesOf(start), stderr }) };
}

/** Starts a program in a sandbox, in which it can do only what was approved. */
async function launchLimited(
  start: PluginStart,
  stderr: (line: string) => void,
): Promise<LaunchedPlugin> {
  const { settings, certsDir, confine, bus, orchestratorAddress } = start;
  const { id, binary, code, wrapper, permissions = {} } = settings;
  const { run = false, hosts = [] } = permissions;
  if (confine === undefined || bus === undefined) throw fault("cannot be limited on this bus");
  const ports = portsOf(hosts);
  // Node itself is in every sandbox, and none of its neighbours.
  const files = [binary, code, wrapper].filter((file) => file !== process.execPath);
  const paths = permittedPaths(
    permissions,
    files.filter((file) => file !== undefined),
    certsDir,
  );
  const confined = await confine({ ...paths, id, run, hosts, ports, bus });
  // The links that lead to it are not in the sandbox.
  const real = (file: string): string => (isAbsolute(file) ? realpathSync(file) : file);
  const command = real(binary);
  const args = argumentsOf(start, confined?.busAddress ?? orchestratorAddress).map((arg) =>
    arg === code ? real(arg) : arg,
  );
  const given = { env: variablesOf(start), stderr };
  if (confined === undefined) return { child: await begin(start, { command, args, ...given }) };
  await using opening = new AsyncDisposableStack();
  opening.use(confined);
  const child = await begin(start, confined.confine({ command, args, ...given }));
  opening.move();
  const { pid, exit } = child;
  const over = child.gone.then(() => confined[Symbol.asyncDispose]());
  background(over, "Removing the network of a plugin");
  const end = async (): Promise<void> => {
    await child.end();
    await over;
  };
  return {
    child: { pid, exit, end, kill: () => child.kill() },
    reach: (port, signal) => confined.connect(port, signal),
  };
}

function variablesOf({ settings, prefersTls }: PluginStart): NodeJS.ProcessEnv {
  const hint = prefersTls === true ? { [PREFERRED_TRANSPORT]: "tls" } : {};
  return { ...usualVariables(), ...hint, ...settings.env };
}

function argumentsOf({ settings, certsDir }: PluginStart, orchestratorAddress: string): string[] {
  // Where QUIC would take an engine, and so a process and its rights, for each. A program of another
  // SDK may only know QUIC; one of ours reads which transport we prefer.
  // The network of a sandbox carries nothing else than TCP.
  const listen = isLimited(settings.permissions) ? "tls://localhost:0" : "localhost:0";
  return [
    ...settings.args,
    `--orchestrator-addr=${orchestratorAddress}`,
    `--listen-addr=${listen}`,
    `--certs-dir=${certsDir}`,
  ];
}

async function begin({ said }: PluginStart, options: ChildOptions): Promise<OwnedChild> {
  const child = await OwnedChild.start(options);
  readLines(child.stdout, said);
  return child;
}

function fault(what: string): TrunklineError {
  return new TrunklineError("unavailable", `It ${what}`);
}
