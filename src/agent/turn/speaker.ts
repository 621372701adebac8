import { visible } from "../../base/text/visible.ts";
import type { SessionUpdate, Turn } from "../../session/agent.ts";

type Severity = "info" | "warning" | "error";

/** Marks text for people that is not part of the conversation with the model. */
export const ASIDE = "trunkline/aside";
/** Contains the summary of the conversation so far. */
export const SUMMARY = "trunkline/summary";

/** Characters of one chunk, far below the limit of a `session/update`. */
const LONGEST = 16_000;

export interface UsageReport {
  /** Tokens in the context, and how many it may have. */
  readonly used: number;
  readonly size: number;
  /** Tokens that the turn has used so far, which budgets go by: ACP has no member for it. */
  readonly turnTokens: number;
  /** US dollars of the session so far, if the model has a price. */
  readonly cost: number | undefined;
}

/** Sends the updates of one turn. */
export class Speaker {
  readonly #turn: Turn;
  #isMidLine = false;
  #said = "";

  constructor(turn: Turn) {
    this.#turn = turn;
  }

  /** The beginning of the text that was sent. */
  get said(): string {
    return this.#said;
  }

  async text(text: string): Promise<void> {
    this.#said = (this.#said + text).slice(0, LONGEST);
    await this.#chunks("agent_message_chunk", text);
    if (text !== "") this.#isMidLine = !text.endsWith("\n");
  }

  async thought(text: string): Promise<void> {
    await this.#chunks("agent_thought_chunk", text);
  }

  /** A message about the work: as a notice where the client shows notices, else in the text. */
  async notice(severity: Severity, title: string, description?: string): Promise<void> {
    if (this.#turn.client.notices) {
      const more = description === undefined ? {} : { description: visible(description) };
      await this.update({ sessionUpdate: "notice", severity, title: visible(title), ...more });
      return;
    }
    await this.aside(description === undefined ? title : `${title}: ${description}`);
  }

  /** Text for people that the model does not see. */
  async aside(text: string, meta: Readonly<Record<string, unknown>> = {}): Promise<void> {
    const start = this.#isMidLine ? "\n\n" : "";
    this.#isMidLine = false;
    await this.#chunks("agent_message_chunk", `${start}_${visible(text)}_\n\n`, {
      [ASIDE]: true,
      ...meta,
    });
  }

  async usage({ used, size, turnTokens, cost }: UsageReport): Promise<void> {
    const _meta = { trunkline: { turnTokens } };
    const spent = cost === undefined ? {} : { cost: { amount: cost, currency: "USD" } };
    await this.update({ sessionUpdate: "usage_update", used, size, ...spent, _meta });
  }

  async plan(entries: readonly Readonly<Record<string, unknown>>[]): Promise<void> {
    await this.update({ sessionUpdate: "plan", entries });
  }

  async update(update: SessionUpdate): Promise<void> {
    await this.#turn.update(update);
  }

  async #chunks(
    sessionUpdate: string,
    text: string,
    _meta?: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    for (let from = 0; from < text.length;) {
      const to = pieceEnd(text, from);
      const content = { type: "text", text: text.slice(from, to) };
      await this.update({ sessionUpdate, content, ...(_meta === undefined ? {} : { _meta }) });
      from = to;
    }
  }
}

/** End of a piece that does not split a surrogate pair. */
function pieceEnd(text: string, from: number): number {
  const to = from + LONGEST;
  if (to >= text.length) return text.length;
  const code = text.charCodeAt(to);
  return code >= 0xdc00 && code <= 0xdfff ? to - 1 : to;
}
