import { addCommand, installedAgents } from "../../agent/installed-agents.ts";
import { TrunklineError } from "../../base/errors.ts";
import { maskText } from "../../base/text/mask.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { BUILT_IN } from "../../config/config.ts";
import { setValue } from "../../config/edit/set-value.ts";
import { keyText } from "../../config/layer.ts";
import { loadConfig } from "../../config/load.ts";
import {
  addEntry,
  type EditValues,
  fileOf,
  inputOf,
  kindOf,
  noteMissingProgram,
  programOf,
  readPairs,
  removeEntry,
} from "../config/edit-entry.ts";
import type { EntrySection } from "../../config/edit/config-entries.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { linesText, print, table } from "../shell/layout.ts";

/** `trunkline agent list` */
export async function list(invocation: Invocation): Promise<number> {
  const { err } = invocation;
  const loaded = await loadConfig(inputOf(invocation));
  for (const warning of loaded.warnings) err(`warning: ${warning}\n`);
  const { agent, agents } = loaded.config;
  const others = Object.entries(agents).map(([name, { command, args = [] }]) => {
    const origin = loaded.origins.get(keyText(["agents", name, "command"]));
    const from = origin === undefined ? "" : fileOf(invocation, origin.where);
    return { name, runs: maskText([command, ...args].join(" ")), from };
  });
  const listed = [{ name: BUILT_IN, runs: "", from: "built in" }, ...others].map((each) => {
    return { ...each, isDefault: each.name === agent.name };
  });
  const rows = listed.map(({ name, runs, from, isDefault }) => {
    return [isDefault ? "*" : " ", name, from, runs];
  });
  const found = installedAgents(invocation.env, Object.keys(agents));
  const offers = found.map((each) => `${each.name} is installed: ${addCommand(each)}`);
  const text = table([[" ", "NAME", "FROM", "COMMAND"], ...rows]);
  const shown = offers.length === 0 ? text : `${text}\n${linesText(offers.map(visibleLine))}`;
  return print(invocation, { agents: listed, found }, shown);
}

const AGENTS: EntrySection = { what: "agent", path: ["agents"] };

type AgentValues = EditValues & OptionValues<"identity", "default" | "replace", "env">;

/** `trunkline agent add NAME -- COMMAND…` */
export async function add(invocation: Invocation<AgentValues>): Promise<number> {
  const { values, positionals } = invocation;
  const [name = "", ...command] = positionals;
  if (name === BUILT_IN) {
    const says = "the built-in agent has that name";
    throw new TrunklineError("usage", `Cannot add agent '${name}': ${says}.`);
  }
  const { env, identity } = values;
  const variables = await readPairs("--env", env);
  const settings = {
    ...programOf(invocation, command),
    ...(env === undefined ? {} : { env: variables }),
    ...(identity === undefined ? {} : { identity }),
  };
  const next = "Test it with `trunkline doctor --deep`.";
  const code = await addEntry(invocation, AGENTS, name, settings, next);
  noteMissingProgram(invocation, command[0] ?? "");
  if (values.default === true) {
    // The name is written as JSON, so that one such as `1` stays a text.
    const chosen = JSON.stringify(name);
    const { notes } = await setValue(inputOf(invocation), kindOf(invocation), "agent", chosen);
    for (const note of notes) invocation.err(`note: ${note}\n`);
  }
  return code;
}

/** `trunkline agent remove NAME` */
export async function remove(invocation: Invocation<EditValues>): Promise<number> {
  return removeEntry(invocation, AGENTS, invocation.positionals[0] ?? "");
}
