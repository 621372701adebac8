import type { SessionModels, SessionModes, SessionSettings } from "./agent.ts";

type ConfigOption = Readonly<Record<string, unknown>>;
interface Choice {
  readonly value: string;
  readonly name: string;
  readonly description?: string;
}

/**
 * Settings in both forms: modes and models as the message specification has them, and the same as
 * config options, which today's clients use instead.
 */
export function inBothForms(settings: SessionSettings): SessionSettings {
  const { modes, models, configOptions } = settings;
  const given = configOptions ?? [];
  const allModes = modes ?? modesOf(given);
  const allModels = models ?? modelsOf(given);
  const options = [
    ...(modes !== undefined && optionOf(given, "mode") === undefined ? [modeOption(modes)] : []),
    ...(models !== undefined && optionOf(given, "model") === undefined
      ? [modelOption(models)]
      : []),
    ...given,
  ];
  return {
    ...settings,
    ...(allModes === undefined ? {} : { modes: allModes }),
    ...(allModels === undefined ? {} : { models: allModels }),
    ...(options.length === 0 ? {} : { configOptions: options }),
  };
}

/** The option that stands for the mode or the model. */
export function optionOf(
  options: readonly ConfigOption[],
  category: "mode" | "model",
): (ConfigOption & { readonly id: string }) | undefined {
  const found = options.find((option) => option.category === category);
  return typeof found?.id === "string" ? { ...found, id: found.id } : undefined;
}

/** The values that an option of that kind may have, groups laid open. */
export function choicesOf(option: ConfigOption): Choice[] {
  const { options } = option;
  if (!Array.isArray(options)) return [];
  return options.flatMap((entry: ConfigOption) =>
    Array.isArray(entry.options) ? (entry.options as Choice[]) : [entry as unknown as Choice],
  );
}

function modeOption({ currentModeId, availableModes }: SessionModes): ConfigOption {
  return {
    id: "mode",
    name: "Mode",
    category: "mode",
    type: "select",
    currentValue: currentModeId,
    options: availableModes.map(({ id, name, description }) => choice(id, name, description)),
  };
}

function modelOption({ currentModelId, availableModels }: SessionModels): ConfigOption {
  return {
    id: "model",
    name: "Model",
    category: "model",
    type: "select",
    currentValue: currentModelId,
    options: availableModels.map(({ modelId, name, description }) =>
      choice(modelId, name, description),
    ),
  };
}

function choice(value: string, name: string, description: string | undefined): Choice {
  return { value, name, ...(description === undefined ? {} : { description }) };
}

function modesOf(options: readonly ConfigOption[]): SessionModes | undefined {
  const option = optionOf(options, "mode");
  if (option === undefined) return undefined;
  return {
    currentModeId: String(option.currentValue),
    availableModes: choicesOf(option).map(({ value, ...named }) => ({ id: value, ...named })),
  };
}

function modelsOf(options: readonly ConfigOption[]): SessionModels | undefined {
  const option = optionOf(options, "model");
  if (option === undefined) return undefined;
  return {
    currentModelId: String(option.currentValue),
    availableModels: choicesOf(option).map(({ value, ...named }) => ({ modelId: value, ...named })),
  };
}
