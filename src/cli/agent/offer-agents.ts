import { installedAgents } from "../../agent/installed-agents.ts";
import { noModelText } from "../../agent/commands/help.ts";
import { configuredModels } from "../../agent/models/model-commands.ts";
import type { ModelSource } from "../../agent/models/models.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { AppContext } from "../../config/app-context.ts";
import { BUILT_IN } from "../../config/config.ts";
import { editConfig } from "../../config/edit/edit-config.ts";
import { openKeys } from "../../identity/open/open-secret-store.ts";
import { inputOf } from "../config/edit-entry.ts";
import { confirm } from "../shell/ask.ts";
import type { Invocation } from "../shell/command.ts";

/**
 * Where the built-in agent would work without a model, offers a person at a terminal the agents that are
 * installed. Returns the one that was added to their configuration, which has to be loaded again then.
 */
export async function offerAgent(
  invocation: Invocation,
  app: AppContext,
  wanted: string | undefined,
  ask: (question: string) => Promise<boolean> = confirm,
): Promise<string | undefined> {
  const { env, err, values, isTerminal } = invocation;
  const isPerson = process.stdin.isTTY && isTerminal && values.json !== true;
  if (!isPerson || (wanted ?? app.config.agent.name) !== BUILT_IN) return undefined;
  const found = installedAgents(env, Object.keys(app.config.agents));
  if (found.length === 0 || (await modelsWithout(app, env)) === undefined) return undefined;
  for (const { name, path, command, args } of found) {
    const line = [command, ...args].join(" ");
    const asked =
      `No language model is set up, but ${name} is installed (${path}).\n` +
      `Add it to your configuration, for this and new sessions? It runs: ${line}`;
    if (!(await ask(asked))) continue;
    const edited = await editConfig(inputOf(invocation), "user", () => [
      { path: ["agents", name], value: { command, args: [...args] } },
      { path: ["agent"], value: name },
    ]);
    for (const note of edited.notes) err(`note: ${note}\n`);
    err(`Added agent '${name}' to ${edited.file}.\n`);
    return name;
  }
  return undefined;
}

/** Throws if the built-in agent is to work and has no model, with what to do. */
export async function requireModel(
  app: AppContext,
  env: NodeJS.ProcessEnv,
  wanted: string | undefined,
): Promise<void> {
  if ((wanted ?? app.config.agent.name) !== BUILT_IN) return;
  const models = await modelsWithout(app, env);
  if (models === undefined) return;
  const installed = installedAgents(env, Object.keys(app.config.agents));
  throw new TrunklineError("unavailable", noModelText(models, installed));
}

/** The models, if sessions would begin without one. */
async function modelsWithout(
  { config, log }: AppContext,
  env: NodeJS.ProcessEnv,
): Promise<ModelSource | undefined> {
  const { data, models: settings } = config;
  const open = async () => openKeys(data, env)();
  const models = configuredModels({ settings, env, log, open });
  if (models.first().open === undefined) await models.refresh();
  return models.first().open === undefined ? models : undefined;
}
