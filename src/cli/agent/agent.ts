import { addCommand, installedAgents } from "../../agent/installed-agents.ts";
import { ExternalAgent } from "../../agent/external-agent.ts";
import { TrunklineError } from "../../base/errors.ts";
import { maskText } from "../../base/text/mask.ts";
import { suggest } from "../../base/text/suggest.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { BUILT_IN } from "../../config/config.ts";
import { setValue } from "../../config/edit/set-value.ts";
import { keyText } from "../../config/layer.ts";
import { loadConfig } from "../../config/load.ts";
import {
  addEntry,
  type Editing,
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
import { openQuietApp } from "../shell/open-app.ts";

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

/** `trunkline agent test NAME` */
export async function test(invocation: Invocation): Promise<number> {
  const [name = ""] = invocation.positionals;
  const { config, log } = await openQuietApp(invocation);
  const settings = Object.hasOwn(config.agents, name) ? config.agents[name] : undefined;
  if (settings === undefined) throw unknownAgent(name, Object.keys(config.agents));
  const started = performance.now();
  await using agent = new ExternalAgent({ name, ...settings, limits: config.limits.messages, log });
  const { connection, capabilities } = await agent
    .process("terminal", undefined)
    .catch(inWords(name));
  const milliseconds = Math.round(performance.now() - started);
  const { authMethods, ...said } = connection.agent;
  const { agentInfo } = said as { readonly agentInfo?: { name?: string; version?: string } };
  const canLoad = capabilities.can("load") || capabilities.can("resume");
  const needsLogin = (authMethods ?? []).length > 0;
  const { name: program, version } = agentInfo ?? {};
  const is = program === undefined ? "" : ` (${[program, version].filter(Boolean).join(" ")})`;
  const lines = [
    `'${visibleLine(name)}' works: it answered after ${milliseconds} ms${visibleLine(is)}.`,
    `  ${canLoad ? "Continues" : "Does not continue"} earlier sessions.`,
    ...(needsLogin ? ["  It may ask you to log in when a session starts."] : []),
  ];
  const facts = { name, milliseconds, agentInfo, canLoad, needsLogin };
  return print(invocation, facts, linesText(lines));
}

function unknownAgent(name: string, names: readonly string[]): TrunklineError {
  const [near] = suggest(name, names);
  const all =
    names.length === 0 ? "Only the built-in one is there." : `There are: ${names.join(", ")}.`;
  const builtIn = "it is built in, and there is no program to start. Use `trunkline chat`.";
  const next = near === undefined ? all : `Did you mean '${near}'?`;
  const why = name === BUILT_IN ? builtIn : `no such agent. ${next}`;
  return new TrunklineError("not-found", `Cannot test agent '${name}': ${why}`);
}

/** A failure of another program is not a bug of ours. */
function inWords(name: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof TrunklineError) throw error;
    const says = `Agent '${name}' does not work: ${(error as Error).message}.`;
    throw new TrunklineError("unavailable", says, { cause: error });
  };
}

const AGENTS: EntrySection = { what: "agent", path: ["agents"] };

type AgentValues = Editing & OptionValues<"identity", "default" | "replace", "env">;

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
  const next = `Test it with \`trunkline agent test ${/\s/.test(name) ? `'${name}'` : name}\`.`;
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
export async function remove(invocation: Invocation<Editing>): Promise<number> {
  return removeEntry(invocation, AGENTS, invocation.positionals[0] ?? "");
}
