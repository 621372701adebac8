import type { SessionSettings } from "../session/agent.ts";
import { type ModelEntry, THINKING_LEVELS, type ThinkingLevel } from "./models/models.ts";
import { type Mode, modesFor } from "./modes.ts";

export interface Chosen {
  readonly mode: Mode;
  readonly model: ModelEntry;
  readonly thinking: ThinkingLevel;
}

/** The settings of a session, as modes and models and as config options (ACP session-config-options). */
export function settingsOf(
  { mode, model, thinking }: Chosen,
  models: readonly ModelEntry[],
): SessionSettings & { readonly configOptions: readonly Readonly<Record<string, unknown>>[] } {
  const all = models.some(({ id }) => id === model.id) ? models : [model, ...models];
  const modes = modesFor(mode);
  return {
    modes,
    models: {
      currentModelId: model.id,
      availableModels: all.map(({ id, name, description }) => ({ modelId: id, name, description })),
    },
    configOptions: [
      {
        id: "mode",
        name: "Mode",
        description: "What the agent may do",
        category: "mode",
        type: "select",
        currentValue: mode.id,
        options: modes.availableModes.map(({ id, ...rest }) => ({ value: id, ...rest })),
      },
      {
        id: "model",
        name: "Model",
        description: "Who answers",
        category: "model",
        type: "select",
        currentValue: model.id,
        options: all.map(({ id, name, description }) => ({ value: id, name, description })),
      },
      ...(model.thinks === true ? [thinkingOption(thinking)] : []),
    ],
  };
}

function thinkingOption(level: ThinkingLevel): Readonly<Record<string, unknown>> {
  return {
    id: "thinking",
    name: "Thinking",
    description: "How much the model thinks before it answers",
    category: "thought_level",
    type: "select",
    currentValue: level,
    options: THINKING_LEVELS.map(({ id, name }) => ({ value: id, name })),
  };
}
