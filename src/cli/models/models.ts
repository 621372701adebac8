import { ModelCommands } from "../../agent/models/model-commands.ts";
import { openKeys } from "../../identity/open/open-secret-store.ts";
import { secretNames } from "../../upstream/references.ts";
import { readSecret } from "../shell/ask.ts";
import type { Invocation } from "../shell/command.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { openQuietApp } from "../shell/open-app.ts";

type Printing = { readonly json?: boolean };

/** `trunkline models list` */
export async function list(invocation: Invocation<Printing>): Promise<number> {
  const { values, out, err } = invocation;
  const listed = await (await openModels(invocation)).list();
  if (values.json) {
    out(`${JSON.stringify(listed, null, 2)}\n`);
    return 0;
  }
  const { models, unanswered } = listed;
  const widest = Math.max(...models.map(({ id }) => visibleLine(id).length));
  for (const { id, name, isDefault } of models) {
    out(`${isDefault ? "*" : " "} ${visibleLine(id).padEnd(widest)}  ${visibleLine(name)}\n`);
  }
  for (const [provider, why] of Object.entries(unanswered)) {
    err(`${visibleLine(provider)} did not list its models: ${why}\n`);
  }
  if (models.some(({ isFound, isDefault }) => isFound && !isDefault)) {
    err("To use a model found on this machine, set `models.default`.\n");
  }
  if (models.length === 1 && Object.keys(unanswered).length === 0) {
    const how = "`trunkline models key set ANTHROPIC_API_KEY`, or start a model on this machine";
    err(`There is no language model. Store a provider's key, such as with ${how}.\n`);
  }
  return 0;
}

/** `trunkline models key set VARIABLE` */
export async function setKey(invocation: Invocation<Printing>): Promise<number> {
  const { values, positionals, out } = invocation;
  const [variable = ""] = positionals;
  const commands = await openModels(invocation);
  const key = await readSecret("Key: ");
  const where = await commands.saveKey(variable, key);
  if (values.json) out(`${JSON.stringify({ variable, where }, null, 2)}\n`);
  else out(`Stored ${visibleLine(variable)} in ${visibleLine(where)}.\n`);
  return 0;
}

/** `trunkline models key clear VARIABLE` */
export async function clearKey(invocation: Invocation<Printing>): Promise<number> {
  const { values, positionals, out } = invocation;
  const [variable = ""] = positionals;
  const wasThere = await (await openModels(invocation)).clearKey(variable);
  if (values.json) out(`${JSON.stringify({ variable, wasThere }, null, 2)}\n`);
  else out(wasThere ? `Deleted ${visibleLine(variable)}.\n` : "No such key was stored.\n");
  return 0;
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
