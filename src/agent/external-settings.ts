import type { AgentOpenOptions, ChosenSettings } from "../session/agent.ts";
import { chosenIn, inBothForms } from "../session/settings.ts";
import type { ExternalSession } from "./external-session.ts";

/**
 * Restores the chosen settings at an agent that was restarted, since it may not have stored them. Where
 * the agent refuses a setting, clients are told the current ones.
 */
export async function restoreSettings(
  session: ExternalSession,
  { modeId, modelId, configOptions = {} }: ChosenSettings,
  options: Pick<AgentOpenOptions, "update" | "log">,
): Promise<void> {
  const now = chosenIn(session.settings);
  const choices = new Map<string, () => Promise<void>>();
  if (modeId !== undefined && modeId !== now.modeId) {
    choices.set("mode", () => session.setMode(modeId));
  }
  if (modelId !== undefined && modelId !== now.modelId) {
    choices.set("model", () => session.setModel(modelId));
  }
  for (const [id, value] of Object.entries(configOptions)) {
    const current = now.configOptions?.[id];
    if (current === undefined || current === value) continue;
    choices.set(`option ${id}`, () => session.setConfigOption(id, value));
  }
  for (const [setting, choose] of choices) {
    try {
      await choose();
    } catch (error) {
      options.log.warn("agent.setting-lost", { setting, error });
      show(session, options);
    }
  }
}

function show({ settings }: ExternalSession, options: Pick<AgentOpenOptions, "update">): void {
  const { modes, configOptions = [] } = inBothForms(settings);
  if (modes !== undefined) {
    const { currentModeId } = modes;
    options.update({ sessionUpdate: "current_mode_update", currentModeId });
  }
  options.update({ sessionUpdate: "config_option_update", configOptions });
}
