import type { SessionDetail } from "../../server/dashboard/session-api.ts";

/** Something that the person may choose: the mode, the model, or another option of the agent. */
export interface SettingChoice {
  readonly kind: "mode" | "model" | "option";
  readonly id: string;
  readonly name: string;
  readonly value: string | boolean;
  /** Empty for one that is on or off. */
  readonly groups: readonly ChoiceGroup[];
}

export interface ChoiceGroup {
  /** Absent where the choices are not grouped. */
  readonly name?: string;
  readonly choices: readonly { readonly value: string; readonly name: string }[];
}

type Fields = Readonly<Record<string, unknown>>;

/** Modes and models are among the options of agents that have options (ACP session-config-options). */
export function settingChoices(settings: SessionDetail["settings"]): SettingChoice[] {
  const { modes, models, configOptions = [] } = settings;
  const has = (category: string): boolean =>
    configOptions.some((option) => option.category === category);
  const found: SettingChoice[] = [];
  if (modes !== undefined && !has("mode")) {
    const choices = modes.availableModes.map(({ id, name }) => ({ value: id, name }));
    found.push(choice("mode", "Mode", modes.currentModeId, choices));
  }
  if (models !== undefined && !has("model")) {
    const choices = models.availableModels.map(({ modelId, name }) => ({ value: modelId, name }));
    found.push(choice("model", "Model", models.currentModelId, choices));
  }
  for (const { id, name, type, currentValue, options = [] } of configOptions) {
    const isSwitch = type === "boolean" && typeof currentValue === "boolean";
    const groups = isSwitch ? [] : groupsOf(options as readonly Fields[]);
    if (!isSwitch && groups.length === 0) continue;
    found.push({
      ...{ kind: "option", id, name, groups },
      value: isSwitch ? currentValue : String(currentValue),
    });
  }
  return found;
}

function choice(
  kind: "mode" | "model",
  name: string,
  value: string,
  choices: ChoiceGroup["choices"],
): SettingChoice {
  return { kind, id: kind, name, value, groups: [{ choices }] };
}

/** Options are in one list, or in several with a name. */
function groupsOf(options: readonly Fields[]): ChoiceGroup[] {
  const loose = options.filter((option) => option["value"] !== undefined).map(choiceOf);
  const named = options.filter((option) => Array.isArray(option["options"]));
  return [
    ...(loose.length > 0 ? [{ choices: loose }] : []),
    ...named.map((group) => ({
      name: String(group["name"] ?? group["group"]),
      choices: (group["options"] as readonly Fields[]).map(choiceOf),
    })),
  ];
}

function choiceOf({ value, name }: Fields): { value: string; name: string } {
  return { value: String(value), name: typeof name === "string" ? name : String(value) };
}
