import { TrunklineError } from "../base/errors.ts";
import type { AgentOpenOptions, SessionSettings } from "../session/agent.ts";
import { inBothForms } from "../session/settings.ts";
import {
  findModel,
  type ModelEntry,
  type ModelSource,
  THINKING_LEVELS,
  thinkingLevel,
  type ThinkingLevel,
} from "./models/models.ts";
import { FIRST_MODE, type Mode, MODES, modeOf } from "./modes.ts";
import type { Speaker } from "./turn/speaker.ts";

/** A mode and a model that were chosen by a command. */
interface TypedChoices {
  readonly modeId?: string;
  readonly modelId?: string;
}

/** The mode, the model and the thinking level of a session, and who hears of changes. */
export class SessionChoices implements Disposable {
  readonly #options: AgentOpenOptions;
  readonly #models: ModelSource;
  /** Called when a model that can answer is chosen. */
  readonly #chosen: () => void;
  readonly #stopListening: () => void;
  #mode: Mode;
  #model: ModelEntry;
  #thinking: ThinkingLevel;
  /** What was chosen by a command, which the session layer does not remember. */
  #typed: TypedChoices;
  /** No model was chosen or used yet, so the first available one is taken. */
  #isUndecided: boolean;
  /** A model that was chosen before, but is not available. */
  #missing: string | undefined;

  constructor(options: AgentOpenOptions, models: ModelSource, chosenModel: () => void) {
    const { chosen, memory } = options;
    this.#options = options;
    this.#models = models;
    this.#chosen = chosenModel;
    this.#typed = typedOf(memory);
    const modeId = this.#typed.modeId ?? chosen.modeId ?? textOf(chosen.configOptions?.mode);
    this.#mode = modeOf(modeId) ?? FIRST_MODE;
    this.#thinking = thinkingLevel(chosen.configOptions?.thinking) ?? "default";
    const wanted = this.#typed.modelId ?? chosen.modelId ?? textOf(chosen.configOptions?.model);
    const found = models.list().find(({ id }) => id === wanted);
    this.#model = found ?? models.first();
    this.#missing = found === undefined ? wanted : undefined;
    this.#isUndecided = wanted === undefined;
    this.#use(this.#model);
    this.#stopListening = models.onChange(() => {
      if (this.#isUndecided) this.#use(models.first());
      this.#tellOptions();
    });
  }

  get mode(): Mode {
    return this.#mode;
  }

  get model(): ModelEntry {
    return this.#model;
  }

  /** The level for the model; "default" if it takes none. */
  get thinking(): ThinkingLevel {
    return this.#model.thinks === true ? this.#thinking : "default";
  }

  get settings(): SessionSettings {
    return inBothForms({ configOptions: optionsOf(this, this.models) });
  }

  /** The models to choose from. */
  get models(): readonly ModelEntry[] {
    return this.#models.list();
  }

  /** `isTyped`: by a command. Throws with the choices if there is no such mode. */
  async setMode(modeId: string, isTyped = false): Promise<void> {
    this.#changeMode(modeId);
    await this.#remember({ modeId: isTyped ? modeId : undefined });
  }

  /** `isTyped`: by a command. Throws with similar names if there is no such model. */
  async setModel(modelId: string, isTyped = false): Promise<void> {
    this.#changeModel(modelId);
    await this.#remember({ modelId: isTyped ? modelId : undefined });
  }

  async setConfigOption(id: string, value: unknown): Promise<void> {
    if (id === "mode") return this.setMode(String(value));
    if (id === "model") return this.setModel(String(value));
    const level = id === "thinking" ? thinkingLevel(value) : undefined;
    if (level === undefined) {
      const says = `There is no option '${id.slice(0, 100)}' with such a value.`;
      throw new TrunklineError("not-found", `${says} There are: mode, model, thinking.`);
    }
    this.#thinking = level;
    this.#tellOptions();
  }

  /** Waits for slow providers before the turn goes without the chosen model. */
  async decide(speaker: Speaker): Promise<void> {
    const models = this.#models;
    const isOpen = this.#isUndecided && this.#model.open === undefined;
    if (isOpen || this.#missing !== undefined) await models.refresh();
    const found = models.list().find(({ id }) => id === this.#missing);
    if (found !== undefined) this.#use(found);
    else if (this.#missing !== undefined) {
      const says = `The model '${this.#missing}' is not available; ${this.#model.name} answers instead`;
      await speaker.notice("warning", says);
    }
    this.#missing = undefined;
    if (this.#model.open !== undefined) this.#isUndecided = false;
  }

  [Symbol.dispose](): void {
    this.#stopListening();
  }

  #changeMode(modeId: string): void {
    const mode = modeOf(modeId);
    if (mode === undefined) {
      const ids = MODES.map(({ id }) => id).join(", ");
      const says = `Cannot use the mode '${modeId.slice(0, 100)}': no such mode. There are: ${ids}.`;
      throw new TrunklineError("not-found", says);
    }
    this.#mode = mode;
    this.#options.update({ sessionUpdate: "current_mode_update", currentModeId: mode.id });
    this.#tellOptions();
  }

  #changeModel(modelId: string): void {
    this.#use(findModel(this.#models, modelId));
    this.#isUndecided = false;
    this.#missing = undefined;
    this.#tellOptions();
  }

  #use(model: ModelEntry): void {
    this.#model = model;
    if (model.open !== undefined) this.#chosen();
  }

  async #remember(change: {
    readonly [Name in keyof TypedChoices]?: string | undefined;
  }): Promise<void> {
    const before = JSON.stringify(this.#typed);
    this.#typed = typedOf({ ...this.#typed, ...change });
    if (JSON.stringify(this.#typed) !== before) await this.#options.remember(this.#typed);
  }

  #tellOptions(): void {
    const { configOptions = [] } = this.settings;
    this.#options.update({ sessionUpdate: "config_option_update", configOptions });
  }
}

function typedOf(memory: unknown): TypedChoices {
  const { modeId, modelId } = (memory ?? {}) as Readonly<Record<string, unknown>>;
  return {
    ...(typeof modeId === "string" ? { modeId } : {}),
    ...(typeof modelId === "string" ? { modelId } : {}),
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The settings of a session as config options (ACP session-config-options). */
function optionsOf(
  { mode, model, thinking }: SessionChoices,
  models: readonly ModelEntry[],
): Readonly<Record<string, unknown>>[] {
  const all = models.some(({ id }) => id === model.id) ? models : [model, ...models];
  const named = ({ id: value, name, description }: Mode | ModelEntry) => {
    return { value, name, description };
  };
  const levels = THINKING_LEVELS.map(({ id, name }) => ({ value: id, name }));
  const much = "How much the model thinks before it answers";
  const options = [
    ["mode", "Mode", "What the agent may do", "mode", mode.id, MODES.map(named)],
    ["model", "Model", "Who answers", "model", model.id, all.map(named)],
    ["thinking", "Thinking", much, "thought_level", thinking, levels],
  ] as const;
  const fitting = model.thinks === true ? options : options.slice(0, 2);
  return fitting.map(([id, name, description, category, currentValue, choices]) => {
    return { type: "select", id, name, description, category, currentValue, options: choices };
  });
}
