import { existsSync } from "node:fs";
import { resolve } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { counted } from "../../base/text/counted.ts";
import { type BusControl, openBusControl } from "../../plugin/open/bus-control.ts";
import { lookAtPlugin } from "../../plugin/open/look-at-plugin.ts";
import type { Config } from "../../config/config.ts";
import { editConfig } from "../../config/edit/edit-config.ts";
import { valueAt } from "../../config/layer.ts";
import { userFile } from "../../config/locations.ts";
import { typedCommand } from "../../base/process/self-command.ts";
import { scaffoldPlugin } from "../../plugin/scaffold/scaffold.ts";
import { pluginSandboxStatus } from "../../sandbox/open/local-sandbox-status.ts";
import { checkPluginId } from "../../plugin/guests.ts";
import { settingsOf } from "../../plugin/open/bus.ts";
import { type PluginPin, pinOf } from "../../plugin/plugin/pin.ts";
import type { DeclaredManifest } from "../../plugin/declared-manifest.ts";
import { findPlugin, type FoundPlugin } from "../../plugin/installed-plugin.ts";
import { type PluginPermissions, SHARED } from "../../plugin/plugin/permissions.ts";
import type { PluginStatus } from "../../plugin/plugin/plugin.ts";
import {
  addEntry,
  type EditValues,
  inputOf,
  kindOf,
  pathFor,
  programOf as commandOf,
  readPairs,
  removeEntry,
  tellEdited,
} from "../config/edit-entry.ts";
import type { EntrySection } from "../../config/edit/config-entries.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { linesText, print, printList, table } from "../shell/layout.ts";
import { openQuietApp } from "../shell/open-app.ts";
import { printResult, readArguments } from "../tools/tools.ts";
import { approve, type ConsentValues, nameOf, wantedOf } from "./approve.ts";

type BusValues = OptionValues<"orchestrator-addr" | "certs-dir">;

/** `trunkline plugin new NAME` */
export async function create(invocation: Invocation<OptionValues<"dir">>): Promise<number> {
  const { positionals, values, cwd } = invocation;
  const [name = ""] = positionals;
  const folder = resolve(cwd, values.dir ?? name);
  const begun = await scaffoldPlugin(folder, name, typedCommand(invocation.env));
  return print(invocation, { plugin: name, folder }, begun);
}

/** `trunkline plugin list` */
export async function list(invocation: Invocation<BusValues>): Promise<number> {
  const isNamed = invocation.values["orchestrator-addr"] !== undefined;
  const opened = await open(invocation).catch((error: unknown) => {
    if (isNamed || !(error instanceof TrunklineError) || error.code !== "unavailable") throw error;
    return error;
  });
  if (opened instanceof TrunklineError) return listConfigured(invocation, opened);
  await using bus = opened;
  const plugins = await bus.list();
  const rows = [HEADINGS, ...plugins.map(rowOf)];
  return printList(invocation, { plugins }, rows, "The bus has no plugins.");
}

/** The plugins of the configuration, for when no bus is running. */
async function listConfigured(invocation: Invocation, why: TrunklineError): Promise<number> {
  const { config } = await openQuietApp(invocation);
  const ids = Object.keys(config.bus.plugins);
  const plugins = ids.map((id) => ({ id, state: "not running" }));
  const text = ids.length === 0 ? "" : table([["PLUGIN", "STATE"], ...plugins.map(Object.values)]);
  return print(invocation, { plugins }, text, { notes: [why.message] });
}

const HEADINGS = [
  ...["PLUGIN", "STATE", "TOOLS", "CALLS", "WAITING", "TIMEOUT", "RESTARTS"],
  ...["SANDBOX", "HOSTS", "HEALTH"],
];

