import type { AgentTool } from "../tools/agent-tool.ts";

/** What a model is told beside the conversation, by subject. An empty text says nothing. */
export type PromptParts = Readonly<Record<string, string>>;

/**
 * The beginning of every request of one conversation: tools and system prompt. Providers cache requests
 * by their beginning, so it stays as it was. What changes later is told in a message, and tools are only
 * added at the end: one that a mode does not allow is refused when it is called.
 */
export class SystemPrompt {
  #system: string | undefined;
  #told: PromptParts = {};
  readonly #offered = new Set<string>();

  /** The system prompt, and what has changed since the model was last told; undefined if nothing has. */
  tell(parts: PromptParts): { readonly system: string; readonly note: string | undefined } {
    const told = this.#told;
    this.#told = parts;
    if (this.#system === undefined) {
      this.#system = Object.values(parts)
        .filter((text) => text !== "")
        .join("\n\n");
      return { system: this.#system, note: undefined };
    }
    const notes = Object.entries(parts).flatMap(([name, text]) => {
      return text === told[name] ? [] : [changeOf(name, told[name] ?? "", text)];
    });
    const note = notes.length === 0 ? undefined : `(${notes.join("\n\n")})`;
    return { system: this.#system, note };
  }

  /**
   * The tools of a request: those of earlier ones, in their order, and then the new ones. Only one that
   * is gone, or that the person who prompts now may not call, is left out.
   */
  tools(offered: readonly AgentTool[], all: ReadonlyMap<string, AgentTool>): readonly AgentTool[] {
    for (const { name } of offered) this.#offered.add(name);
    return [...this.#offered].flatMap((name) => all.get(name) ?? []);
  }

  /** The conversation begins anew, and with it the cache. */
  reset(): void {
    this.#system = undefined;
  }
}

function changeOf(name: string, before: string, now: string): string {
  if (now === "") return `What you were told about this does not hold any more: ${name}.`;
  if (before !== "" && now.startsWith(before)) return now.slice(before.length).trim();
  return before === "" ? now.trim() : `This has changed (${name}):\n${now.trim()}`;
}
