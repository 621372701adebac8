import { signal } from "@preact/signals";

import type { LiveEvent } from "../../server/dashboard/api.ts";
import type {
  AskRow,
  EventLog,
  LogEvent,
  PromptBody,
  SessionDetail,
} from "../../server/dashboard/session-api.ts";
import { oncePerFrame } from "../client/collection.ts";
import { get, post, RequestError } from "../client/request.ts";
import { listen, readMarks, sessions } from "../client/state.ts";
import { Conversation } from "./conversation.ts";

const PAGE = 1000;

/** The session that is shown: its conversation is read from the end, and grows at both ends. */
export class OpenSession {
  readonly id: string;
  readonly detail = signal<SessionDetail | undefined>(undefined);
  readonly asks = signal<readonly AskRow[]>([]);
  readonly failed = signal<string | undefined>(undefined);
  /** The conversation, in a new object after each change, so that the signal notices it. */
  readonly shown = signal({ conversation: new Conversation() });
  #isLoadingEarlier = false;
  #isClosed = false;

  constructor(id: string) {
    this.id = id;
  }

  get conversation(): Conversation {
    return this.shown.peek().conversation;
  }

  get path(): string {
    return `/sessions/${encodeURIComponent(this.id)}`;
  }

  async open(): Promise<void> {
    const isThere = await this.#load();
    if (this.#isClosed || !isThere) return;
    listen({
      session: this.id,
      last: () => this.conversation.last,
      onEvent: (event) => this.#receive(event),
      onReset: () => {
        this.#load().catch((error: unknown) => reportError(error));
      },
    });
  }

  close(): void {
    this.#isClosed = true;
    listen(undefined);
  }

  get hasEarlier(): boolean {
    return (this.conversation.first ?? 1) > 1;
  }

  /** Loads the page before the first entry. */
  async loadEarlier(): Promise<void> {
    const { first } = this.conversation;
    if (this.#isLoadingEarlier || !this.hasEarlier || first === undefined) return;
    this.#isLoadingEarlier = true;
    try {
      const { conversation } = this;
      const { events } = await get<EventLog>(`${this.path}/events?before=${first}&limit=${PAGE}`);
      if (this.#isClosed || conversation !== this.conversation) return;
      if (events.length === 0) conversation.first = 1;
      conversation.prepend(events);
      this.shown.value = { conversation };
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
    } finally {
      this.#isLoadingEarlier = false;
    }
  }

  prompt(prompt: PromptBody): Promise<unknown> {
    return post(`${this.path}/prompt`, prompt);
  }

  cancel(): Promise<unknown> {
    return post(`${this.path}/cancel`);
  }

  undo(what: "undo" | "redo"): Promise<unknown> {
    return post(`${this.path}/${what}`);
  }

  async answer(ask: AskRow, answer: object): Promise<void> {
    try {
      await post(`${this.path}/answer`, { id: ask.id, ...answer });
    } finally {
      // Also if the post fails because somebody else has answered.
      this.asks.value = this.asks.value.filter(({ id }) => id !== ask.id);
    }
  }

  async choose(kind: "mode" | "model" | "option", id: string, value?: unknown): Promise<void> {
    const body = value === undefined ? { kind, id } : { kind, id, value };
    const { settings } = await post<Pick<SessionDetail, "settings">>(`${this.path}/setting`, body);
    const { value: detail } = this.detail;
    if (detail !== undefined) this.detail.value = { ...detail, settings };
  }

  /** False if there is no such session, so that no stream is opened for it. */
  async #load(): Promise<boolean> {
    try {
      const [detail, log] = await Promise.all([
        get<SessionDetail>(this.path),
        get<EventLog>(`${this.path}/events?limit=${PAGE}`),
      ]);
      if (this.#isClosed) return true;
      const conversation = new Conversation();
      conversation.append(log.events);
      await this.#catchUp(conversation);
      if (this.#isClosed) return true;
      conversation.plan ??= detail.plan;
      this.shown.value = { conversation };
      this.detail.value = detail;
      this.asks.value = detail.asks;
      this.failed.value = undefined;
      sessions.put(detail.row);
      this.#changed();
      return true;
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      this.failed.value = error.message;
      return error.status !== 404;
    }
  }

  /** Loads the settings again after another client or the agent has changed one. */
  async #loadSettings(): Promise<void> {
    try {
      const { settings, row } = await get<SessionDetail>(this.path);
      const { value: detail } = this.detail;
      if (detail !== undefined) this.detail.value = { ...detail, settings };
      sessions.put(row);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
    }
  }

  /** Loads the events that the stream delivered while the log was loaded again. */
  async #catchUp(conversation: Conversation): Promise<void> {
    while (this.conversation.last > conversation.last) {
      const from = conversation.last + 1;
      const { events } = await get<EventLog>(`${this.path}/events?from=${from}&limit=${PAGE}`);
      if (events.length === 0) return;
      conversation.append(events);
    }
  }

  #receive(event: LiveEvent): void {
    if (event.event === "session-asks") this.asks.value = event.data.asks;
    if (event.event !== "session-events" || event.data.session !== this.id) return;
    this.conversation.append(event.data.events);
    this.#changed();
    if (event.data.events.some(changesSettings)) {
      this.#loadSettings().catch((error: unknown) => reportError(error));
    }
  }

  /** Once a frame: an agent may send more chunks than a screen has frames. */
  readonly #changed = oncePerFrame(() => {
    this.shown.value = { conversation: this.conversation };
    if (!document.hidden) readMarks.read(this.id, this.conversation.last);
  });
}

function changesSettings({ message }: LogEvent): boolean {
  const { kind, update } = message as { kind?: string; update?: { sessionUpdate?: string } };
  if (kind === "setting") return true;
  return /^(?:config_option|current_mode)_update$/.test(update?.sessionUpdate ?? "");
}

/** Something that the person may choose: the mode, the model, or another option of the agent. */
export interface SettingChoice {
  readonly kind: "mode" | "model" | "option";
  readonly id: string;
  readonly name: string;
  readonly value: string | boolean;
  /** Empty for a switch. */
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
