import { defined } from "../../base/defined.ts";
import { ModelCommands } from "../../agent/models/model-commands.ts";
import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { openKeys } from "../../identity/open/open-secret-store.ts";
import { secretNames } from "../../upstream/references.ts";
import { addEntry, type EditValues, removeEntry } from "../config/edit-entry.ts";
import type { EntrySection } from "../../config/edit/config-entries.ts";
import { readSecret } from "../shell/ask.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { openQuietApp } from "../shell/open-app.ts";
import { linesText, print } from "../shell/layout.ts";

/** `trunkline model list` */
export async function list(invocation: Invocation): Promise<number> {
  const listed = await (await openModels(invocation)).list();
  const { models, unanswered } = listed;
  const widest = Math.max(...models.map(({ id }) => visibleLine(id).length));
  const lines = models.map(({ id, name, isDefault }) => {
    return `${isDefault ? "*" : " "} ${visibleLine(id).padEnd(widest)}  ${visibleLine(name)}`;
  });
  const notes = Object.entries(unanswered).map(
    ([provider, why]) => `${visibleLine(provider)} did not list its models: ${why}`,
  );
  if (models.some(({ isFound, isDefault }) => isFound && !isDefault)) {
    notes.push("To use a model found on this machine, set `models.default`.");
  }
  if (models.length === 1 && Object.keys(unanswered).length === 0) {
    const how = "`trunkline model key set ANTHROPIC_API_KEY`, or start a model on this machine";
    notes.push(`There is no language model. Store a provider's key, such as with ${how}.`);
  }
  return print(invocation, listed, linesText(lines), { notes });
}

/** `trunkline model key set VARIABLE` */
export async function setKey(invocation: Invocation): Promise<number> {
  const [variable = ""] = invocation.positionals;
  const commands = await openModels(invocation);
  const key = await readSecret("Key: ");
  const where = await commands.saveKey(variable, key);
  const says = `Stored ${visibleLine(variable)} in ${visibleLine(where)}.\n`;
  return print(invocation, { variable, where }, says);
}

/** `trunkline model key clear VARIABLE` */
export async function clearKey(invocation: Invocation): Promise<number> {
  const { positionals } = invocation;
  const [variable = ""] = positionals;
  const wasThere = await (await openModels(invocation)).clearKey(variable);
  const says = wasThere ? `Deleted ${visibleLine(variable)}.\n` : "No such key was stored.\n";
  return print(invocation, { variable, wasThere }, says);
}

async function openModels(invocation: Invocation): Promise<ModelCommands> {
  const { config, log } = await openQuietApp(invocation);
  const { repositories } = config.remote.setup;
  const { env } = invocation;
  const secrets = [
    ...Object.values(repositories).flatMap((each) => each.secrets ?? []),
    ...secretNames([config.mcpServers, config.telemetry]),
  ];
  const open = openKeys(config.data, env);
  return new ModelCommands({ settings: config.models, secrets, env, log, open });
}

const PROVIDERS: EntrySection = { what: "provider", path: ["models", "providers"] };

type ProviderValues = EditValues &
  OptionValues<"type" | "base-url" | "key-variable", "key" | "replace", "model">;

/** `trunkline model add NAME` */
export async function add(invocation: Invocation<ProviderValues>): Promise<number> {
  const { values, positionals, err } = invocation;
  const [name = ""] = positionals;
  const variable = values["key-variable"] ?? (values.key === true ? variableFor(name) : undefined);
  // Asked before anything is written, so that a person who gives up here has changed nothing.
  const key = values.key === true ? await readSecret("Key: ") : undefined;
  if (key?.trim() === "") throw new TrunklineError("usage", "Cannot store an empty key.");
  const { type, "base-url": baseUrl, model: models } = values;
  const settings = defined({ type, baseUrl, keyVariable: variable, models });
  const next = "`trunkline model list` asks it for its models.";
  const code = await addEntry(invocation, PROVIDERS, name, settings, next);
  if (key === undefined || variable === undefined) return code;
  const where = await (await openModels(invocation)).saveKey(variable, key);
  err(`Stored ${visibleLine(variable)} in ${visibleLine(where)}.\n`);
  return code;
}

/** `trunkline model remove NAME` */
export async function remove(invocation: Invocation<EditValues>): Promise<number> {
  return removeEntry(invocation, PROVIDERS, invocation.positionals[0] ?? "");
}

/** As providers usually call it: `my-proxy` → `MY_PROXY_API_KEY`. */
function variableFor(name: string): string {
  const word = name.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_");
  return `${word.replace(/^(?=\d)/, "_")}_API_KEY`;
}
