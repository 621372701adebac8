import { keepNewest } from "../../../base/limit/eviction.ts";
import type { StoredEvent } from "../../../session/store.ts";
import type { SessionEvent } from "../../../session/event.ts";
import type { PermissionRequest } from "../../../session/permission/permission.ts";
import type { UnansweredRequest } from "../../../session/permission/permissions.ts";
import { subagentOf } from "../../../session/subagent.ts";
import type { ReadSession, SessionReading } from "../../../store/session/session-reader.ts";
import type { ConfigOption, PlanEntry, SessionRow } from "../session-api.ts";

/** A permission that nobody has answered yet. */
export interface PendingRequest {
  readonly requestId: string;
  /** Number of its event. */
  readonly seq: number;
  readonly at: number;
  readonly request: PermissionRequest;
}

interface ChosenSetting {
  readonly id: string;
  readonly isOption: boolean;
  readonly value: unknown;
}

/** A summary of a session, from the events that were read so far. */
export class SessionDigest {
  /** Number of the last event that was read. */
  last = 0;
  client: string | undefined;
  model: string | undefined;
  mode: string | undefined;
  context: SessionRow["context"];
  cost: SessionRow["cost"];
  ended: string | undefined;
  plan: readonly PlanEntry[] = [];
  commands: readonly { readonly name: string; readonly description: string }[] = [];
  configOptions: readonly Readonly<Record<string, unknown>>[] | undefined;
  /** What was chosen since then, the last at the end: options by their id, `mode` and `model` as such. */
  #chosen: readonly ChosenSetting[] = [];
  /** Whether the prompt of the last turn was read: what came before belongs to earlier turns. */
  hasPrompt = false;
  /** The last message about a remote run itself, and whether its agent has done something since. */
  progress: string | undefined;
  isWorking = false;
  /** The commit that a remote run has pushed last, shortened, and its pull request. */
  pushed: string | undefined;
  pullRequest: string | undefined;
  readonly #pending = new Map<string, PendingRequest>();

  /** The permissions that people are asked for now: by the running turn, or again after an interruption. */
  asked({ holder, notes }: ReadSession): readonly PendingRequest[] {
    if (holder === undefined) return [];
    const pending = [...this.#pending.values()];
    if (typeof notes.turn === "string") return pending;
    const { requestId: again } = (notes.permission ?? {}) as Partial<UnansweredRequest>;
    return pending.filter(({ requestId }) => requestId === again);
  }

  read({ seq, at, message }: StoredEvent): void {
    if (seq <= this.last) return;
    this.last = seq;
    const event = message as SessionEvent;
    switch (event.kind) {
      case "prompt":
        this.client = event.by;
        if (event.steers === true) return;
        this.ended = undefined;
        this.hasPrompt = true;
        this.#pending.clear();
        return;
      case "permission":
        this.#pending.set(event.requestId, {
          requestId: event.requestId,
          seq,
          at,
          request: event.request,
        });
        return;
      case "answer":
        this.#pending.delete(event.requestId);
        return;
      case "setting":
        if (event.setting === "option") this.#choose(event.id, event.value);
        else {
          this[event.setting] = event.id;
          this.#note({ id: event.setting, isOption: false, value: event.id });
        }
        return;
      case "end":
        this.ended = event.stopReason;
        if (event.stopReason !== "interrupted") this.#pending.clear();
        return;
      case "update":
        this.#update(event.update);
    }
  }

  #update(update: Readonly<Record<string, unknown>> & { readonly sessionUpdate: string }): void {
    const progress = progressOf(update);
    if (progress === undefined) this.isWorking = true;
    else this.#progress(progress);
    if (subagentOf(update) !== undefined) return;
    switch (update.sessionUpdate) {
      case "plan_update": {
        const { entries } = (update.plan ?? {}) as { readonly entries?: unknown };
        if (Array.isArray(entries)) this.plan = entries as PlanEntry[];
        return;
      }
      case "usage_update":
        if (typeof update.used === "number" && typeof update.size === "number") {
          this.context = { used: update.used, size: update.size };
        }
        this.cost = costOf(update.cost) ?? this.cost;
        return;
      case "plan":
        if (Array.isArray(update.entries)) this.plan = update.entries as PlanEntry[];
        return;
      case "current_mode_update":
        if (typeof update.currentModeId === "string") {
          this.mode = update.currentModeId;
          this.#note({ id: "mode", isOption: false, value: this.mode });
        }
        return;
      case "config_option_update":
        if (Array.isArray(update.configOptions)) this.#options(update.configOptions as Option[]);
        return;
      case "available_commands_update":
        if (Array.isArray(update.availableCommands)) {
          this.commands = update.availableCommands as typeof this.commands;
        }
    }
  }

  /** The value of an option now, which may also have been chosen as the mode or the model. */
  valueOf({ id, category, currentValue }: ConfigOption): unknown {
    const last = this.#chosen.findLast((each) => each.id === (each.isOption ? id : category));
    return last?.value ?? currentValue;
  }

  #note(chosen: ChosenSetting): void {
    const others = this.#chosen.filter(
      ({ id, isOption }) => id !== chosen.id || isOption !== chosen.isOption,
    );
    this.#chosen = [...others, chosen];
  }

  #progress(says: string): void {
    this.progress = says;
    this.isWorking = false;
    const [, pushed] = /^Pushed \S+ at ([0-9a-f]{12,})\.$/.exec(says) ?? [];
    const [request] = /https?:\/\/\S+\/(?:pull|pulls|merge_requests)\/\d+/.exec(says) ?? [];
    this.pushed = pushed ?? this.pushed;
    this.pullRequest = request ?? this.pullRequest;
  }

  /** An option may stand for the mode or the model. */
  #choose(id: string, value: unknown): void {
    this.#note({ id, isOption: true, value });
    const category = this.configOptions?.find((option) => option.id === id)?.category;
    if (category === "mode") this.mode = String(value);
    if (category === "model") this.model = String(value);
  }

  #options(options: readonly Option[]): void {
    this.configOptions = options;
    this.#chosen = [];
    for (const { category, currentValue } of options) {
      if (category === "mode") this.mode = String(currentValue);
      if (category === "model") this.model = String(currentValue);
    }
  }
}

