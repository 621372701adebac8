import { existsSync, readFileSync } from "node:fs";
import { delimiter, isAbsolute } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { selfCommand } from "../../base/process/self-command.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { userFile } from "../../config/locations.ts";
import { runningGateways } from "../../store/access/running-gateways.ts";
import type { Invocation } from "../../cli/shell/command.ts";
import { openQuietApp } from "../../cli/shell/open-app.ts";
import { keptOptions, type ServiceWords, taskCommand } from "./service-files.ts";
import { Launchd, type ServiceManager, UserSystemd, writeService } from "./service-manager.ts";

interface ServiceValues {
  readonly [name: string]: string | boolean | readonly string[] | undefined;
  readonly host?: string;
  readonly port?: string;
  readonly print?: boolean;
  readonly config?: string;
  readonly data?: string;
  readonly json?: boolean;
}

/** `trunkline service install` */
export async function install(invocation: Invocation<ServiceValues>): Promise<number> {
  const { values, out, err } = invocation;
  // Throws for a configuration that cannot be read: the service would stop again and again.
  const { config } = await openQuietApp(invocation);
  const manager = managerOf(process.platform, invocation.env);
  const words = wordsOf(invocation, config.data, manager?.file ?? "");
  if (manager === undefined) {
    // Only the user can create a task, in a window of Windows.
    out(`Run this once:\n${taskCommand(words)}\n`);
    return 0;
  }
  const text = manager.text(words);
  if (values.print === true) {
    out(values.json === true ? `${JSON.stringify({ file: manager.file, text }, null, 2)}\n` : text);
    return 0;
  }
  await manager.check();
  const isChanged = await writeService(manager.file, text);
  await manager.start(isChanged);
  const advice = await manager.advice();
  if (values.json === true) {
    out(`${JSON.stringify({ file: manager.file, changed: isChanged, advice }, null, 2)}\n`);
    return 0;
  }
  out(`${isChanged ? "Installed" : "Already installed"}: ${visibleLine(manager.file)}\n`);
  out("The gateway runs, and starts again at each login. `trunkline service status` shows it.\n");
  if (advice !== undefined) err(`${advice}\n`);
  return 0;
}

/** `trunkline service remove` */
export async function remove(invocation: Invocation<ServiceValues>): Promise<number> {
  const { values, out } = invocation;
  const manager = managerOf(process.platform, invocation.env);
  if (manager === undefined) {
    out("Run: schtasks /Delete /TN Trunkline /F\n");
    return 0;
  }
  const isInstalled = existsSync(manager.file);
  await manager.stop();
  if (values.json === true) out(`${JSON.stringify({ removed: isInstalled }, null, 2)}\n`);
  else out(isInstalled ? "Removed the service.\n" : "The service was not installed.\n");
  return 0;
}

/** `trunkline service status`: 0 if it is installed and runs. */
export async function status(invocation: Invocation<ServiceValues>): Promise<number> {
  const { values, out } = invocation;
  const { config } = await openQuietApp(invocation);
  const manager = managerOf(process.platform, invocation.env);
  if (manager === undefined) {
    out("Run: schtasks /Query /TN Trunkline\n");
    return 0;
  }
  const [gateway] = await runningGateways(config.data);
  const isInstalled = existsSync(manager.file);
  const found = isInstalled ? await reported(manager) : { state: "not installed", lines: [] };
  const isRunning = /^(?:active|running)/.test(found.state);
  if (values.json === true) {
    const shown = { ...found, installed: isInstalled, url: gateway?.url, file: manager.file };
    out(`${JSON.stringify(shown, null, 2)}\n`);
    return isRunning ? 0 : 1;
  }
  const rows = [
    ["state", found.state],
    ["since", "since" in found ? found.since : undefined],
    ["process", "pid" in found && found.pid !== undefined ? String(found.pid) : undefined],
    ["address", gateway?.url ?? "no gateway of this data folder runs"],
    ["file", isInstalled ? manager.file : "`trunkline service install` creates it"],
  ] as const;
  for (const [name, value] of rows) {
    if (value !== undefined) out(`${name.padEnd(8)} ${visibleLine(value)}\n`);
  }
  if (found.lines.length > 0) out("\n");
  for (const line of found.lines) out(`${visibleLine(line)}\n`);
  return isRunning ? 0 : 1;
}

/** What the service manager says; where it does not run, why. */
async function reported(
  manager: ServiceManager,
): Promise<Awaited<ReturnType<typeof manager.status>>> {
  try {
    await manager.check();
    return await manager.status();
  } catch (error) {
    return { state: "unknown", lines: [(error as Error).message] };
  }
}

/** Undefined on Windows. */
function managerOf(platform: NodeJS.Platform, env: NodeJS.ProcessEnv): ServiceManager | undefined {
  if (platform === "win32") return undefined;
  return platform === "darwin" ? new Launchd(env) : new UserSystemd(env);
}

function wordsOf(invocation: Invocation<ServiceValues>, data: string, file: string): ServiceWords {
  const { values, env, cwd } = invocation;
  const before = existsSync(file) ? keptOptions(readFileSync(file, "utf8")) : [];
  const kept = [
    ...option("--host", values.host, before),
    ...option("--port", portOf(values.port), before),
  ];
  const { path: config } = userFile({ cwd, env, flags: { config: values.config } });
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => isAbsolute(folder));
  return {
    command: [
      ...[...selfCommand(), "serve", ...kept, "--data", data],
      // The variables that lead to it may be other ones at login.
      ...(existsSync(config) ? ["--config", config] : []),
    ],
    path: [...new Set(folders)].join(delimiter),
    kept,
  };
}

/** An option as it is given now, or else as it was installed. */
function option(name: string, given: string | undefined, before: readonly string[]): string[] {
  const at = before.indexOf(name);
  const value = given ?? (at < 0 ? undefined : before[at + 1]);
  return value === undefined ? [] : [name, value];
}

function portOf(text: string | undefined): string | undefined {
  if (text === undefined || /^[1-9]\d{0,4}$/.test(text)) return text;
  const why = "a service needs the same port at each start: a number from 1 to 65535";
  throw new TrunklineError("usage", `Cannot use '${text}' for --port: ${why}.`);
}