/** The row of one plugin: what it uses now, and its limits. */
function rowOf(plugin: PluginStatus): string[] {
  const { id, state, tools, restarts, calls, waiting, limits, health, lastError } = plugin;
  return [
    ...[id, state, String(tools)],
    ...[`${calls} of ${limits.calls}`, `${waiting} of ${limits.queue}`],
    `${limits.call / 1000} s`,
    String(restarts),
    state === "up" ? (plugin.hosts === undefined ? "no" : "yes") : "",
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

/** `trunkline plugin log ID` */
export async function logs(invocation: Invocation<BusValues>): Promise<number> {
  await using bus = await open(invocation);
  const lines = await bus.logs(invocation.positionals[0] ?? "");
  const notes = lines.length === 0 ? ["It has logged nothing."] : [];
  return print(invocation, { lines }, linesText(lines.map(visibleLine)), { notes });
}

/** `trunkline plugin restart ID` */
export async function restart(invocation: Invocation<BusValues>): Promise<number> {
  await using bus = await open(invocation);
  const plugin = await bus.restart(invocation.positionals[0] ?? "");
  const { id, state, tools } = plugin;
  const text = `${visibleLine(id)} is ${state}, with ${counted(tools, "tool")}.\n`;
  return print(invocation, { plugin }, text, { code: state === "up" ? 0 : 1 });
}

async function open(invocation: Invocation<BusValues>): Promise<BusControl> {
  const { values, cwd } = invocation;
  const certsDir = values["certs-dir"];
  return openBusControl(await openQuietApp(invocation), {
    address: values["orchestrator-addr"],
    certsDir: certsDir === undefined ? undefined : resolve(cwd, certsDir),
  });
}

const PLUGINS: EntrySection = { what: "plugin", path: ["bus", "plugins"] };

const SHOWN = "`trunkline plugin list` shows its state.";

type PluginValues = EditValues &
  ConsentValues &
  OptionValues<"id" | "cwd", "mcp" | "replace", "env">;

type PluginEntry = Config["bus"]["plugins"][string];

/** `trunkline plugin add PATH|PACKAGE` */
export async function add(invocation: Invocation<PluginValues>): Promise<number> {
  const { values, positionals, cwd } = invocation;
  if (values.mcp === true) return addServer(invocation);
  if (values.cwd !== undefined) {
    throw new TrunklineError("usage", "--cwd is for MCP servers: add --mcp, or leave it out.");
  }
  const [where = "", ...args] = positionals;
  const found = findPlugin(where, cwd);
  const { id, permissions, version } = await askAbout(invocation, found, { given: values.id });
  const env = values.env === undefined ? {} : { env: await readPairs("--env", values.env) };
  const settings = { ...programOf(found, args), permissions, ...env };
  const entry = { ...settings, ...(await pinFor(id, settings, version)) };
  return addEntry(invocation, PLUGINS, id, entry, SHOWN);
}

interface AskOptions {
  /** If an id is given, the plugin is not examined. */
  readonly given?: string | undefined;
  /** The only id that it may have. */
  readonly expected?: string;
  /** Whether it may do everything already. */
  readonly hasAll?: boolean | undefined;
}

/** Examines a plugin, and asks the person which permissions it gets. */
async function askAbout(
  invocation: Invocation<PluginValues>,
  found: FoundPlugin,
  { given, expected, hasAll }: AskOptions,
) {
  const { values, err } = invocation;
  const config = await configBefore(invocation);
  const limits = await pluginSandboxStatus(config);
  const manifest: DeclaredManifest =
    given === undefined ? await lookAtPlugin(found, config.data, limits) : { id: given };
  const { id, version } = manifest;
  if (expected !== undefined && id !== expected) {
    throw cannotApprove(expected, `its manifest is that of '${visibleLine(id)}'`);
  }
  const isScript = found.args.length > 0;
  const before = entryOf(config, id);
  const namespace = before && (before.permissions?.namespace ?? SHARED);
  const wanted = wantedOf({ manifest, isScript, limits, namespace, hasAll }, values);
  await approve(values, id, wanted);
  const { permissions } = wanted;
  if (manifest.permissions === undefined && permissions.everything !== true) {
    const next = "It runs in a sandbox, with its own package; --allow-everything lifts that";
    err(`note: '${visibleLine(id)}' declares no permissions of this machine. ${next}.\n`);
  }
  return { id, permissions, version };
}

/** What is approved of the code of an entry, as it is now. */
async function pinFor(
  id: string,
  entry: PluginEntry,
  version?: string,
): Promise<{ readonly pin?: PluginPin }> {
  const pin = await pinOf(settingsOf(id, entry), version);
  return pin === undefined ? {} : { pin };
}

/** The configuration. A file that is named but does not exist yet is ignored: this command creates it. */
async function configBefore(invocation: Invocation<PluginValues>): Promise<Config> {
  const { values, env } = invocation;
  if (existsSync(userFile(inputOf(invocation)).path))
    return (await openQuietApp(invocation)).config;
  const { config: _, ...others } = values as PluginValues & { readonly config?: string };
  const unnamed = { ...invocation, values: others, env: { ...env, TRUNKLINE_CONFIG: "" } };
  return (await openQuietApp(unnamed)).config;
}

/** The entry of a plugin. An id may be the name of a member that every object has. */
function entryOf({ bus: { plugins } }: Config, id: string): PluginEntry | undefined {
  return Object.hasOwn(plugins, id) ? plugins[id] : undefined;
}

/** A script for Node is a module. */
function programOf({ command, args: [module] }: FoundPlugin, more: readonly string[]): PluginEntry {
  const args = more.length === 0 ? {} : { args: [...more] };
  return module === undefined ? { command, ...args } : { module, ...args };
}

/** `trunkline plugin add --mcp -- COMMAND…` */
async function addServer(invocation: Invocation<PluginValues>): Promise<number> {
  const { values, positionals } = invocation;
  const env = values.env === undefined ? {} : { env: await readPairs("--env", values.env) };
  const id = values.id ?? nameOf(positionals);
  checkPluginId(id);
  const permissions: PluginPermissions = { everything: true, namespace: id };
  const why = "an MCP server runs outside the sandbox";
  await approve(values, id, { permissions, why: `${why}, unless its entry has other permissions` });
  const { command, args = [] } = commandOf(invocation, positionals);
  const cwd = pathFor(invocation, values.cwd ?? ".");
  const entry = { mcp: [command, ...args], cwd, permissions, ...env };
  // A project's file has the folder in its own way.
  const pin = await pinFor(id, { ...entry, cwd: resolve(invocation.cwd, cwd) });
  return addEntry(invocation, PLUGINS, id, { ...entry, ...pin }, SHOWN);
}

/** `trunkline plugin approve ID` */
export async function approveAgain(invocation: Invocation<PluginValues>): Promise<number> {
  const { values, positionals, cwd } = invocation;
  const [id = ""] = positionals;
  const { config } = await openQuietApp(invocation);
  const entry = entryOf(config, id);
  if (entry === undefined) throw cannotApprove(id, "the configuration has none of that id");
  const file = "module" in entry ? entry.module : "command" in entry ? entry.command : undefined;
  let permissions: PluginPermissions;
  let version: string | undefined;
  if (entry.permissions === undefined || file === undefined) {
    permissions = entry.permissions ?? ALL_RIGHTS;
    await approve(values, id, { permissions, why: "it was added before anybody was asked" });
  } else {
    const { everything: hasAll } = entry.permissions;
    const found = findPlugin(file, cwd);
    ({ permissions, version } = await askAbout(invocation, found, { expected: id, hasAll }));
  }
  const { pin } = await pinFor(id, entry, version);
  const at = [...PLUGINS.path, id];
  const edited = await editConfig(inputOf(invocation), kindOf(invocation), (now) => {
    if (valueAt(now, at) === undefined)
      throw cannotApprove(id, "it is in another file; see --project");
    return [
      { path: [...at, "permissions"], value: permissions },
      ...(pin === undefined ? [] : [{ path: [...at, "pin"], value: pin }]),
    ];
  });
  return tellEdited(invocation, edited, `Approved plugin '${id}' in`, SHOWN);
}

function cannotApprove(id: string, why: string): TrunklineError {
  return new TrunklineError("not-found", `Cannot approve plugin '${visibleLine(id)}': ${why}.`);
}

/** The permissions of a plugin that was configured without any: it runs with all rights. */
const ALL_RIGHTS: PluginPermissions = {
  ...{ everything: true, namespace: SHARED, tools: ["*"], publish: ["*"], subscribe: ["*"] },
  provides: { tools: ["*"], prompts: ["*"], storage: ["*"], ai: ["*"] },
};

/** `trunkline plugin remove ID` */
export async function remove(invocation: Invocation<EditValues>): Promise<number> {
  return removeEntry(invocation, PLUGINS, invocation.positionals[0] ?? "");
}
