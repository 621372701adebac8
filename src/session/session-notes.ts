import { background } from "../base/background.ts";
import { Backoff } from "../base/limit/backoff.ts";
import { OWNER, type Principal } from "../base/principal.ts";
import type { ChosenSettings, ContentBlock } from "./agent.ts";
import type { SessionSetup } from "./session-setup.ts";
import type { HeldSession, SessionStore } from "./store.ts";

const LIMITS = { firstWait: 500, longestWait: 60_000, mostFailures: Infinity, rest: 60_000 };

/**
 * Repeats a failed write until it succeeds or the session ends. Until then, readers of the store would see a
 * turn that has ended as running.
 */
export class WriteRetry implements Disposable {
  readonly #write: () => Promise<unknown>;
  readonly #backoff = new Backoff(LIMITS);
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  /** `write` tells us by `succeeded` or `failed` how it went. */
  constructor(write: () => Promise<unknown>) {
    this.#write = write;
  }

  succeeded(): void {
    clearTimeout(this.#timer);
    this.#backoff.succeeded();
  }

  failed(): void {
    clearTimeout(this.#timer);
    if (this.#isOver) return;
    const again = (): void =>
      background(
        this.#write().catch(() => {}),
        "Writing again what the store refused",
      );
    this.#timer = setTimeout(again, this.#backoff.failed()).unref();
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }
}

export interface Notes {
  /** Id of the principal that created the session; absent for the owner of the data folder. */
  readonly owner?: string;
  readonly chosen?: ChosenSettings;
  /** The model that the agent had when it was last opened; not where one is in `chosen`. */
  readonly model?: string | undefined;
  /** A person has chosen the title. */
  readonly isTitled?: true;
  /** It is left out of the list. */
  readonly archived?: true | undefined;
  readonly memory?: unknown;
  /** Id of the running turn. Whoever opens the session next finds it interrupted. */
  readonly turn?: string | undefined;
  /** Number of an event before that turn. Absent in notes of earlier versions. */
  readonly turnAfter?: number | undefined;
  /** Number of an event before the turn in which the agent last summarised the conversation. */
  readonly summaryAfter?: number | undefined;
  /** What a person was asked and has not answered (`OpenQuestion`). */
  readonly question?: unknown;
  /** The permission request of an interrupted turn that nobody has answered (`UnansweredRequest`). */
  readonly permission?: unknown;
  /** The work tree of the session (`workplaceOf`). */
  readonly worktree?: unknown;
  /** The folders in which the session worked before it was moved, and the one that is theirs now. */
  readonly moved?: { readonly folders: readonly string[]; readonly top: string } | undefined;
  /** Its agent works in a sandbox of its own (`Visitor`). */
  readonly visitor?: unknown;
  /** The labels of the workers that may open the session. */
  readonly labels?: unknown;
}

/** What a session stores beside its events: title, owner, chosen settings, the agent's memory. */
export class SessionNotes {
  readonly #store: SessionStore;
  readonly #key: number;
  #title: string | undefined;
  #notes: Notes;
  #isOver = false;
  /** Other changes that the store has not accepted yet. */
  #unwritten: SessionDescription = {};
  readonly #again = new WriteRetry(() => this.#write());

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

  /** Stops all writing: the session is being released, and its next holder writes the notes. */
  end(): void {
    this.#isOver = true;
    this.#again[Symbol.dispose]();
  }

  /**
   * Changes the given notes and keeps the others. The store applies changes in order. Throws if the store
   * fails, and writes them later.
   */
  async keep(notes: Notes, more: SessionDescription = {}): Promise<void> {
    this.#notes = { ...this.#notes, ...notes };
    this.#title = more.title ?? this.#title;
    if (!this.#isOver) await this.#write(more);
  }

  /** Changes the given notes. They are written with the next ones, such as those of the next turn. */
  later(notes: Notes): void {
    this.#notes = { ...this.#notes, ...notes };
  }

  async #write(more: SessionDescription = {}): Promise<void> {
    const all = { ...this.#unwritten, ...more };
    try {
      await this.#store.describe(this.#key, { notes: this.#notes, ...all });
      this.#unwritten = {};
      this.#again.succeeded();
    } catch (error) {
      this.#unwritten = all;
      this.#again.failed();
      throw error;
    }
  }
}

interface SessionDescription {
  readonly title?: string;
  readonly updated?: number;
}

/** The notes of a session that begins. */
export function firstNotes(
  { additionalDirectories: directories, labels }: SessionSetup,
  { id }: Principal,
): Notes & { readonly directories: readonly string[] } {
  return { directories, ...(id === OWNER.id ? {} : { owner: id }), ...(labels && { labels }) };
}

const LONGEST_TITLE = 80;

/** The title of a session: the first line of its first prompt. */
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
