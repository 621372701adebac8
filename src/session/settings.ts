import { defined } from "../base/defined.ts";
import { TrunklineError } from "../base/errors.ts";
import type { ChosenSettings, NamedChoice, SessionSettings, SessionUpdate } from "./agent.ts";
import type { SessionClient } from "./client/client.ts";
import type { ChosenSetting } from "./event.ts";
import type { Session } from "./session.ts";

type ConfigOption = Readonly<Record<string, unknown>>;
/** Settings that exist both as a method of their own and as a config option. */
type Kind = "mode" | "model";
const KINDS: readonly Kind[] = ["mode", "model"];

type Choice = NamedChoice & { readonly value: string };

/**
 * Settings in both forms: modes and models (ACP message specification § session/set_mode and
 * § session/set_model), and as config options (ACP session-config-options), which newer clients use.
 */
export function inBothForms(settings: SessionSettings): SessionSettings {
  const { modes, models, configOptions: given = [] } = settings;
  const [mode, model] = KINDS.map((kind) => optionOf(given, kind));
  const own: ConfigOption[] = [];
  if (modes !== undefined && mode === undefined) {
    const choices = modes.availableModes.map(({ id: value, ...named }) => ({ value, ...named }));
    own.push(asOption("mode", modes.currentModeId, choices));
  }
  if (models !== undefined && model === undefined) {
    const known = models.availableModels;
    const choices = known.map(({ modelId: value, ...named }) => ({ value, ...named }));
    own.push(asOption("model", models.currentModelId, choices));
  }
  const availableModes = choicesOf(mode).map(({ value: id, ...named }) => ({ id, ...named }));
  const known = choicesOf(model);
  const availableModels = known.map(({ value: modelId, ...named }) => ({ modelId, ...named }));
  return {
    ...(mode && { modes: { currentModeId: String(mode.currentValue), availableModes } }),
    ...(model && { models: { currentModelId: String(model.currentValue), availableModels } }),
    ...settings,
    ...(own.length + given.length > 0 && { configOptions: [...own, ...given] }),
  };
}

/** The updates that tell a client the current settings. */
export function shownSettings({ modes, configOptions = [] }: SessionSettings): SessionUpdate[] {
  const options: SessionUpdate = { sessionUpdate: "config_option_update", configOptions };
  if (modes === undefined) return [options];
  return [{ sessionUpdate: "current_mode_update", currentModeId: modes.currentModeId }, options];
}

/** Adds a choice. A mode chosen by its config option is the mode: the last choice in either form wins. */
export function chosenAfter(
  chosen: ChosenSettings,
  { setting, id, value }: ChosenSetting,
  options: readonly ConfigOption[],
): ChosenSettings {
  const isOption = setting === "option";
  const kind = isOption ? options.find((option) => option.id === id)?.category : setting;
  const picked = isOption ? String(value) : id;
  if (kind === "mode") return { ...chosen, modeId: picked };
  if (kind === "model") return { ...chosen, modelId: picked };
  return { ...chosen, configOptions: { ...chosen.configOptions, [id]: value } };
}

/** The current mode, model and options. */
export function chosenIn(settings: SessionSettings): ChosenSettings {
  const { modes, models, configOptions = [] } = inBothForms(settings);
  const others = configOptions.filter(({ category }) => !KINDS.some((kind) => kind === category));
  return {
    ...defined({ modeId: modes?.currentModeId, modelId: models?.currentModelId }),
    configOptions: Object.fromEntries(others.map(({ id, currentValue }) => [id, currentValue])),
  };
}

/** The settings after a mode or model was chosen, changed in both forms. */
export function withChoice(
  settings: SessionSettings,
  kind: Kind,
  currentValue: string,
): SessionSettings {
  const { modes, models, configOptions } = settings;
  return {
    ...settings,
    ...(kind === "mode" && modes && { modes: { ...modes, currentModeId: currentValue } }),
    ...(kind === "model" && models && { models: { ...models, currentModelId: currentValue } }),
    ...(configOptions && {
      configOptions: configOptions.map((option) =>
        option.category === kind ? { ...option, currentValue } : option,
      ),
    }),
  };
}

