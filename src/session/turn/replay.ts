import type { HistoryEntry, SessionUpdate } from "../agent.ts";
import type { EndEvent, SessionEvent, StoredEvent } from "../event.ts";
import { MergedUpdate } from "../client/merged-update.ts";

/** Updates that are replayed one by one. Later ones are merged, so that long sessions load quickly. */
const VERBATIM = 400;

export interface ReplayOptions {
  readonly upTo: number;
  /** Whether the client shows notices. If so, it hears of an interrupted turn by a notice. */
  readonly notices: boolean;
  /** The client is attached, and has been told of the ends of turns. */
  readonly isAttached?: boolean;
  readonly maxBytes: number;
  /** Prompts of this client are left out: it knows them, since it has sent them. */
  readonly origin?: string | undefined;
  /** The settings of today, for a client that has missed a change. */
  readonly settings?: readonly SessionUpdate[] | undefined;
}

export interface NumberedUpdate {
  readonly seq: number;
  readonly update: SessionUpdate;
}

/** ACP session-setup § Loading Sessions: the stored events as updates for a client that attaches, in batches. */
export async function* replay(
  batches: AsyncIterable<readonly StoredEvent[]>,
  options: ReplayOptions,
): AsyncGenerator<readonly NumberedUpdate[]> {
  const replayed = new ReplayedUpdates(options);
  for await (const batch of batches) {
    yield replayed.add(batch);
    if (replayed.last >= options.upTo) break;
  }
  yield replayed.end();
}

/** Merges the updates of events, a batch at a time: a generator takes twice as long for each event. */
class ReplayedUpdates {
  readonly #options: ReplayOptions;
  #count = 0;
  #hasChanged = false;
  #held: { seq: number; readonly merged: MergedUpdate } | undefined;
  /** Number of the last event. */
  last = 0;

  constructor(options: ReplayOptions) {
    this.#options = options;
  }

  /** Returns the updates with which no later one can be merged. */
  add(batch: readonly StoredEvent[]): NumberedUpdate[] {
    const { upTo, notices, maxBytes } = this.#options;
    const whole: NumberedUpdate[] = [];
    for (const { seq, message } of batch) {
      if (seq > upTo) break;
      this.last = seq;
      const event = message as SessionEvent;
      if (!isShown(event, this.#options)) continue;
      if (event.kind === "setting") this.#hasChanged = true;
      for (const update of updatesOf(event, notices)) {
        const held = this.#held;
        if (held !== undefined && ++this.#count >= VERBATIM && held.merged.add(update, maxBytes)) {
          held.seq = seq;
          continue;
        }
        whole.push(...this.#rest());
        this.#held = { seq, merged: new MergedUpdate(update) };
      }
    }
    return whole;
  }

  end(): NumberedUpdate[] {
    const settings = this.#hasChanged ? (this.#options.settings ?? []) : [];
    return [...this.#rest(), ...settings.map((update) => ({ seq: this.last, update }))];
  }

  #rest(): NumberedUpdate[] {
    return this.#held === undefined
      ? []
      : [{ seq: this.#held.seq, update: this.#held.merged.update }];
  }
}

function isShown(event: SessionEvent, { origin, isAttached = false }: ReplayOptions): boolean {
  if (event.kind === "prompt") return event.origin === undefined || event.origin !== origin;
  return event.kind !== "end" || !isAttached;
}

/** The updates that clients see of an event; none for permissions, answers and settings. */
export function updatesOf(event: SessionEvent, notices: boolean): SessionUpdate[] {
  switch (event.kind) {
    case "prompt":
      return event.prompt.map((content) => ({
        sessionUpdate: "user_message_chunk",
        content,
        messageId: event.messageId ?? event.turnId,
      }));
    case "update":
      return isReplayed(event.update) ? [event.update] : [];
    case "end":
      return event.stopReason === "interrupted" ? [interruption(event, notices)] : [];
    case "permission":
    case "answer":
    case "setting":
      return [];
  }
}

/** Only the current commands matter; they are sent after the replay. */
export function isReplayed({ sessionUpdate }: SessionUpdate): boolean {
  return sessionUpdate !== "available_commands_update";
}

/** Says that a turn was interrupted, as a notice or as text where the client shows no notices. */
function interruption({ error, turnId }: EndEvent, notices: boolean): SessionUpdate {
  const why = error ?? "Trunkline was stopped while it was running";
  const _meta = { trunkline: { turn: { id: turnId, state: "interrupted" } } };
  const text = `This turn was interrupted: ${why}`;
  if (notices) {
    const title = "This turn was interrupted";
    return { sessionUpdate: "notice", severity: "warning", title, description: why, _meta };
  }
  const content = { type: "text", text: `\n\n[${text}]\n\n` };
  return { sessionUpdate: "agent_message_chunk", content, _meta };
}

/** The member of `_meta` with the summary that replaces the conversation before an update. */
export const SUMMARY = "trunkline/summary";

/** The summary that replaces the conversation before an update. That of a subagent replaces only its own. */
export function summaryOf(update: SessionUpdate): string | undefined {
  const meta = (update._meta ?? {}) as Readonly<Record<string, unknown>>;
  const { parentToolCallId } = (meta.trunkline ?? {}) as Readonly<Record<string, unknown>>;
  if (parentToolCallId !== undefined) return undefined;
  const said = meta[SUMMARY];
  if (typeof said === "string") return said;
  const { sessionUpdate, status, summary } = update;
  if (sessionUpdate !== "compaction_update" || status !== "completed") return undefined;
  if (!Array.isArray(summary)) return undefined;
  return summary
    .map(({ text }: { text?: unknown }) => (typeof text === "string" ? text : ""))
    .join("\n");
}

/**
 * The history up to an event, for an agent that reopens the session. The agent may read it late; the
 * events since then come to it live.
 */
export async function* historyOf(
  batches: AsyncIterable<readonly StoredEvent[]>,
  upTo: number,
): AsyncGenerator<readonly HistoryEntry[]> {
  for await (const batch of batches) {
    yield batch.flatMap(({ seq, message }): HistoryEntry[] => {
      const event = message as SessionEvent;
      const isEntry = event.kind === "update" || event.kind === "prompt" || event.kind === "end";
      return isEntry && seq <= upTo ? [event] : [];
    });
    if ((batch.at(-1)?.seq ?? 0) >= upTo) return;
  }
}
