import type { ChosenSettings, ContentBlock } from "./agent.ts";
import type { HeldSession, SessionStore } from "./store.ts";

export interface Notes {
  /** Who began it, where the transport knew. */
  readonly owner?: string;
  readonly chosen?: ChosenSettings;
  readonly memory?: unknown;
  /** The turn that is running, to be found interrupted by whoever opens the session next. */
  readonly turn?: string | undefined;
}

/** What a session keeps about itself beside its events. */
export class SessionNotes {
  readonly #store: SessionStore;
  readonly #key: number;
  #title: string | undefined;
  #notes: Notes;
  #isOver = false;

  constructor(store: SessionStore, { key, record }: HeldSession) {
    this.#store = store;
    this.#key = key;
    this.#title = record.title;
    this.#notes = record.notes;
  }

  get title(): string | undefined {
    return this.#title;
  }

  get kept(): Notes {
    return this.#notes;
  }

  /** The session is about to be let go of: whoever opens it next has other notes. */
  end(): void {
    this.#isOver = true;
  }

  /** Changes what is given, and leaves the rest. The store keeps the order of changes. */
  async keep(notes: Notes, more: { title?: string; updated?: number } = {}): Promise<void> {
    this.#notes = { ...this.#notes, ...notes };
    this.#title = more.title ?? this.#title;
    if (this.#isOver) return;
    await this.#store.describe(this.#key, { notes: this.#notes, ...more });
  }
}

const LONGEST_TITLE = 80;

/** A title for a conversation: the first line of its first prompt. */
export function titleOf(prompt: readonly ContentBlock[]): string | undefined {
  for (const { type, text } of prompt) {
    if (type !== "text" || typeof text !== "string") continue;
    const line = text.trim().split("\n", 1)[0]?.trim() ?? "";
    if (line === "") continue;
    return line.length <= LONGEST_TITLE
      ? line
      : `${line.slice(0, LONGEST_TITLE - 1).toWellFormed()}…`;
  }
  return undefined;
}