type Option = Readonly<Record<string, unknown>>;

function costOf(value: unknown): SessionRow["cost"] {
  const { amount, currency } = (value ?? {}) as { amount?: unknown; currency?: unknown };
  if (typeof amount !== "number") return undefined;
  return { amount, currency: typeof currency === "string" ? currency : "USD" };
}

/** The text of a message about a remote run itself, and not from its agent. */
export function progressOf(update: Readonly<Record<string, unknown>>): string | undefined {
  const meta = (update._meta ?? {}) as Readonly<Record<string, unknown>>;
  const { run } = (meta.trunkline ?? {}) as { run?: unknown };
  if (run !== "progress" && meta["trunkline/aside"] !== true) return undefined;
  const { text } = (update.content ?? {}) as { text?: unknown };
  return typeof text === "string" ? text.trim().replaceAll(/^_|_$/g, "") : undefined;
}

/** Events that are read back at first, and at most for the prompt of a turn that runs. */
const TAIL = 200;
const LONGEST_TAIL = 20_000;
/** Digests that are kept. */
const MOST = 5_000;

/**
 * Digests of sessions, kept and continued as their events come. The first look reads only the last
 * events of a session: enough for its state, not for a plan or a mode from long ago.
 */
export function digestsOf(reader: SessionReading) {
  const digests = new Map<string, SessionDigest>();

  async function of(of: Pick<ReadSession, "id" | "last" | "notes">): Promise<SessionDigest> {
    const { id, last, notes } = of;
    const known = digests.get(id);
    if (known !== undefined && known.last <= last && last - known.last <= LONGEST_TAIL) {
      await goOn(known, id, last);
      return known;
    }
    const digest = await begin(id, last, mayAsk(notes));
    digests.delete(id);
    digests.set(id, digest);
    keepNewest(digests, MOST);
    return digest;
  }

  async function goOn(digest: SessionDigest, id: string, last: number): Promise<void> {
    while (digest.last < last) {
      const events = await reader.events(id, digest.last + 1, LONGEST_TAIL);
      if (events.length === 0) return;
      for (const event of events) digest.read(event);
    }
  }

  /** A turn that may ask something is read from its prompt on, since that may be far back. */
  async function begin(id: string, last: number, isAsking: boolean): Promise<SessionDigest> {
    const events: StoredEvent[] = [];
    let before = last + 1;
    while (before > 1 && events.length < LONGEST_TAIL) {
      const more = await reader.eventsBefore(id, before, TAIL);
      events.unshift(...more);
      before = more[0]?.seq ?? 1;
      if (!isAsking || events.some(({ message }) => isTurnStart(message as SessionEvent))) break;
    }
    const digest = new SessionDigest();
    for (const event of events) digest.read(event);
    digest.last = Math.max(digest.last, last);
    return digest;
  }

  return { of };
}

/** Whether a turn runs, or the last one was interrupted with a question that is asked again. */
export function mayAsk({ turn, permission }: ReadSession["notes"]): boolean {
  return typeof turn === "string" || permission !== undefined;
}

function isTurnStart(event: SessionEvent): boolean {
  return event.kind === "prompt" && event.steers !== true;
}
