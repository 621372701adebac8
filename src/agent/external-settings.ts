import type { AgentOpenOptions, AgentSession, ChosenSettings } from "../session/agent.ts";
import { chosenIn, inBothForms, shownSettings } from "../session/settings.ts";

/** A session of another agent, as far as its settings go. */
type ConfigurableSession = Pick<AgentSession, "settings"> &
  Required<Pick<AgentSession, "setMode" | "setModel" | "setConfigOption">>;

/**
 * Restores the chosen settings at an agent that was restarted, since it may not have stored them. Where
 * the agent refuses a setting, clients are told the current ones.
 */
export async function restoreSettings(
  session: ConfigurableSession,
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
      for (const update of shownSettings(inBothForms(session.settings))) options.update(update);
    }
  }
}
