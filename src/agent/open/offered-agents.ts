import { TrunklineError } from "../../base/errors.ts";
import type { AppContext } from "../../config/app-context.ts";
import { BUILT_IN, type ConfigInput } from "../../config/config.ts";
import { type EditedConfig, editConfig } from "../../config/edit/edit-config.ts";
import { editOf } from "../../config/edit/set-value.ts";
import { openKeys } from "../../identity/open/open-secret-store.ts";
import { noModelText } from "../commands/help.ts";
import { type InstalledAgent, installedAgents } from "../installed-agents.ts";
import { configuredModels } from "../models/model-commands.ts";
import type { ModelSource } from "../models/models.ts";

/** What is asked where an agent is to work. */
export interface AgentChoice extends Pick<AppContext, "config" | "log"> {
  readonly env: NodeJS.ProcessEnv;
  /** The agent that is wanted; by default that of the configuration. */
  readonly wanted?: string | undefined;
}

/** The installed agents that can work where the built-in one would have no model; none where it has one. */
export async function offeredAgents(choice: AgentChoice): Promise<readonly InstalledAgent[]> {
  const found = installedAgents(choice.env, Object.keys(choice.config.agents));
  return found.length === 0 || (await modelsWithout(choice)) === undefined ? [] : found;
}

/** Throws if the built-in agent is to work and has no model, with what to do. */
export async function requireModel(
  { config, log }: Pick<AppContext, "config" | "log">,
  env: NodeJS.ProcessEnv,
  wanted: string | undefined,
): Promise<void> {
  const models = await modelsWithout({ config, log, env, wanted });
  if (models === undefined) return;
  const installed = installedAgents(env, Object.keys(config.agents));
  throw new TrunklineError("unavailable", noModelText(models, installed));
}

/** Adds an agent to the user's configuration, as the one that new sessions begin with. */
export function addAgent(
  input: ConfigInput,
  { name, command, args }: InstalledAgent,
): Promise<EditedConfig> {
  return editConfig(input, "user", (now) => [
    { path: ["agents", name], value: { command, args: [...args] } },
    // The other settings of `agent` stay.
    editOf(now, ["agent"], name),
  ]);
}

/** The models, if sessions would begin with the built-in agent and without one. */
async function modelsWithout(choice: AgentChoice): Promise<ModelSource | undefined> {
  const { config, log, env, wanted = config.agent.name } = choice;
  if (wanted !== BUILT_IN) return undefined;
  const { data, models: settings } = config;
  const open = async () => openKeys(data, env)();
  const models = configuredModels({ settings, env, log, open });
  if (models.first().open === undefined) await models.refresh();
  return models.first().open === undefined ? models : undefined;
}
