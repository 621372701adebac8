import type { SessionSettings } from "../session/agent.ts";
import type { ModelEntry } from "./models/models.ts";
import { type Mode, modesFor } from "./modes.ts";

/** What a session has chosen, in today's form and in the one before it. */
export function settingsOf(
  mode: Mode,
  model: ModelEntry,
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
    ],
  };
}