/** The settings with new config options, which may also stand for the mode and the model. */
export function withOptions(
  settings: SessionSettings,
  configOptions: readonly ConfigOption[],
): SessionSettings {
  let all: SessionSettings = { ...settings, configOptions };
  for (const kind of KINDS) {
    const value = optionOf(configOptions, kind)?.currentValue;
    if (typeof value === "string") all = withChoice(all, kind, value);
  }
  return all;
}

/** The config option that stands for the mode or the model. */
export function optionOf(
  options: readonly ConfigOption[],
  category: Kind,
): (ConfigOption & { readonly id: string }) | undefined {
  const found = options.find((option) => option.category === category);
  return typeof found?.id === "string" ? { ...found, id: found.id } : undefined;
}

/** The values of a select option, with groups flattened. */
function choicesOf(option: ConfigOption | undefined): Choice[] {
  const { options } = option ?? {};
  if (!Array.isArray(options)) return [];
  return options.flatMap((entry: ConfigOption) =>
    Array.isArray(entry.options) ? (entry.options as Choice[]) : [entry as unknown as Choice],
  );
}

/** The modes or models of a session as a config option. */
function asOption(kind: Kind, currentValue: string, options: readonly Choice[]): ConfigOption {
  const name = kind === "mode" ? "Mode" : "Model";
  return { type: "select", id: kind, name, category: kind, currentValue, options };
}

/** Changes the mode or the model of a session. */
export async function choose(
  session: Session,
  kind: Kind,
  id: string,
  by?: SessionClient,
): Promise<void> {
  await session.inOrder(async () => {
    const { agent, settings } = session;
    const { availableModes: modes = [] } = settings.modes ?? {};
    const { availableModels: models = [] } = settings.models ?? {};
    const ids = kind === "mode" ? modes.map((one) => one.id) : models.map((one) => one.modelId);
    mustBeOne(`the ${kind}`, id, ids);
    const option = optionOf(agent.settings.configOptions ?? [], kind);
    const set = kind === "mode" ? "setMode" : "setModel";
    if (agent[set] !== undefined) await agent[set](id);
    else if (option !== undefined) await agent.setConfigOption?.(option.id, id);
    await session.chose({ setting: kind, id }, by);
  });
}

/** Changes a config option of a session. The option may stand for the mode or the model. */
export async function chooseOption(
  session: Session,
  id: string,
  given: unknown,
  by?: SessionClient,
): Promise<void> {
  const options = session.settings.configOptions ?? [];
  const option = options.find((one) => one.id === id);
  // A client that knows no booleans is shown these two values.
  const isSwitch = option?.type === "boolean" && (given === "on" || given === "off");
  const value = isSwitch ? given === "on" : given;
  if (option === undefined) {
    const ids = options.map((one) => String(one.id));
    throw new TrunklineError("usage", `Cannot set '${id}': no such option. ${listOf(ids)}`);
  }
  if (option.type === "boolean" && typeof value !== "boolean") {
    const says = `Cannot set '${id}' to ${show(value)}: it must be true or false.`;
    throw new TrunklineError("usage", says);
  }
  const values = choicesOf(option).map((one) => one.value);
  if (option.type === "select") mustBeOne(`'${id}'`, value, values);
  const isOwn = session.agent.settings.configOptions?.some((one) => one.id === id) ?? false;
  const kind = KINDS.find((one) => one === id);
  if (!isOwn && kind !== undefined) return choose(session, kind, String(value), by);
  return session.inOrder(async () => {
    await session.agent.setConfigOption?.(id, value);
    await session.chose({ setting: "option", id, value }, by);
  });
}

function mustBeOne(what: string, value: unknown, known: readonly string[]): void {
  if (typeof value === "string" && known.includes(value)) return;
  const problem = `Cannot set ${what} to ${show(value)}: no such value. ${listOf(known)}`;
  throw new TrunklineError("usage", problem);
}

function listOf(names: readonly string[]): string {
  return names.length === 0 ? "Nothing is available." : `Available: ${names.join(", ")}.`;
}

function show(value: unknown): string {
  return typeof value === "string" ? `'${value.slice(0, 64)}'` : typeof value;
}
