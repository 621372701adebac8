import { visible } from "../../base/text/visible.ts";
import type { SessionUpdate, Turn } from "../../session/agent.ts";
import { pieces } from "../../session/client/fit-update.ts";

type Severity = "info" | "warning" | "error";

/** Marks text for people that is not part of the conversation with the model. */
export const ASIDE = "trunkline/aside";

/** Characters of one chunk, far below the limit of a `session/update`. */
const LONGEST = 16_000;
/** Characters of a model's answer after which reading it waits for the disk. */
const WAIT_EVERY = 64 * 1024;

/** Sends the updates of one turn. */
export class Speaker {
  readonly #turn: Turn;
  #isMidLine = false;
  #said = "";
  /** The last piece of the model's answer, and the characters since reading last waited. */
  #streamed: Promise<void> | undefined;
  #unstored = 0;

  constructor(turn: Turn) {
    this.#turn = turn;
  }

  /** The beginning of the text that was sent. */
  get said(): string {
    return this.#said;
  }

  async text(text: string): Promise<void> {
    this.#note(text);
    await this.#chunks("agent_message_chunk", text);
  }

  /**
   * A piece of the model's answer. Models send them faster than a disk writes each, so many are stored
   * in one commit: a promise is returned when there is much to write. `settled` waits for all.
   */
  stream(kind: "text" | "thought", text: string): Promise<void> | undefined {
    if (text === "") return undefined;
    if (kind === "text") this.#note(text);
    const sessionUpdate = kind === "text" ? "agent_message_chunk" : "agent_thought_chunk";
    const isLong = text.length > LONGEST;
    const sent = isLong
      ? this.#chunks(sessionUpdate, text)
      : this.#turn.update({ sessionUpdate, content: { type: "text", text } });
    // `settled` reports it.
    if (sent !== this.#streamed) sent.catch(() => {});
    this.#streamed = sent;
    this.#unstored += text.length;
    if (!isLong && this.#unstored < WAIT_EVERY) return undefined;
    this.#unstored = 0;
    return sent;
  }

  /** Resolves when the model's answer is stored as far as it was streamed. Rejects if it cannot be. */
  async settled(): Promise<void> {
    await this.#streamed;
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
    const marked = { [ASIDE]: true, ...meta };
    await this.#chunks("agent_message_chunk", `${start}_${visible(text)}_\n\n`, marked);
  }

  /** Tokens in the context, and how many it may have, and US dollars of the session, if it has a price. */
  async usage(
    context: Readonly<Record<"used" | "size", number>>,
    turnTokens: number,
    cost: number | undefined,
  ): Promise<void> {
    // Budgets go by the tokens that the turn has used so far: ACP has no member for them.
    const _meta = { trunkline: { turnTokens } };
    const spent = cost === undefined ? {} : { cost: { amount: cost, currency: "USD" } };
    await this.update({ sessionUpdate: "usage_update", ...context, ...spent, _meta });
  }

  async plan(entries: readonly Readonly<Record<string, unknown>>[]): Promise<void> {
    await this.update({ sessionUpdate: "plan", entries });
  }

  async update(update: SessionUpdate): Promise<void> {
    await this.#turn.update(update);
  }

  #note(text: string): void {
    if (this.#said.length < LONGEST) this.#said = (this.#said + text).slice(0, LONGEST);
    if (text !== "") this.#isMidLine = !text.endsWith("\n");
  }

  async #chunks(
    sessionUpdate: string,
    text: string,
    _meta?: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    for (const piece of pieces(text, LONGEST)) {
      const content = { type: "text", text: piece };
      await this.update({ sessionUpdate, content, ...(_meta === undefined ? {} : { _meta }) });
    }
  }
}
