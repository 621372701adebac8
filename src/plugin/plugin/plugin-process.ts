import { background } from "../../base/background.ts";
import { OwnedChild } from "../../base/process/child-process.ts";
import { TrunklineError } from "../../base/errors.ts";
import { LastWords } from "../../base/process/stderr-log.ts";
import { maskText } from "../../base/text/mask.ts";
import { usualVariables } from "../../base/process/environment.ts";
import type { PluginHost, PluginRun } from "../host/plugin-host.ts";
import { PREFERRED_TRANSPORT } from "../sdk/flags.ts";
import { permissionFlags } from "./permission-flags.ts";
import type { PluginSettings } from "./settings.ts";

export interface PluginProcess {
  readonly child: PluginRun;
  /** Where it serves, as it says itself. */
  readonly address: string;
}

export interface PluginStart {
  readonly settings: PluginSettings;
  /** Where we serve. */
  readonly orchestratorAddress: string;
  /** We dial it over TLS if we can, so it need not serve QUIC. */
  readonly prefersTls?: boolean | undefined;
  readonly certsDir: string;
  /** Milliseconds until it must be ready. */
  readonly timeout: number;
  readonly signal: AbortSignal;
  /** What it says beside its READY line. */
  readonly said: (line: string) => void;
  /** The process for those that share one. */
  readonly host?: PluginHost | undefined;
}

/** So much of a plugin's last words is told with the reason of its end. */
export const LONGEST_WORDS = 200;

const READY = /^READY\s+(\S+)\s*$/;

/** Starts a plugin and waits until it says where it serves. When it does not, it is ended. */
export async function startPlugin(start: PluginStart): Promise<PluginProcess> {
  const { signal, timeout, said } = start;
  signal.throwIfAborted();
  const ready = Promise.withResolvers<string>();
  ready.promise.catch(() => {});
  const words = new LastWords();
  const child = await launch(start, (line) => {
    const address = READY.exec(line)?.[1];
    if (address !== undefined) {
      ready.resolve(address);
      return;
    }
    words.add(line);
    said(line);
  });
  const late = setTimeout(() => {
    ready.reject(fault(`did not say READY within ${timeout} ms`));
  }, timeout);
  const stop = (): void => ready.reject(signal.reason as Error);
  signal.addEventListener("abort", stop, { once: true });
  // It may have come while the process was being started.
  if (signal.aborted) stop();
  background(
    child.exit.then((exit) => {
      const last = maskText(words.line ?? "").slice(0, LONGEST_WORDS);
      const saying = last === "" ? "" : `, after saying: ${last}`;
      ready.reject(fault(`ended (${exit}) before it was READY${saying}`));
    }),
    "Noting the end of a plugin",
  );
  try {
    return { child, address: await ready.promise };
  } catch (error) {
    await child.end();
    throw error;
  } finally {
    clearTimeout(late);
    signal.removeEventListener("abort", stop);
  }
}

/** Starts the program, or the module in the process that it shares with others. */
async function launch(start: PluginStart, stderr: (line: string) => void): Promise<PluginRun> {
  const { settings, host, orchestratorAddress, certsDir } = start;
  const { module, binary, permissions } = settings;
  // Where QUIC would take an engine, and so a process and its rights, for each. A program of another
  // SDK may only know QUIC; one of ours reads which transport we prefer.
  const listen = module === undefined ? "localhost:0" : "tls://localhost:0";
  const args = [
    ...settings.args,
    `--orchestrator-addr=${orchestratorAddress}`,
    `--listen-addr=${listen}`,
    `--certs-dir=${certsDir}`,
  ];
  const hint = start.prefersTls === true ? { [PREFERRED_TRANSPORT]: "tls" } : {};
  const env = { ...usualVariables(), ...hint, ...settings.env };
  const isShared = module !== undefined && permissions === undefined && host !== undefined;
  if (isShared) return host.start({ file: module, args, env, stderr });
  const first =
    module === undefined
      ? []
      : [...(await permissionFlags(permissions ?? {}, module, certsDir)), module];
  const child = await OwnedChild.start({ command: binary, args: [...first, ...args], env, stderr });
  // Nobody reads what it prints there, and a full pipe would hold it.
  child.stdout.resume();
  return child;
}

function fault(what: string): TrunklineError {
  return new TrunklineError("unavailable", `It ${what}`);
}
