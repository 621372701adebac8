import { resolve } from "node:path";

import { BusControl } from "../../plugin/open/bus-control.ts";
import type { PluginStatus } from "../../plugin/plugin/plugin.ts";
import type { Invocation, Values } from "../shell/command.ts";
import { counted, table } from "../shell/layout.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { openQuietApp } from "../shell/open-app.ts";
import { printResult, readArguments } from "../tools/tool-result.ts";

interface BusValues extends Values {
  readonly "orchestrator-addr"?: string;
  readonly "certs-dir"?: string;
  readonly json?: boolean;
}

/** `trunkline plugin new NAME` */
export async function create(
  invocation: Invocation<{ readonly dir?: string; readonly json?: boolean }>,
): Promise<number> {
  const { positionals, values, cwd, out } = invocation;
  const [name = ""] = positionals;
  const { scaffoldPlugin } = await import("../../plugin/scaffold/scaffold.ts");
  const folder = resolve(cwd, values.dir ?? name);
  const begun = await scaffoldPlugin(folder, name);
  out(values.json === true ? `${JSON.stringify({ plugin: name, folder }, null, 2)}\n` : begun);
  return 0;
}

/** `trunkline plugin list` */
export async function list(invocation: Invocation<BusValues>): Promise<number> {
  await using bus = await open(invocation);
  const plugins = await bus.list();
  const { values, out, err } = invocation;
  if (values.json === true) out(`${JSON.stringify({ plugins }, null, 2)}\n`);
  else if (plugins.length === 0) err("The bus has no plugins.\n");
  else {
    out(table([HEADINGS, ...plugins.map(rowOf)]));
  }
  return 0;
}

const HEADINGS = [
  ...["PLUGIN", "STATE", "TOOLS", "CALLS", "WAITING", "TIMEOUT", "RESTARTS"],
  ...["HOSTS", "HEALTH"],
];

/** What is in use now, and how much may be. */
function rowOf(plugin: PluginStatus): string[] {
  const { id, state, tools, restarts, calls, waiting, limits, health, lastError } = plugin;
  return [
    ...[id, state, String(tools)],
    ...[`${calls} of ${limits.calls}`, `${waiting} of ${limits.queue}`],
    `${limits.call / 1000} s`,
    String(restarts),
    state === "up" ? hostsOf(plugin) : "",
    (state === "up" ? health : lastError) ?? "",
  ];
}

/** The hosts that it reaches beside the bus. */
function hostsOf({ hosts }: PluginStatus): string {
  if (hosts === undefined) return "any";
  return hosts.length === 0 ? "none" : hosts.join(", ");
}

/** `trunkline plugin call NAME` */
export async function call(
  invocation: Invocation<BusValues & { readonly args: string }>,
): Promise<number> {
  const args = await readArguments(invocation.values.args);
  await using bus = await open(invocation);
  const result = await bus.call(invocation.positionals[0] ?? "", args, invocation.cwd);
  return printResult(invocation, result);
}

/** `trunkline plugin logs ID` */
export async function logs(invocation: Invocation<BusValues>): Promise<number> {
  await using bus = await open(invocation);
  const lines = await bus.logs(invocation.positionals[0] ?? "");
  const { values, out, err } = invocation;
  if (values.json === true) out(`${JSON.stringify({ lines }, null, 2)}\n`);
  else if (lines.length === 0) err("It has logged nothing.\n");
  else for (const line of lines) out(`${visibleLine(line)}\n`);
  return 0;
}

/** `trunkline plugin restart ID` */
export async function restart(invocation: Invocation<BusValues>): Promise<number> {
  await using bus = await open(invocation);
  const plugin = await bus.restart(invocation.positionals[0] ?? "");
  const { values, out } = invocation;
  if (values.json === true) out(`${JSON.stringify({ plugin }, null, 2)}\n`);
  else
    out(`${visibleLine(plugin.id)} is ${plugin.state}, with ${counted(plugin.tools, "tool")}.\n`);
  return plugin.state === "up" ? 0 : 1;
}

async function open(invocation: Invocation<BusValues>): Promise<BusControl> {
  const { values, cwd } = invocation;
  const certsDir = values["certs-dir"];
  return BusControl.connect(await openQuietApp(invocation), {
    address: values["orchestrator-addr"],
    certsDir: certsDir === undefined ? undefined : resolve(cwd, certsDir),
  });
}
