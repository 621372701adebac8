import {
  type AskedManifest,
  askManifest,
  findPlugin,
  type PluginProgram,
} from "../../plugin/installed-plugin.ts";
import { checkPluginId } from "../../plugin/guests.ts";
import type { InForce } from "../../gateway/session/local-in-force.ts";
import { addEntry, type EntrySection, removeEntry } from "../config/edit-entry.ts";
import { readPairs } from "../config/read-pairs.ts";
import type { Editing } from "../config/tell-edited.ts";
import type { Invocation } from "../shell/command.ts";
import { quietHouse } from "../shell/open-house.ts";
import { approve } from "./approve.ts";
import { nameOf } from "./server-id.ts";

const PLUGINS: EntrySection = { what: "plugin", path: ["bus", "plugins"] };

const SHOWN = "`trunkline plugin list` shows its state.";

type PluginValues = Editing & {
  readonly id?: string;
  readonly env?: readonly string[];
  readonly mcp?: boolean;
  readonly "own-process"?: boolean;
  readonly approve?: boolean;
  readonly replace?: boolean;
};

/** `trunkline plugin add PATH|PACKAGE` */
export async function add(invocation: Invocation<PluginValues>): Promise<number> {
  const { values, positionals, cwd } = invocation;
  if (values.mcp === true) return addServer(invocation);
  const [where = "", ...args] = positionals;
  const { command, args: first = [] } = findPlugin(where, cwd);
  const program = { command, args: first };
  const manifest: AskedManifest =
    values.id === undefined ? await askManifest(program) : { id: values.id };
  const { id } = manifest;
  checkPluginId(id);
  const limits = async (): Promise<InForce> => {
    const { pluginsInForce } = await import("../../gateway/session/local-in-force.ts");
    return pluginsInForce((await quietHouse(invocation)).config);
  };
  // Only a script can be kept to permissions. What a plugin calls, the bus itself can refuse.
  const { permissions: _, ...others } = manifest;
  const approved = await approve(invocation, first.length === 1 ? manifest : others, limits);
  const env = values.env === undefined ? {} : { env: await readPairs("--env", values.env) };
  const settings = { ...programOf(program, args, values), ...approved, ...env };
  return addEntry(invocation, PLUGINS, id, settings, SHOWN);
}

/** A script for Node is a module, which can share a process with others. */
function programOf(
  { command, args: [module, ...none] = [] }: PluginProgram,
  more: readonly string[],
  values: PluginValues,
) {
  const args = more.length === 0 ? {} : { args: [...more] };
  if (module === undefined || none.length > 0) return { command, ...args };
  return { module, ...args, ...(values["own-process"] === true ? { process: "own" } : {}) };
}

/** `trunkline plugin add --mcp -- COMMAND…` */
async function addServer(invocation: Invocation<PluginValues>): Promise<number> {
  const { values, positionals } = invocation;
  const env = values.env === undefined ? {} : { env: await readPairs("--env", values.env) };
  const settings = { mcp: positionals, ...env };
  const id = values.id ?? nameOf(positionals);
  checkPluginId(id);
  return addEntry(invocation, PLUGINS, id, settings, SHOWN);
}

/** `trunkline plugin remove ID` */
export async function remove(invocation: Invocation<Editing>): Promise<number> {
  return removeEntry(invocation, PLUGINS, invocation.positionals[0] ?? "");
}
