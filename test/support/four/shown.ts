import type { Json } from "../acp-app.ts";

/** What one who looks at a session has been shown of it. */
export interface View {
  /** Pieces of what the agent said, in order: each has the tag of its turn and a number. */
  readonly pieces: readonly string[];
  /** Prompts, in order. */
  readonly prompts: readonly string[];
  /** How many turns were said to be interrupted. */
  readonly interrupted: number;
}

const PIECE = /\bt\d+:\d+\b/g;
const INTERRUPTED = /\[This turn was interrupted: /g;

export function viewOf(text: string, prompts: readonly string[]): View {
  const interrupted = text.match(INTERRUPTED)?.length ?? 0;
  return { pieces: text.match(PIECE) ?? [], prompts, interrupted };
}

/** What the events of a session's log say. */
export function viewOfEvents(events: readonly Json[]): View {
  let text = "";
  let interrupted = 0;
  const prompts: string[] = [];
  for (const { kind, prompt, update, stopReason } of events) {
    if (kind === "prompt") prompts.push(prompt[0].text);
    if (stopReason === "interrupted") interrupted++;
    if (update?.sessionUpdate === "agent_message_chunk") text += update.content.text;
  }
  return { ...viewOf(text, prompts), interrupted };
}

/** Permission requests that somebody was asked, by their titles. */
export class AskedFor {
  /** Those that wait for an answer. */
  readonly open = new Set<string>();
  readonly #times = new Map<string, number>();

  ask(title: string): void {
    this.open.add(title);
    this.#times.set(title, this.times(title) + 1);
  }

  withdraw(title: string): void {
    this.open.delete(title);
  }

  times(title: string): number {
    return this.#times.get(title) ?? 0;
  }
}
