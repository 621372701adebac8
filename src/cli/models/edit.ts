import { ModelCommands } from "../../agent/models/model-commands.ts";
import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { loadConfig } from "../../config/load.ts";
import { openKeys } from "../../identity/open/open-secret-store.ts";
import { Log } from "../../base/log.ts";
import { addEntry, type EntrySection, removeEntry } from "../config/edit-entry.ts";
import { type Editing, inputOf } from "../config/tell-edited.ts";
import { readSecret } from "../shell/ask.ts";
import type { Invocation } from "../shell/command.ts";

const PROVIDERS: EntrySection = { what: "provider", path: ["models", "providers"] };

type ProviderValues = Editing & {
  readonly type?: string;
  readonly "base-url"?: string;
  readonly "key-variable"?: string;
  readonly key?: boolean;
  readonly model?: readonly string[];
  readonly replace?: boolean;
};

/** `trunkline models add NAME` */
export async function add(invocation: Invocation<ProviderValues>): Promise<number> {
  const { values, positionals, env, err } = invocation;
  const [name = ""] = positionals;
  const variable = values["key-variable"] ?? (values.key === true ? variableFor(name) : undefined);
  // Read before anything is written: who gives up here has changed nothing.
  const key = values.key === true ? await readSecret("Key: ") : undefined;
  if (key?.trim() === "") throw new TrunklineError("usage", "Cannot store an empty key.");
  const settings = {
    ...(values.type === undefined ? {} : { type: values.type }),
    ...(values["base-url"] === undefined ? {} : { baseUrl: values["base-url"] }),
    ...(variable === undefined ? {} : { keyVariable: variable }),
    ...(values.model === undefined ? {} : { models: values.model }),
  };
  const next = "`trunkline models list` asks it for its models.";
  const code = await addEntry(invocation, PROVIDERS, name, settings, next);
  if (key === undefined || variable === undefined) return code;
  const { config } = await loadConfig(inputOf(invocation));
  const open = openKeys(config.data, env);
  const commands = new ModelCommands({
    settings: config.models,
    env,
    log: new Log("error"),
    open,
  });
  const where = await commands.saveKey(variable, key);
  err(`Stored ${visibleLine(variable)} in ${visibleLine(where)}.\n`);
  return code;
}

/** `trunkline models remove NAME` */
export async function remove(invocation: Invocation<Editing>): Promise<number> {
  return removeEntry(invocation, PROVIDERS, invocation.positionals[0] ?? "");
}

/** As providers usually call it: `my-proxy` → `MY_PROXY_API_KEY`. */
function variableFor(name: string): string {
  const word = name.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_");
  return `${word.replace(/^(?=\d)/, "_")}_API_KEY`;
}
